package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
	"github.com/versity/versitygw/backend/meta"
)

// differences are those of two sets of texts, by their names.
func differences(got, want map[string]string) (all []string) {
	for name := range want {
		if got[name] != want[name] {
			all = append(all, fmt.Sprintf("%s is %.200q, want %.200q", name, got[name], want[name]))
		}
	}
	for name := range got {
		if _, known := want[name]; !known {
			all = append(all, name+" is too much")
		}
	}
	return all
}

// A data folder that is restored has all that the other one has but uploads that came
// to their end, whichever way the backup took.
func TestRestore(t *testing.T) {
	data := newWorld(t)
	want := restored(contents(t, data))
	folder, again := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "data")
	summary, err := Create(t.Context(), options(data), folder)
	if err != nil {
		t.Fatal(err)
	}
	if summary.Versions != 2 || summary.Uploads != 2 || summary.Files != 4 || summary.Added != summary.Bytes {
		t.Errorf("the backup has %+v", summary)
	}
	if _, err := Restore(t.Context(), restoreOptions(again), folder); err != nil {
		t.Fatal(err)
	}
	if d := differences(contents(t, again), want); len(d) > 0 {
		t.Errorf("by a folder:\n%s", strings.Join(d, "\n"))
	}

	var stream bytes.Buffer
	if _, err := CreateStream(t.Context(), options(data), &stream); err != nil {
		t.Fatal(err)
	}
	again = filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(again, 0o700); err != nil { // an empty one is as good as none
		t.Fatal(err)
	}
	if _, err := RestoreStream(t.Context(), restoreOptions(again), &stream); err != nil {
		t.Fatal(err)
	}
	if d := differences(contents(t, again), want); len(d) > 0 {
		t.Errorf("by a stream:\n%s", strings.Join(d, "\n"))
	}
	if left, err := filepath.Glob(again + unfinished); err != nil || left != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A backup is for its owner alone, and without keys if they are not wanted.
func TestKeysInABackup(t *testing.T) {
	data := newWorld(t)
	o := options(data)
	o.WithoutKeys = true
	for _, c := range []struct {
		options Options
		want    []string
	}{
		{options(data), []string{datadir.Access, datadir.CA, datadir.S3Credentials, datadir.SigningKey}},
		{o, []string{datadir.Access}},
	} {
		folder := filepath.Join(t.TempDir(), "backup")
		if _, err := Create(t.Context(), c.options, folder); err != nil {
			t.Fatal(err)
		}
		var files []string
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if info, err := d.Info(); err != nil || info.Mode()&0o077 != 0 {
				t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
			}
			if rest, ok := strings.CutPrefix(filepath.Dir(path), folder); ok && strings.HasSuffix(rest, "/data") {
				files = append(files, d.Name())
			}
			return nil
		})
		if err != nil || strings.Join(files, " ") != strings.Join(c.want, " ") {
			t.Errorf("the data folder's files are %q, %v, want %q", files, err, c.want)
		}
		again := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(t.Context(), restoreOptions(again), folder); err != nil {
			t.Error(err)
		}
	}
}

// A second backup adds what is new. One that breaks off leaves the one before whole.
func TestSecondBackup(t *testing.T) {
	data := newWorld(t)
	folder := filepath.Join(t.TempDir(), "backup")
	first, err := Create(t.Context(), options(data), folder)
	if err != nil {
		t.Fatal(err)
	}
	w := open(t, data)
	w.publish(t, "modules/acme/network/aws/1.1.0.tar.gz", archivetest.Module(t, "# eleven\n"))
	w.close(t)

	ctx, cancel := context.WithCancel(t.Context())
	o := options(data)
	f, err := openFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	_, err = create(ctx, o, breaking{f, cancel})
	f.close()
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it was cancelled", err)
	}
	if between, err := Verify(t.Context(), folder, o.Progress); err != nil || between.Time != first.Time || between.Versions != 2 {
		t.Errorf("between: %+v, %v", between, err)
	}

	left := filepath.Join(folder, registry.Prefix, "left"+partial)
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := Create(t.Context(), o, folder)
	if err != nil {
		t.Fatal(err)
	}
	if second.Versions != 3 || second.Added >= second.Bytes || !second.Time.After(first.Time) {
		t.Errorf("the second backup has %+v", second)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what the second backup does not name is there: %v", err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v, %v, want the manifest, registry/ and one state", entries, err)
	}
	again := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(t.Context(), restoreOptions(again), folder); err != nil {
		t.Fatal(err)
	}
	want := restored(contents(t, data))
	if d := differences(contents(t, again), want); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
}

// A backup that is added to one with a damaged file is not taken for good, and says how
// it becomes so.
func TestBackupAfterADamagedOne(t *testing.T) {
	data := newWorld(t)
	name := filepath.Join(t.TempDir(), "backup")
	if _, err := Create(t.Context(), options(data), name); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(name, "registry/modules/acme/network/aws/1.0.0/*.tar.gz"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(found[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Create(t.Context(), options(data), name)
	if err == nil || !strings.Contains(err.Error(), filepath.Base(found[0])+": it has sha256 ") ||
		!strings.Contains(err.Error(), "remove these files and create the backup again") {
		t.Errorf("beside a damaged file: %v", err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(t.Context(), options(data), name); err != nil {
		t.Errorf("without it: %v", err)
	}
}

// Who ends a backup while it is verified is not told that it is damaged.
func TestBackupEndedWhileVerified(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(newWorld(t))
	o.Progress = progress.New(ends{"the backup", cancel}, false)
	if _, err := Create(ctx, o, filepath.Join(t.TempDir(), "backup")); err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("%v", err)
	}
}

// ends is where progress is told, which ends something at a word.
type ends struct {
	word string
	end  func()
}

func (e ends) Write(p []byte) (int, error) {
	if strings.Contains(string(p), e.word) {
		e.end()
	}
	return len(p), nil
}

// breaking is a folder that breaks off when records are written.
type breaking struct {
	*folder
	cancel func()
}

func (b breaking) write(path string, size int64, body io.Reader) error {
	if isRecord(path) {
		b.cancel()
	}
	return b.folder.write(path, size, body)
}

// What is published while a backup is made is in it as an upload, as published, or both;
// and a version's record that a listing has missed is there all the same.
func TestBackupWhileOthersPublish(t *testing.T) {
	data := newWorld(t)
	w := open(t, data)
	busy := &busyBucket{Bucket: w.bucket, before: map[string]func(){
		outcomePrefix: func() {
			if err := w.publisher.PublishKey(t.Context(), freshKey); err != nil {
				t.Error(err)
			}
		},
	}, hidden: "/widget/1.0.0/00000001.json"}
	folder := filepath.Join(t.TempDir(), "backup")
	f, err := openFolder(folder)
	if err != nil {
		t.Fatal(err)
	}
	c := &creation{options: options(data), target: f, check: newCheck(), source: &source{
		data: data, bucket: busy, connection: w.server.Connection(),
		access: func(ctx context.Context) (io.ReadCloser, int64, error) { return copyAccess(ctx, w.dir) },
	}}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.close()
	w.close(t)
	again := filepath.Join(t.TempDir(), "data")
	summary, err := Restore(t.Context(), restoreOptions(again), folder)
	if err != nil || summary.Versions != 3 || summary.Uploads != 2 {
		t.Fatalf("%+v, %v", summary, err)
	}
	want := restored(contents(t, data))
	delete(want, freshKey+" "+inbox.StatusTag) // it was backed up before that
	if d := differences(contents(t, again), want); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
}

// busyBucket is a bucket with which something happens before it is listed, and in which
// a listing misses a key.
type busyBucket struct {
	blob.Bucket
	before map[string]func()
	hidden string
}

func (b *busyBucket) List(ctx context.Context, prefix, after string) iter.Seq2[blob.Object, error] {
	if before := b.before[prefix]; before != nil {
		before()
	}
	return func(yield func(blob.Object, error) bool) {
		for o, err := range b.Bucket.List(ctx, prefix, after) {
			if !strings.HasSuffix(o.Key, b.hidden) && !yield(o, err) {
				return
			}
		}
	}
}

// What is wrong with a backup is said, with its place, and nothing is made of it.
func TestDamagedBackups(t *testing.T) {
	data := newWorld(t)
	whole := filepath.Join(t.TempDir(), "backup")
	if _, err := Create(t.Context(), options(data), whole); err != nil {
		t.Fatal(err)
	}
	path := func(t *testing.T, folder, pattern string) string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		return found[0]
	}
	change := func(pattern string, edit func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			name := path(t, folder, pattern)
			content, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, edit(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			if err := os.Remove(path(t, folder, pattern)); err != nil {
				t.Fatal(err)
			}
		}
	}
	pipe := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			name := path(t, folder, pattern)
			if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(pattern string) func(*testing.T, string) {
		return func(t *testing.T, folder string) {
			name := path(t, folder, pattern)
			if err := errors.Join(os.Rename(name, name+".moved"), os.Symlink(filepath.Base(name)+".moved", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	unlist := func(path string) func(*testing.T, string) {
		entry := regexp.MustCompile(`(?s)\s*\{[^{}]*"path": "` + path + `"[^{}]*\},`)
		return change(manifestName, func(b []byte) []byte { return entry.ReplaceAll(b, nil) })
	}
	const archive = "registry/modules/acme/network/aws/1.0.0/*.tar.gz"
	for name, c := range map[string]struct {
		damage func(*testing.T, string)
		says   string // a pattern
	}{
		"no manifest":       {remove(manifestName), `has no manifest.json: it is not a backup, or an unfinished one; a copy of registry/ by  aws s3 sync  is restored with --plain$`},
		"a cut manifest":    {change(manifestName, func(b []byte) []byte { return b[:len(b)-2] }), `^manifest.json cannot be read: unexpected EOF$`},
		"a newer format":    {change(manifestName, func(b []byte) []byte { return bytes.Replace(b, []byte("backup 1"), []byte("backup 2"), 1) }), `^manifest.json has the format "larder backup 2", and this larder reads "larder backup 1"$`},
		"a missing archive": {remove(archive), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it is missing$`},
		"a changed archive": {change(archive, flip), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it has sha256 [0-9a-f]{64}, and was written with [0-9a-f]{64}$`},
		"a cut archive":     {change(archive, func(b []byte) []byte { return b[1:] }), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it has [0-9]+ bytes, and was written with [0-9]+$`},
		"another archive": {func(t *testing.T, folder string) {
			name := path(t, folder, archive)
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			was, is := sha256.Sum256(content), sha256.Sum256(flip(bytes.Clone(content)))
			change(archive, flip)(t, folder)
			change(manifestName, func(b []byte) []byte {
				return bytes.Replace(b, fmt.Appendf(nil, `"sha256": "%x"`, was), fmt.Appendf(nil, `"sha256": "%x"`, is), 1)
			})(t, folder)
		}, `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it has sha256 [0-9a-f]{64}, and registry/records/modules/acme/network/aws/1.0.0/00000001.json says [0-9a-f]{64}$`},
		"changed tokens":          {change("state-*/data/access.db", flip), `^the backup is damaged:\n  state-[0-9TZ.]+/data/access.db: it has sha256 `},
		"a missing upload":        {remove("state-*/inbox/00000002"), `^the backup is damaged:\n  state-[0-9TZ.]+/inbox/00000002: it is missing$`},
		"a pipe for an archive":   {pipe(archive), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it is not a regular file$`},
		"a link for an archive":   {link(archive), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it is not a regular file$`},
		"a pipe for the manifest": {pipe(manifestName), `^manifest.json: it is not a regular file$`},
		"an archive not listed":   {unlist(`registry/modules/acme/network/aws/1\.0\.0/[0-9a-f]*\.tar\.gz`), `^the backup is damaged:\n  registry/modules/acme/network/aws/1.0.0/[0-9a-f]{64}.tar.gz: it is missing, and registry/records/modules/acme/network/aws/1.0.0/00000001.json names it$`},
		"a record not listed":     {unlist(`registry/records/providers/acme/widget/1\.0\.0/00000001\.json`), `^the backup is damaged:\n  registry/records/providers/acme/widget/1.0.0/00000001.json: the record is missing, and there is a later one$`},
		"a path that leads away": {change(manifestName, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"registry/modules`), []byte(`"registry/../../modules`), 1)
		}), `^the backup is damaged:\n  "registry/../../modules[^"]*" is not a file of a backup of this version of larder$`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "backup")
			if err := os.CopyFS(folder, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			c.damage(t, folder)
			says := regexp.MustCompile(c.says)
			if _, err := Verify(t.Context(), folder, options("").Progress); err == nil || !says.MatchString(err.Error()) {
				t.Errorf("verify: %v", err)
			}
			again := filepath.Join(t.TempDir(), "data")
			if _, err := Restore(t.Context(), restoreOptions(again), folder); err == nil || !says.MatchString(err.Error()) {
				t.Errorf("restore: %v", err)
			}
			if left, err := filepath.Glob(again + "*"); err != nil || left != nil {
				t.Errorf("there is %v, %v", left, err)
			}
		})
	}
}

// A stream that is cut off anywhere is no backup, nor is one in which a bit is another.
func TestDamagedStreams(t *testing.T) {
	data := newWorld(t)
	var stream bytes.Buffer
	if _, err := CreateStream(t.Context(), options(data), &stream); err != nil {
		t.Fatal(err)
	}
	whole := bytes.TrimRight(stream.Bytes(), "\x00") // of what ends a tar
	verify := func(b []byte) error {
		t.Helper()
		var told strings.Builder
		_, err := VerifyStream(t.Context(), bytes.NewReader(b), progress.New(&told, false))
		if failed := strings.HasSuffix(told.String(), "failed  the backup\n"); failed != (err != nil) || strings.Count(told.String(), "the backup\n") != 1 {
			t.Errorf("of %v it is told: %s", err, &told)
		}
		return err
	}
	if err := verify(whole); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 509 {
		if err := verify(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes were a backup", n, len(whole))
		}
	}
	at := bytes.Index(whole, []byte("registry/modules/acme"))
	err := verify(whole[:at])
	if want := "the backup is cut off or damaged after registry/"; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "manifest.json, its last file, is missing") {
		t.Errorf("%v, want %q", err, want)
	}
	changed := bytes.Clone(whole)
	changed[bytes.Index(changed, []byte("a key of a CA"))] ^= 1
	if err := verify(changed); err == nil || !strings.Contains(err.Error(), "/data/ca-key.pem: it has sha256 ") {
		t.Errorf("%v", err)
	}
}

// What lacks what it has published is named before anything is taken for a backup.
func TestBackupOfADamagedRegistry(t *testing.T) {
	data := newWorld(t)
	found, err := filepath.Glob(filepath.Join(data, datadir.S3, "larder/registry/modules/acme/network/aws/1.0.0/*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if err := os.Remove(found[0]); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	want := "the registry lacks what it has published, see larder verify:\n  registry/modules/acme/network/aws/1.0.0/" + filepath.Base(found[0]) +
		": it is missing, and registry/records/modules/acme/network/aws/1.0.0/00000001.json names it"
	if _, err := Create(t.Context(), options(data), folder); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if _, err := os.Stat(filepath.Join(folder, manifestName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a manifest: %v", err)
	}
}

// What is there is not overwritten, but for what another restoration has left.
func TestRestoreIntoAFolder(t *testing.T) {
	data := newWorld(t)
	folder := filepath.Join(t.TempDir(), "backup")
	if _, err := Create(t.Context(), options(data), folder); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restoreOptions(data), folder); err == nil || !strings.Contains(err.Error(), data+" is not empty, and nothing is overwritten") {
		t.Errorf("into a data folder: %v", err)
	}
	again := filepath.Join(t.TempDir(), "data")
	mine := filepath.Join(again+unfinished, "thesis")
	if err := errors.Join(os.Mkdir(again+unfinished, 0o700), os.WriteFile(mine, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restoreOptions(again), folder); err == nil || !strings.HasSuffix(err.Error(), "files which no restoration has left there: move it away") {
		t.Errorf("in the place of something else: %v", err)
	}
	if err := os.Remove(mine); err != nil { // where it was
		t.Fatal(err)
	}
	left := filepath.Join(again+unfinished, datadir.S3, "larder", "registry", "records")
	err := errors.Join(os.MkdirAll(left, 0o700), os.WriteFile(filepath.Join(left, "left"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Open(again + unfinished)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restoreOptions(again), folder); !errors.Is(err, datadir.ErrInUse) {
		t.Errorf("while another one is restored there: %v", err)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), restoreOptions(again), folder); err != nil {
		t.Fatal(err)
	}
	if d := differences(contents(t, again), restored(contents(t, data))); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
}

// A folder that is not a backup's is not written to.
func TestBackupIntoAFolder(t *testing.T) {
	data := newWorld(t)
	for name, c := range map[string]struct {
		make func(folder string) error
		says string
	}{
		"with something else": {func(folder string) error { return os.WriteFile(filepath.Join(folder, "mine"), nil, 0o600) }, " holds mine, which does not belong to a backup: choose a new folder"},
		"for others":          {func(folder string) error { return os.Chmod(folder, 0o750) }, "other users of this machine can read or write "},
		"in use": {func(folder string) error {
			f, err := openFolder(folder)
			if err == nil {
				t.Cleanup(f.close)
			}
			return err
		}, "another backup is being written to "},
	} {
		folder := filepath.Join(t.TempDir(), "backup")
		if err := errors.Join(os.Mkdir(folder, 0o700), c.make(folder)); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(t.Context(), options(data), folder); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := filepath.Join(t.TempDir(), "none")
	if _, err := Create(t.Context(), options(missing), filepath.Join(t.TempDir(), "backup")); err == nil || !strings.Contains(err.Error(), missing+" is not the data folder of a registry") {
		t.Errorf("no data folder: %v", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

// A copy of registry/ is restored, if all is there that its records name.
func TestRestorePlain(t *testing.T) {
	data := newWorld(t)
	all := contents(t, data)
	copied := t.TempDir()
	for key, content := range all {
		if !strings.HasPrefix(key, registry.Prefix) {
			continue
		}
		path := filepath.Join(copied, key)
		_, body, _ := strings.Cut(content, "  ") // of content type and source
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(body), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	again := filepath.Join(t.TempDir(), "data")
	if summary, err := RestorePlain(t.Context(), restoreOptions(again), copied); err != nil || summary.Versions != 2 {
		t.Fatal(summary, err)
	}
	got := contents(t, again)
	want := maps.Collect(func(yield func(string, string) bool) {
		for key, content := range all {
			if strings.HasPrefix(key, registry.Prefix) && !yield(key, content) {
				return
			}
		}
	})
	maps.DeleteFunc(got, func(key, _ string) bool { return !strings.HasPrefix(key, registry.Prefix) })
	for key := range got {
		if strings.HasPrefix(key, registry.OwnKeysPrefix) && want[key] == "" {
			delete(got, key) // of the new signing key
		}
	}
	if d := differences(got, want); len(d) > 0 {
		t.Error(strings.Join(d, "\n"))
	}
	w := open(t, again)
	if m, err := catalogtest.ModuleVersion(t.Context(), w.catalog, registry.ModuleAddress{Namespace: "acme", Name: "network", System: "aws"}, registrytest.Version(t, "1.0.0")); err != nil || m.Archive.Size == 0 {
		t.Errorf("the catalog has %+v, %v", m, err)
	}
	w.close(t)
	record := filepath.Join(copied, "registry/records/modules/acme/network/aws/1.0.0/00000002.json")
	if err := os.WriteFile(record, []byte(`{"kind":"from the future","version":"1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	unknown := "the restored data folder is not whole:\n  module acme/network/aws 1.0.0: "
	if _, err := RestorePlain(t.Context(), restoreOptions(filepath.Join(t.TempDir(), "data")), copied); err == nil || !strings.HasPrefix(err.Error(), unknown) {
		t.Errorf("with a record of a newer version: %v, want %q", err, unknown)
	}
	if err := errors.Join(os.Remove(record), os.RemoveAll(filepath.Join(copied, "registry/modules"))); err != nil {
		t.Fatal(err)
	}
	if _, err := RestorePlain(t.Context(), restoreOptions(filepath.Join(t.TempDir(), "data")), copied); err == nil || !strings.Contains(err.Error(), "it is missing, and registry/records/modules/acme/network/aws/1.0.0/00000001.json names it") {
		t.Errorf("without an archive: %v", err)
	}
	if _, err := RestorePlain(t.Context(), restoreOptions(filepath.Join(t.TempDir(), "data")), t.TempDir()); err == nil || !strings.Contains(err.Error(), "it has no folder registry: name the folder that the bucket's registry/ was copied into") {
		t.Errorf("without anything: %v", err)
	}
}

// A data folder that was copied without extended attributes is not served from, and what
// was published is restored from it.
func TestCopyWithoutAttributes(t *testing.T) {
	data := newWorld(t)
	want := contents(t, data)
	copied := filepath.Join(t.TempDir(), "copied")
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(copied, func(path string, d fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]))
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket := filepath.Join(copied, datadir.S3, "larder")
	says := func(lost string) string {
		return lost + " has lost its extended attributes, as by a copy with  cp -r  or  tar : copy the data folder again, with  cp -a ,  rsync -aX  or  tar --xattrs . " +
			"If there is no other, restore what was published from this one:  larder backup restore --plain " + bucket + " --data  and a new folder"
	}
	folder := filepath.Join(t.TempDir(), "backup")
	if _, err := Create(t.Context(), options(copied), folder); err == nil || err.Error() != says(bucket) {
		t.Errorf("%v\nwant %s", err, says(bucket))
	}
	if err := (meta.XattrMeta{}).StoreAttribute(nil, bucket, "", "acl", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(bucket, "registry/records/modules/acme/network/aws/1.0.0/00000001.json")
	if _, err := Create(t.Context(), options(copied), folder); err == nil || err.Error() != says(record) {
		t.Errorf("%v\nwant %s", err, says(record))
	}
	again := filepath.Join(t.TempDir(), "data")
	if _, err := RestorePlain(t.Context(), restoreOptions(again), bucket); err != nil {
		t.Fatal(err)
	}
	got := contents(t, again)
	for key := range want {
		if strings.HasPrefix(key, registry.Prefix) && got[key] != want[key] {
			t.Errorf("%s is %q, want %q", key, got[key], want[key])
		}
	}
}

func TestParsePath(t *testing.T) {
	const state = "state-20260102T030405.678Z/"
	for path, want := range map[string]string{
		state + "data/access.db":                "0 access.db",
		state + "inbox/00000001.json":           "1 00000001",
		state + "inbox/00000001":                "2 00000001",
		state + "registry/outcomes/a/b.json":    "3 registry/outcomes/a/b.json",
		state + "registry/outcomes-by-sha256/x": "3 registry/outcomes-by-sha256/x",
		"registry/records/x":                    "3 registry/records/x",
		"":                                      "none",
		"registry/":                             "none",
		"registry":                              "none",
		"registry/../x":                         "none",
		"../registry/x":                         "none",
		"/registry/x":                           "none",
		"registry//x":                           "none",
		"registry/x\x00":                        "none",
		"modules/x":                             "none",
		manifestName:                            "none",
		state + "data/a/b":                      "none",
		state + "data/":                         "none",
		state + "inbox/1":                       "none",
		state + "registry/records/x":            "none",
		state + "other/x":                       "none",
		"state-20260102T030405Z/data/access.db": "none",
		"x" + state + "data/access.db":          "none",
		state + "x/../data/access.db":           "none",
		state + "inbox/000000001":               "none",
		state + "inbox/00000001.json.json":      "none",
		"state-20260102T030405.678Zx/data/a":    "none",
	} {
		kind, name, err := parsePath(path)
		got := fmt.Sprintf("%d %s", kind, name)
		if err != nil {
			got = "none"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", path, got, want)
		}
	}
}

// What is restored as an upload leads nowhere but into the inbox.
func TestIsUpload(t *testing.T) {
	for key, want := range map[string]bool{
		"modules/acme/network/aws/1.0.0.zip": true, "keys/acme/a b\n.txt": true, "mirror/x": true, "providers/..x": true,
		"": false, "x": false, "modules": false, "modules/": false, "registry/x": false, "/registry/x": false, "./registry/x": false, ".sgwtmp/x": false,
		"modules/../registry/records/x": false, "modules//x": false, "modules/x/": false, "../modules/x": false, "modules/../../x": false,
	} {
		if got := isUpload(key); got != want {
			t.Errorf("%q: %t", key, got)
		}
	}
}

// Uploaders choose keys, so a terminal must not obey a key in an error.
func TestProblemsArePrintable(t *testing.T) {
	if got, want := problems([]string{"a\x1b[2Jb", "c\nd"}).Error(), "a�[2Jb\n  c�d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What a data folder does not keep, and what comes out of its turn, is not written.
func TestFilesThatAreNotRestored(t *testing.T) {
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	r := &restoration{dir: dir}
	if err := r.addFile(datadir.Env, strings.NewReader("x")); err == nil || err.Error() != "a backup does not have this file of a data folder: every start makes it anew" {
		t.Errorf("what is made anew: %v", err)
	}
	if err := r.addFile(datadir.CA, strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	r.server = new(locals3.Server) // as after the first object
	if err := r.addFile(datadir.SigningKey, strings.NewReader("x")); err == nil || err.Error() != "the files of the data folder come before all others" {
		t.Errorf("after an object: %v", err)
	}
	for name, want := range map[string]bool{datadir.Env: false, datadir.CA: true, datadir.SigningKey: false} {
		if _, err := os.Stat(dir.Path(name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
