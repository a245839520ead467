package publish_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"golang.org/x/mod/sumdb/dirhash"
)

// largeVariable makes the large archive as large as one may be expected to be,
// and the test hold the publisher to a speed.
const largeVariable = "LARDER_LARGE"

// largeJobVariable makes the test binary the process in which an archive is
// published and measured. Its value is a largeJob in JSON.
const largeJobVariable = "LARDER_TEST_LARGE_JOB"

// largeSpeed is how fast an archive is published at least, where 1 is the speed
// at which one hashes it: its sha256, and the h1 of what is in it.
const largeSpeed = 0.7

func TestMain(m *testing.M) {
	if job := os.Getenv(largeJobVariable); job != "" {
		if err := runLargeJob(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(dynamotest.Run(m))
}

// A largeJob is an upload that a process of its own publishes.
type largeJob struct {
	S3           s3test.Server
	Key, Version string
	Folder       string // of the catalog and of scratch space
	File         string // the upload, to be hashed for comparison
}

// A largeResult is how that went.
type largeResult struct {
	Outcome   inbox.Outcome
	Package   registry.Package
	Memory    int64 // the process's peak, in bytes, before it hashed the file itself
	Published time.Duration
	Hashed    time.Duration
	SHA256    string // as the file was hashed itself
	H1        string
}

// A large package is published in little memory, and not much slower than its
// bytes and its content are hashed. Signing keys, S3 and the catalog are real,
// and S3 is in another process.
func TestALargePackageIsPublishedInLittleMemory(t *testing.T) {
	size, limit := int64(32<<20), int64(64<<20)
	switch {
	case os.Getenv(largeVariable) != "":
		size, limit = 1<<30, 256<<20
	case testing.Short(): // as it runs with the race detector, which takes memory of its own
		size, limit = 8<<20, 256<<20
	}
	server := s3test.Start(t)
	bucket, err := publishtest.OpenBucket(server, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "large.zip")
	packed, expanded := writeLargeZip(t, file, size)
	upload, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer upload.Close()
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	if err := bucket.Put(t.Context(), key, upload, packed); err != nil {
		t.Fatal(err)
	}
	object, err := bucket.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	r := runLarge(t, largeJob{S3: *server, Key: key, Version: object.Version, Folder: t.TempDir(), File: file})
	if r.Outcome.Status != inbox.Published {
		t.Errorf("%+v", r.Outcome)
	}
	if r.Outcome.SHA256 != r.SHA256 || r.Package.H1 != r.H1 || r.Package.Size != packed {
		t.Errorf("published are sha256 %s, %s and %d bytes, want %s, %s and %d", r.Outcome.SHA256, r.Package.H1, r.Package.Size, r.SHA256, r.H1, packed)
	}
	speed := r.Hashed.Seconds() / r.Published.Seconds()
	t.Logf("%d MiB that expand to %d MiB: published in %v with a peak of %d MiB, hashed in %v: %.0f %% of that speed",
		packed>>20, expanded>>20, r.Published.Round(time.Millisecond), r.Memory>>20, r.Hashed.Round(time.Millisecond), 100*speed)
	if r.Memory > limit {
		t.Errorf("the peak of memory is %d MiB, want %d at most", r.Memory>>20, limit>>20)
	}
	if os.Getenv(largeVariable) != "" && speed < largeSpeed {
		t.Errorf("published at %.0f %% of the speed at which it is hashed, want %.0f %%", 100*speed, 100*largeSpeed)
	}
}

// writeLargeZip writes a provider zip of about a size in bytes, which expands
// to three times as much, and returns both sizes.
func writeLargeZip(t testing.TB, name string, size int64) (packed, expanded int64) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestSpeed) })
	header := &zip.FileHeader{Name: "terraform-provider-widget_v1.0.0", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		expanded, err = io.Copy(entry, io.LimitReader(&executable{random: rand.New(rand.NewPCG(1, 2))}, 3*size))
	}
	for _, end := range []func() error{w.Close, out.Flush} {
		if err == nil {
			err = end()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size(), expanded
}

// executable has no end. It deflates as an executable does, to about a third.
type executable struct {
	random *rand.Rand
	words  [][]byte
}

func (e *executable) Read(p []byte) (n int, err error) {
	for len(e.words) < 512 {
		word := make([]byte, 10+e.random.IntN(11))
		for i := range word {
			word[i] = byte(e.random.Uint32())
		}
		e.words = append(e.words, word)
	}
	for n < len(p) {
		if e.random.IntN(7) == 0 { // what occurs once
			n += copy(p[n:], binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, e.random.Uint64()), e.random.Uint64()))
			continue
		}
		n += copy(p[n:], e.words[e.random.IntN(1+e.random.IntN(len(e.words)))])
	}
	return n, nil
}

func runLarge(t *testing.T, job largeJob) (r largeResult) {
	t.Helper()
	data, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	process := exec.CommandContext(t.Context(), self)
	process.Env = append(os.Environ(), largeJobVariable+"="+string(data))
	process.Stderr = &stderr
	out, err := process.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// runLargeJob publishes and measures, and writes the result to stdout.
func runLargeJob(text string) error {
	var job largeJob
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return err
	}
	var r largeResult
	if err := job.publish(&r); err != nil {
		return err
	}
	if err := job.hash(&r); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func (j largeJob) publish(r *largeResult) error {
	ctx := context.Background()
	key, err := publishtest.MakeKey(ctx, "registry")
	if err != nil {
		return err
	}
	bucket, err := publishtest.OpenBucket(&j.S3, nil)
	if err != nil {
		return err
	}
	index, err := boltcatalog.Open(filepath.Join(j.Folder, "catalog.db"))
	if err != nil {
		return err
	}
	defer index.Close()
	publisher := publishtest.Assemble(publishing.Config{Bucket: bucket, Index: index, Signer: key, Scratch: j.Folder, Logger: slog.New(slog.DiscardHandler)})
	started := time.Now()
	if r.Outcome, err = publisher.Publish(ctx, blob.Object{Key: j.Key, Version: j.Version}); err != nil {
		return err
	}
	r.Published, r.Memory = time.Since(started), peakMemory()
	version, err := registry.ParseVersion("1.0.0")
	if err != nil {
		return err
	}
	s, err := catalogtest.ProviderVersion(ctx, index, registry.ProviderAddress{Namespace: "acme", Type: "widget"}, version)
	if err != nil {
		return err
	}
	r.Package, _ = s.Package(registry.Platform{OS: "linux", Arch: "amd64"})
	return nil
}

// hash does what publishing is compared with.
func (j largeJob) hash(r *largeResult) error {
	started := time.Now()
	f, err := os.Open(j.File)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	r.SHA256 = hex.EncodeToString(h.Sum(nil))
	r.H1, err = dirhash.HashZip(j.File, dirhash.Hash1)
	r.Hashed = time.Since(started)
	return err
}

// peakMemory is the most that this process has had, in bytes: as resident
// memory where the system tells, else what the runtime has asked for.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		var kilobytes int64
		if _, err := fmt.Sscanf(rest, "%d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
