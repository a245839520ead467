package publish_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/blob/blobtest"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"golang.org/x/mod/sumdb/dirhash"
)

// publisher publishes from a bucket in memory.
type publisher struct {
	testing.TB
	*publishtest.Parts
	bucket    blob.Bucket
	published int
}

func newPublisher(t testing.TB) *publisher {
	t.Helper()
	key, err := publishtest.MakeKey(t.Context(), "registry")
	if err != nil {
		t.Fatal(err)
	}
	index, err := boltcatalog.Open(filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	bucket := blobtest.NewMemory()
	return &publisher{t, publishtest.Assemble(publishing.Config{
		Bucket: bucket, Index: index, Signer: key, Scratch: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
	}), bucket, 0}
}

// upload puts a package into the inbox, as one of a new version.
func (p *publisher) upload(body []byte) blob.Object {
	p.Helper()
	p.published++
	key := publishtest.PackageKey(fmt.Sprintf("1.0.%d", p.published), "linux_amd64")
	if err := p.bucket.Put(p.Context(), key, bytes.NewReader(body), int64(len(body))); err != nil {
		p.Fatal(err)
	}
	object, err := p.bucket.Head(p.Context(), key)
	if err != nil {
		p.Fatal(err)
	}
	return object
}

func (p *publisher) publish(object blob.Object) {
	p.Helper()
	if o, err := p.Publish(p.Context(), object); err != nil || o.Status != inbox.Published {
		p.Fatalf("%+v, %v", o, err)
	}
}

// storedPackage is a package of a size in bytes, without compression.
func storedPackage(t testing.TB, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	header := &zip.FileHeader{Name: "terraform-provider-widget_v1.0.0", Method: zip.Store}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		_, err = entry.Write(make([]byte, size))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A large package takes no more memory than the buffers for it.
func TestALargePackageAllocatesLittleMore(t *testing.T) {
	const buffers = 1 << 20
	p := newPublisher(t)
	allocated := func(size int) uint64 {
		object := p.upload(storedPackage(t, size))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.publish(object)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1 << 20) // what is made once
	small, large := allocated(1<<20), allocated(64<<20)
	t.Logf("1 MiB: %d kB; 64 MiB: %d kB", small>>10, large>>10)
	if large > small+buffers {
		t.Errorf("a package of 64 MiB allocates %d bytes, and one of 1 MiB %d: want %d more at most", large, small, buffers)
	}
}

// BenchmarkPublish measures a package from the inbox to the listing, and beside it what has
// to be done in any case: its sha256 and its h1.
func BenchmarkPublish(b *testing.B) {
	for _, size := range []int64{1 << 10, 16 << 20} {
		file := filepath.Join(b.TempDir(), "package.zip")
		packed, _ := writeLargeZip(b, file, size)
		body, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("package/%d", size), func(b *testing.B) {
			p := newPublisher(b)
			b.SetBytes(packed)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				object := p.upload(body)
				b.StartTimer()
				p.publish(object)
			}
		})
		b.Run(fmt.Sprintf("hashes/%d", size), func(b *testing.B) {
			b.SetBytes(packed)
			for b.Loop() {
				sha256.Sum256(body)
				if _, err := dirhash.HashZip(file, dirhash.Hash1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
