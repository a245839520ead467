package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
	"github.com/larder-registry/larder/pkg/upstream"
	"github.com/spf13/pflag"
)

// originHostname is that of a public registry, as which the origin serves.
const originHostname = "registry.terraform.io"

// asOrigin makes the test binary be a node in a process of its own, set up by
// the environment: there is one S3 endpoint to a process.
const asOrigin = "TEST_AS_ORIGIN"

func serveAsOrigin() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	flags := pflag.NewFlagSet("origin", pflag.ContinueOnError)
	settings.AddFlags(flags)
	set, err := settings.Load(flags, os.Environ())
	if err != nil {
		return err
	}
	return Run(ctx, set, slog.New(slog.NewTextHandler(os.Stderr, nil)), os.Stdout)
}

// origin is a registry that others pull from.
type origin struct {
	*running
	address string // where it listens
	folder  string // of its data
}

// newOrigin runs an origin that has nothing.
func newOrigin(t *testing.T) *origin {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // to know the address, which the hostname hides
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	o := &origin{address: listener.Addr().String(), folder: filepath.Join(t.TempDir(), "data")}
	o.start(t)
	return o
}

// start runs it with the data that it has, at the address that it had.
func (o *origin) start(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.running = &running{data: o.folder, out: &logtest.Log{}, log: &logtest.Log{}}
	process := exec.Command(self)
	process.Env = []string{
		asOrigin + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(o.folder), "TMPDIR=" + os.TempDir(),
		"LARDER_ADDR=" + o.address, "LARDER_S3_ADDR=127.0.0.1:0", "LARDER_DATA=" + o.folder, "LARDER_HOSTNAME=" + originHostname,
	}
	process.Stdout, process.Stderr = o.out, o.log
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	o.stop = sync.OnceValue(func() error {
		_ = process.Process.Signal(syscall.SIGTERM) // fails when it has ended
		return <-ended
	})
	o.await(t, ended)
}

// publish uploads packages of hashicorp/<type> and a version by their platforms,
// and returns when they can be installed.
func (o *origin) publish(t *testing.T, kind, version string, packages map[string][]byte) {
	t.Helper()
	for platform, body := range packages {
		o.upload(t, fmt.Sprintf("providers/hashicorp/%s/terraform-provider-%[1]s_%s_%s.zip", kind, version, platform), body)
	}
	client := o.client(t)
	client.Transport.(*http.Transport).DialContext = o.dial
	for platform := range packages {
		u := fmt.Sprintf("https://%s/v1/providers/hashicorp/%s/%s/download/%s", originHostname, kind, version, strings.Replace(platform, "_", "/", 1))
		eventually(t, func() error {
			response, err := client.Get(u)
			if err != nil {
				return err
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s\n%s", u, response.Status, o.said())
			}
			return nil
		})
	}
}

// dial connects to the origin under its hostname, to addresses on loopback, and
// to nothing else.
func (o *origin) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address == originHostname+":443" {
		address = o.address
	}
	if !strings.HasPrefix(address, "127.0.0.1:") {
		return nil, errors.New("the tests connect to loopback alone")
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, address)
}

// said is what a node has logged beside requests.
func (r *running) said() string {
	return requests.ReplaceAllString(r.log.String(), "")
}

var requests = regexp.MustCompile(`(?m)^.* msg=request .*\n`)

// bucket is the bucket of a node as uploaders have it.
func (r *running) bucket(t *testing.T) *s3blob.Bucket {
	t.Helper()
	return r.bucketOf(t, r.env(t, "AWS_ACCESS_KEY_ID"), r.env(t, "AWS_SECRET_ACCESS_KEY"))
}

// bucketOf returns the bucket of a node for a client with an access key.
func (r *running) bucketOf(t *testing.T, accessKeyID, secret string) *s3blob.Bucket {
	t.Helper()
	bucket, err := s3blob.New(s3blob.Config{
		Bucket:      r.env(t, "LARDER_BUCKET"),
		Region:      locals3.Region,
		Credentials: s3blob.StaticCredentials(accessKeyID, secret),
		Endpoint:    r.env(t, "AWS_ENDPOINT_URL_S3"),
		PathStyle:   true,
		Transport:   r.client(t).Transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

func (r *running) upload(t *testing.T, key string, body []byte) {
	t.Helper()
	if err := r.bucket(t).Put(t.Context(), key, bytes.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

// provider is a package of a provider that can be published, and not be run.
func provider(t *testing.T, kind, content string) []byte {
	t.Helper()
	return archivetest.Provider(t, "terraform-provider-"+kind+"_v1.0.0_x5", content)
}

// lie is what is answered in the place of an origin's true answer, or that.
type lie func(r *http.Request, truth *http.Response) *http.Response

// wire carries what a node sends to its origin. It knows what was asked, and may
// lie. Whatever else the node asks meets the transport of production.
type wire struct {
	origin     *origin
	transport  http.RoundTripper
	production *upstream.Client

	mu    sync.Mutex
	asked map[string]int // by path
	lies  map[string]lie // by type of provider
	hangs bool
}

func newWire(t *testing.T, o *origin) *wire {
	t.Helper()
	transport := o.client(t).Transport.(*http.Transport)
	transport.DialContext = o.dial
	return &wire{origin: o, transport: transport, production: upstream.New(upstream.Config{}), asked: map[string]int{}, lies: map[string]lie{}}
}

var providerType = regexp.MustCompile(`/providers/hashicorp/([a-z]+)/`)

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	lie, hangs := w.note(r)
	if hangs {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if host := r.URL.Hostname(); host != originHostname && host != "127.0.0.1" {
		_, err := w.production.Download(r.Context(), upstream.Package{URL: r.URL.String()}, io.Discard)
		return nil, err
	}
	response, err := w.transport.RoundTrip(r)
	if err == nil && lie != nil {
		response = lie(r, response)
	}
	return response, err
}

// note counts a request, and finds out what becomes of it.
func (w *wire) note(r *http.Request) (lie, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[r.URL.Path]++
	if match := providerType.FindStringSubmatch(r.URL.Path); match != nil {
		return w.lies[match[1]], w.hangs
	}
	return nil, w.hangs
}

// set changes what the wire does.
func (w *wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// count is how often paths with an ending were asked for, as all paths have "".
func (w *wire) count(ending string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, times := range w.asked {
		if strings.HasSuffix(path, ending) {
			n += times
		}
	}
	return n
}

// eventually tries again until there is no error.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
