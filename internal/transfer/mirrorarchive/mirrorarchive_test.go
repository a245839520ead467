package mirrorarchive

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// release is a version with packages for platforms, in files.
func release(tb testing.TB, hostname, namespace, typ, version string, platforms ...string) Release {
	tb.Helper()
	a, err := registry.ParseMirroredAddress(hostname, namespace, typ)
	if err != nil {
		tb.Fatal(err)
	}
	r := Release{Address: a, Version: registrytest.Version(tb, version)}
	for _, text := range platforms {
		data := archivetest.Provider(tb, "terraform-provider-"+typ, version+text)
		checked, err := archive.CheckProvider(tb.Context(), bytes.NewReader(data), int64(len(data)), archive.Provider{Type: typ})
		if err != nil {
			tb.Fatal(err)
		}
		sum := sha256.Sum256(data)
		p := Package{SHA256: hex.EncodeToString(sum[:]), H1: checked.H1, Size: int64(len(data)), Path: filepath.Join(tb.TempDir(), "package")}
		if err := errors.Join(p.Platform.UnmarshalText([]byte(text)), os.WriteFile(p.Path, data, 0o600)); err != nil {
			tb.Fatal(err)
		}
		r.Packages = append(r.Packages, p)
	}
	return r
}

// sample is releases in no order.
func sample(tb testing.TB) []Release {
	return []Release{
		release(tb, "registry.terraform.io", "hashicorp", "time", "0.10.0", "linux_arm64", "darwin_arm64"),
		release(tb, "registry.terraform.io", "hashicorp", "time", "0.9.0", "linux_arm64"),
		release(tb, strings.Repeat("long.", 40)+"example.com", strings.Repeat("n", 60), strings.Repeat("t", 60), "1.0.0+build", "linux_arm64"),
		release(tb, "larder.example.com", "acme", "widget", "1.0.0-rc.1", "windows_amd64"),
	}
}

func write(tb testing.TB, releases []Release) []byte {
	tb.Helper()
	var data, done bytes.Buffer
	if err := Write(tb.Context(), &data, releases, &done); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

func open(tb testing.TB, data []byte) ([]Release, error) {
	return Open(tb.Context(), bytes.NewReader(data), int64(len(data)), io.Discard)
}

func TestRoundTrip(t *testing.T) {
	releases := sample(t)
	data := write(t, slices.Clone(releases))
	got, err := open(t, data)
	if err != nil {
		t.Fatal(err)
	}
	if again := write(t, releases); !bytes.Equal(data, again) {
		t.Error("the same packages in another order give other bytes")
	}
	slices.SortFunc(releases, compareReleases)
	if len(got) != len(releases) {
		t.Fatalf("%d releases", len(got))
	}
	for i, r := range got {
		for j, p := range r.Packages {
			want := releases[i].Packages[j]
			content, err := os.ReadFile(want.Path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(data[p.Offset:p.Offset+p.Size], content) {
				t.Errorf("%s: other bytes at its place", r.Filename(p))
			}
			p.Path, p.Offset = want.Path, want.Offset
			if r.Address != releases[i].Address || r.Version != releases[i].Version || p != want {
				t.Errorf("%+v, want %+v", p, want)
			}
		}
	}
}

// What tar unpacks is a mirror as `terraform providers mirror` makes it.
func TestUnpackedByTar(t *testing.T) {
	dir := t.TempDir()
	tool := exec.Command("tar", "-x", "-C", dir)
	tool.Stdin = bytes.NewReader(write(t, sample(t)))
	if out, err := tool.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folder := filepath.Join(dir, "registry.terraform.io", "hashicorp", "time")
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range names {
		names[i] = filepath.Base(names[i])
	}
	if want := []string{
		"0.10.0.json", "0.9.0.json", "index.json", "terraform-provider-time_0.10.0_darwin_arm64.zip",
		"terraform-provider-time_0.10.0_linux_arm64.zip", "terraform-provider-time_0.9.0_linux_arm64.zip",
	}; !slices.Equal(names, want) {
		t.Errorf("unpacked are %v", names)
	}
	var index struct {
		Versions map[string]struct{ None *int }
	}
	var version struct {
		Archives map[string]struct {
			URL    string
			Hashes []string
		}
	}
	for name, into := range map[string]any{"index.json": &index, "0.10.0.json": &version} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err := errors.Join(err, json.Unmarshal(data, into)); err != nil {
			t.Fatal(err)
		}
	}
	a := version.Archives["darwin_arm64"]
	if len(index.Versions) != 2 || len(version.Archives) != 2 || a.URL != names[3] || len(a.Hashes) != 2 ||
		!strings.HasPrefix(a.Hashes[0], "h1:") || !strings.HasPrefix(a.Hashes[1], "zh:") {
		t.Errorf("%+v\n%+v", index, version)
	}
}

func TestWriteFails(t *testing.T) {
	releases := []Release{release(t, "registry.terraform.io", "hashicorp", "time", "1.0.0", "linux_arm64")}
	p := &releases[0].Packages[0]
	for what, spoil := range map[string]func() error{
		"it has":  func() error { return os.Truncate(p.Path, p.Size-1) },
		"too lon": func() error { return os.Truncate(p.Path, p.Size+1) },
		"no such": func() error { return os.Remove(p.Path) },
	} {
		data, err := os.ReadFile(p.Path)
		if err := errors.Join(err, spoil()); err != nil {
			t.Fatal(err)
		}
		if err := Write(t.Context(), io.Discard, releases, io.Discard); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "terraform-provider-time_1.0.0_linux_arm64.zip") {
			t.Errorf("%v, want %q", err, what)
		}
		if err := os.WriteFile(p.Path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Write(cancelled, io.Discard, releases, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	data := write(t, releases)
	if _, err := Open(cancelled, bytes.NewReader(data), int64(len(data)), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// entries are the files of an archive, to be changed.
type entries []struct {
	header  tar.Header
	content []byte
}

func unpack(tb testing.TB, data []byte) (all entries) {
	tb.Helper()
	r := tar.NewReader(bytes.NewReader(data))
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		content, failed := io.ReadAll(r)
		if err := errors.Join(err, failed); err != nil {
			tb.Fatal(err)
		}
		all = append(all, struct {
			header  tar.Header
			content []byte
		}{tar.Header{Typeflag: header.Typeflag, Name: header.Name, Mode: header.Mode}, content})
	}
}

func (all entries) pack(tb testing.TB) []byte {
	tb.Helper()
	var data bytes.Buffer
	w := tar.NewWriter(&data)
	for _, e := range all {
		e.header.Size = int64(len(e.content))
		if err := w.WriteHeader(&e.header); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(e.content); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return data.Bytes()
}

// describe writes the manifest anew, so that it is true of what is there.
func (all entries) describe(tb testing.TB) {
	m := manifest{Format: format}
	for _, e := range all[1:] {
		sum := sha256.Sum256(e.content)
		m.Files = append(m.Files, entry{e.header.Name, hex.EncodeToString(sum[:]), int64(len(e.content))})
	}
	all[0].content = encode(m)
}

// Whatever does not hold is refused, with what and where. The archive is of
// larder-mirror.json, index.json, 1.0.0.json and two packages.
func TestOpenRefuses(t *testing.T) {
	good := write(t, []Release{release(t, "registry.terraform.io", "hashicorp", "time", "1.0.0", "darwin_arm64", "linux_arm64")})
	const folder = "registry.terraform.io/hashicorp/time/"
	const zipName = folder + "terraform-provider-time_1.0.0_linux_arm64.zip"
	for _, test := range []struct {
		name  string
		spoil func(all entries) entries
		true  bool // whether the manifest is of what is there
		want  string
	}{
		{"nothing", func(entries) entries { return nil }, false, "larder-mirror.json: the archive ends before it"},
		{"no manifest", func(all entries) entries { return all[1:] }, false, `larder-mirror.json: in its place the archive has "registry.terraform.io/`},
		{"manifest not JSON", func(all entries) entries { all[0].content = []byte("{"); return all }, false, "larder-mirror.json: it cannot be read"},
		{"a later format", func(all entries) entries {
			all[0].content = bytes.Replace(all[0].content, []byte(`"format": 1`), []byte(`"format": 2`), 1)
			return all
		}, false, "format 2"},
		{"no files", func(all entries) entries { return all[:1] }, true, "names no files"},
		{"a bad sum in the manifest", func(all entries) entries {
			all[0].content = bytes.Replace(all[0].content, []byte(`"sha256": "`), []byte(`"sha256": "X`), 1)
			return all
		}, false, "is not a SHA-256"},
		{"a byte of a package", func(all entries) entries { all[4].content[20] ^= 1; return all }, false, zipName + ": its SHA-256 is "},
		{"a byte of a document", func(all entries) entries { all[2].content[20] ^= 1; return all }, false, folder + "1.0.0.json: its SHA-256 is "},
		{"a longer package", func(all entries) entries { all[4].content = append(all[4].content, 0); return all }, false, zipName + ": it has "},
		{"a package is missing", func(all entries) entries { return all[:4] }, false, zipName + ": the archive ends before it"},
		{"a file too many", func(all entries) entries { return append(all, all[4]) }, false, zipName + `" is in the archive, but not in its manifest`},
		{"another order", func(all entries) entries { all[3], all[4] = all[4], all[3]; return all }, false, "in its place the archive has"},
		{"another order, and manifest", func(all entries) entries { all[3], all[4] = all[4], all[3]; return all }, true, "must be in the archive at place 3"},
		{"a package twice", func(all entries) entries { return append(all, all[4]) }, true, "twice"},
		{"a package left out of it all", func(all entries) entries { return all[:4] }, true, folder + "1.0.0.json: it does not match the packages"},
		{"another hash in a document", func(all entries) entries {
			all[2].content = bytes.Replace(all[2].content, []byte("h1:"), []byte("h1:x"), 1)
			return all
		}, true, folder + "1.0.0.json: it does not match the packages"},
		{"a version that is not there", func(all entries) entries {
			all[1].content = bytes.Replace(all[1].content, []byte("1.0.0"), []byte("1.0.1"), 1)
			return all
		}, true, folder + "index.json: it does not match the packages"},
		{"documents alone", func(all entries) entries { return all[:3] }, true, "no package belongs to it"},
		{"no index", func(all entries) entries { return slices.Delete(all, 1, 2) }, true, folder + "index.json: it must be in the archive"},
		{"a package that is none", func(all entries) entries { all[4].content = []byte("PK"); return all }, true, zipName + ": "},
		{"traversal", func(all entries) entries { all[4].header.Name = "../../etc/passwd"; return all }, true, "is not the name of a file of a mirror"},
		{"traversal in four parts", func(all entries) entries {
			all[4].header.Name = "../../../terraform-provider-time_1.0.0_linux_arm64.zip"
			return all
		}, true, "is not the name of a file"},
		{"from the root", func(all entries) entries { all[4].header.Name = "/" + zipName; return all }, true, "is not the name of a file"},
		{"a backslash", func(all entries) entries { all[4].header.Name = folder + `..\x.zip`; return all }, true, "is not the name of a file"},
		{"hostname in upper case", func(all entries) entries { all[4].header.Name = strings.ToUpper(zipName[:4]) + zipName[4:]; return all }, true, "is not the name of a file"},
		{"of another type", func(all entries) entries {
			all[4].header.Name = folder + "terraform-provider-x_1.0.0_linux_arm64.zip"
			return all
		}, true, "is not the name of a file"},
		{"a stranger", func(all entries) entries { all[4].header.Name = folder + "README.md"; return all }, true, "is not the name of a file"},
		{"a symbolic link", func(all entries) entries {
			all[4].header.Typeflag, all[4].header.Linkname, all[4].content = tar.TypeSymlink, "/etc/passwd", nil
			return all
		}, false, zipName + ": it is not a regular file"},
		{"a hard link", func(all entries) entries {
			all[4].header.Typeflag, all[4].header.Linkname, all[4].content = tar.TypeLink, zipName, nil
			return all
		}, false, zipName + ": it is not a regular file"},
		{"a header of its own", func(all entries) entries {
			all[4].header.PAXRecords = map[string]string{"LARDER.x": "y"}
			return all
		}, false, zipName + ": its header has"},
	} {
		all := test.spoil(unpack(t, good))
		if test.true {
			all.describe(t)
		}
		if releases, err := open(t, all.pack(t)); releases != nil && err == nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

func TestOpenRefusesTheFileItself(t *testing.T) {
	good := write(t, []Release{release(t, "registry.terraform.io", "hashicorp", "time", "1.0.0", "linux_arm64")})
	releases, err := open(t, good)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"empty":           {nil, "ends before it"},
		"a zip":           {bytes.Repeat([]byte("PK\x03\x04"), 1000), "not a tar file"},
		"more at the end": {append(slices.Clone(good), 0), "goes on for 1 bytes"},
		"another archive": {append(slices.Clone(good), good...), "goes on for"},
	} {
		if _, err := open(t, test.data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	last := releases[0].Packages[0]
	for n := range last.Offset + last.Size { // after that come zeros alone
		if _, err := open(t, good[:n]); err == nil {
			t.Errorf("cut to %d of %d bytes, it is read", n, len(good))
		}
	}
}

func FuzzOpen(f *testing.F) {
	good := write(f, []Release{release(f, "registry.terraform.io", "hashicorp", "time", "1.0.0", "linux_arm64")})
	f.Add(good)
	f.Add(good[:1500])
	for i, e := range unpack(f, good) {
		all := unpack(f, good)
		all[i].content = e.content[:len(e.content)/2]
		all.describe(f)
		f.Add(all.pack(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		releases, err := open(t, data)
		if err != nil {
			return
		}
		for _, r := range releases {
			for _, p := range r.Packages {
				if sum := sha256.Sum256(data[p.Offset : p.Offset+p.Size]); hex.EncodeToString(sum[:]) != p.SHA256 {
					t.Errorf("%s: other bytes at its place", r.Filename(p))
				}
			}
		}
	})
}

// A manifest may be true of anything: what is in the archive has to hold by itself.
func FuzzTrueManifest(f *testing.F) {
	good := unpack(f, write(f, []Release{release(f, "registry.terraform.io", "hashicorp", "time", "1.0.0", "linux_arm64")}))
	for i, e := range good[1:] {
		f.Add(i+1, e.header.Name, e.content)
	}
	f.Add(3, "registry.terraform.io/hashicorp/time/1.0.0/terraform-provider-time_1.0.0_linux_arm64.zip", []byte("PK"))
	f.Fuzz(func(t *testing.T, at int, name string, content []byte) {
		all := slices.Clone(good)
		if at < 1 || at >= len(all) || strings.Contains(name, "\x00") || strings.HasSuffix(name, "/") { // which no tar can have
			return
		}
		isGood := name == all[at].header.Name && bytes.Equal(content, all[at].content)
		all[at].header.Name, all[at].content = name, content
		all.describe(t)
		if releases, err := open(t, all.pack(t)); isGood != (err == nil) {
			t.Errorf("%q is read as %+v, %v", name, releases, err)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"format": 1, "files": [{"name": "registry.terraform.io/hashicorp/time/index.json", "sha256": "` + strings.Repeat("0", 64) + `", "size": 1}]}`))
	f.Add([]byte(`{"format": 1, "files": [{"name": "../index.json"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			return
		}
		for _, e := range m.Files {
			if filepath.Clean(e.Name) != e.Name || filepath.IsAbs(e.Name) || strings.Contains(e.Name, "..") || e.Size <= 0 {
				t.Errorf("%+v", e)
			}
		}
	})
}
