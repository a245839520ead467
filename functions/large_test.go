package functions_test

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/inbox"
)

// TestTheLargestUploads measures what the function publish takes for packages of 1 GiB
// and of 5 GiB, the most that it takes, on one processor: the time of each phase, its
// own and the processor's, and memory. docs/aws.md has the relations between them, by
// which the function's memory and time are chosen.
func TestTheLargestUploads(t *testing.T) {
	if os.Getenv("LARDER_LARGE") == "" {
		t.Skip("it takes minutes, and 15 GiB of disk: LARDER_LARGE=1 runs it")
	}
	var measured []measurement
	for _, size := range []int64{1 << 30, inbox.MaxUpload} {
		t.Run(fmt.Sprint(size>>30, " GiB"), func(t *testing.T) { // one gateway at a time
			m := measure(t, size)
			t.Logf("%d MiB: the peak of memory is %d MiB", m.packed>>20, m.memory>>20)
			for n, phase := range phases {
				t.Logf("  %-8s %6.1f s, and %5.1f s of the processor, %2.0f %% of all",
					phase, m.took[n].Seconds(), m.cpu[n].Seconds(), 100*m.cpu[n].Seconds()/m.whole().Seconds())
			}
			measured = append(measured, m)
		})
	}
	if t.Failed() {
		return
	}
	one, most := measured[0], measured[1]
	t.Logf("the largest to 1 GiB: %.2f in bytes, %.2f in the processor's time", float64(most.packed)/float64(one.packed), most.whole().Seconds()/one.whole().Seconds())
	if limit := int64(512 << 20); most.memory > limit {
		t.Errorf("the peak of memory is %d MiB, want %d at most", most.memory>>20, limit>>20)
	}
	if growth, bytes := most.whole().Seconds()/one.whole().Seconds(), float64(most.packed)/float64(one.packed); growth > 2*bytes { // what else runs, and a full page cache, take their part
		t.Errorf("%.2f times the bytes take %.2f times the time", bytes, growth)
	}
}

// phases are those of a publication, in their order.
var phases = [...]string{"download", "inspect", "copy", "release"}

// measurement is what one publication took.
type measurement struct {
	packed, memory int64
	took, cpu      [len(phases)]time.Duration
}

// whole is the processor's time for all phases.
func (m measurement) whole() (sum time.Duration) {
	for _, cpu := range m.cpu {
		sum += cpu
	}
	return sum
}

// measure publishes a package of a size, in bytes.
func measure(t *testing.T, size int64) (m measurement) {
	t.Helper()
	bucket := s3test.Start(t)
	const key = "providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
	var version string
	version, m.packed = putLarge(t, bucket, key, size)
	w := newWorldIn(t, bucket)
	clock := &phaseClock{key: "/" + bucket.Bucket + "/" + key}
	gateway, err := url.Parse(bucket.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(clock.watch(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = gateway.Scheme, gateway.Host },
	}))
	t.Cleanup(proxy.Close)
	w.publish.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	w.publish.Setenv("GOMAXPROCS", "1")
	clock.mark(0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	if _, err := w.publish.Invoke(ctx, uploaded(t, bucket, key, version)); err != nil {
		t.Fatal(err)
	}
	clock.mark(len(phases))
	if status := w.heard(key); status != "published" {
		t.Fatalf("it is %s:\n%s", status, w.publish.Logs())
	}
	for n := range phases {
		m.took[n], m.cpu[n] = clock.wall[n+1].Sub(clock.wall[n]), clock.cpu[n+1]-clock.cpu[n]
	}
	m.memory = clock.memory
	return m
}

// putLarge uploads a provider package of a size in bytes, which expands to 1.6 times as
// much: 8 GiB of 5 GiB, the most that a provider may have. It has no repetitions, so a
// reader has to decode every byte by itself.
func putLarge(t *testing.T, bucket *s3test.Server, key string, size int64) (version string, packed int64) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "large.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.HuffmanOnly) })
	header := &zip.FileHeader{Name: "terraform-provider-widget_v1.0.0", Method: zip.Deflate}
	header.SetMode(0o755)
	entry, err := w.CreateHeader(header)
	if err == nil {
		_, err = io.CopyBuffer(entry, io.LimitReader(letters{rand.NewChaCha8([32]byte{})}, size/1000*1560), make([]byte, 1<<20))
	}
	for _, end := range []func() error{w.Close, out.Flush} {
		if err == nil {
			err = end()
		}
	}
	if err == nil {
		packed, err = file.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		t.Fatal(err)
	}
	put, err := bucket.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.Bucket, Key: &key, Body: file})
	if err != nil {
		t.Fatal(err)
	}
	return *put.VersionId, packed
}

// letters are random bytes of 32 kinds.
type letters struct{ *rand.ChaCha8 }

func (l letters) Read(p []byte) (int, error) {
	n, err := l.ChaCha8.Read(p)
	for i := range p[:n] {
		p[i] = 'A' + p[i]&31
	}
	return n, err
}

// phaseClock sees by the requests to the bucket when a phase begins.
type phaseClock struct {
	key string // of the upload, as a path

	mu     sync.Mutex
	wall   [len(phases) + 1]time.Time
	cpu    [len(phases) + 1]time.Duration
	memory int64 // the process's peak, in bytes
}

// watch has the requests pass.
func (c *phaseClock) watch(to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		copies := r.Header.Get("X-Amz-Copy-Source") != ""
		if copies {
			c.mark(2)
		}
		to.ServeHTTP(w, r)
		switch {
		case copies:
			c.mark(3)
		case r.Method == http.MethodGet && r.URL.Path == c.key && !r.URL.Query().Has("tagging"):
			c.mark(1)
		}
	})
}

// mark notes that a phase begins, and what the function has used by then.
func (c *phaseClock) mark(phase int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall[phase] = time.Now()
	c.cpu[phase], c.memory = usage()
}

// usage is what the function, the only child of this process that is one, has used: the
// processor's time, and the peak of its memory, in bytes.
func usage() (cpu time.Duration, memory int64) {
	children, _ := filepath.Glob("/proc/[0-9]*")
	for _, child := range children {
		binary, _ := os.Readlink(filepath.Join(child, "exe"))
		stat, _ := os.ReadFile(filepath.Join(child, "stat"))
		_, fields, _ := strings.Cut(string(stat), ") ")
		of := strings.Fields(fields)
		if filepath.Base(filepath.Dir(binary)) != "publish" || len(of) < 13 || of[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		user, _ := strconv.Atoi(of[11])
		system, _ := strconv.Atoi(of[12])
		status, _ := os.ReadFile(filepath.Join(child, "status"))
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		var kilobytes int64
		_, _ = fmt.Sscanf(peak, "%d kB", &kilobytes)
		return time.Duration(user+system) * 10 * time.Millisecond, kilobytes << 10
	}
	return 0, 0
}
