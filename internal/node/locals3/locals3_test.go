package locals3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/awserror"
	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/localca"
)

// endpoint is a running server with what a test needs to look at it, as its
// clients do: through the door.
type endpoint struct {
	*Server
	Root, Operator Credentials // the keys as they were at the start
	url            string
	outside        *http.Client
	dir            *datadir.Dir
	log            *logtest.Log
	mu             sync.Mutex
	keys           []string
	room           atomic.Int64 // on the disk
}

// Client returns a client outside of the door.
func (e *endpoint) Client(who Credentials) *s3.Client {
	return s3.New(e.Server.Client(who).Options(), func(o *s3.Options) {
		o.BaseEndpoint = &e.url
		o.HTTPClient = e.outside
	})
}

func (e *endpoint) notified() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.keys)
}

// start starts an endpoint on the data folder path, and stops it with the
// test. The library allows one at a time, so tests here are not parallel.
func start(t *testing.T, path string) *endpoint {
	t.Helper()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := localca.Load(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue([]string{"127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(cert, cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.CertificatePEM())
	e := &endpoint{dir: dir, log: &logtest.Log{}}
	e.room.Store(math.MaxInt64)
	server, err := Start(t.Context(), Options{
		Dir: dir, Addr: "127.0.0.1:0",
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil },
		ServerName:  "127.0.0.1", Roots: roots,
		Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		Room:    func(size int64) bool { return size <= e.room.Load() },
		Notify: func(key string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.keys = append(e.keys, key)
		},
		Logger: slog.New(slog.NewTextHandler(e.log, nil)),
	})
	if err != nil {
		dir.Close()
		t.Fatal(err)
	}
	e.Server = server
	e.Root, e.Operator = server.Keys.Root(), server.Keys.Operator()
	e.url = fmt.Sprintf("https://127.0.0.1:%d", server.Port)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	e.outside = &http.Client{Transport: transport}
	t.Cleanup(func() { e.stop(t) })
	return e
}

func (e *endpoint) stop(t *testing.T) {
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	e.dir.Close()
}

func put(t *testing.T, client *s3.Client, key, body string) string {
	t.Helper()
	out, err := client.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader(body)})
	if err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
	return aws.ToString(out.VersionId)
}

func get(t *testing.T, client *s3.Client, key, version string) string {
	t.Helper()
	in := &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &key}
	if version != "" {
		in.VersionId = &version
	}
	out, err := client.GetObject(t.Context(), in)
	if err != nil {
		t.Fatalf("get %s: %v", key, err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(out.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func wantCode(t *testing.T, what string, err error, want string) {
	t.Helper()
	if awserror.Code(err) != want {
		t.Errorf("%s: got %v, want %s", what, err, want)
	}
}

// pair is the two keys that there always are.
type pair struct{ root, operator Credentials }

func TestRestart(t *testing.T) {
	path := t.TempDir()
	first := start(t, path)
	root := first.Client(first.Root)
	version := put(t, root, "registry/blob", "one")
	put(t, root, "registry/blob", "two")
	keys := pair{first.Root, first.Operator}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	first.dir.Close()

	again := start(t, path)
	if got := (pair{again.Root, again.Operator}); got != keys {
		t.Error("other access keys after a restart")
	}
	root = again.Client(again.Root)
	if got := get(t, root, "registry/blob", ""); got != "two" {
		t.Errorf("current version: %q", got)
	}
	if got := get(t, root, "registry/blob", version); got != "one" {
		t.Errorf("earlier version: %q", got)
	}
	if info, err := os.Stat(again.dir.Path(datadir.S3Credentials)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("access keys: %v, %v, want mode 600", info, err)
	}
}

// Who deletes the access keys, or loses them, has new ones, and the bucket as it was.
func TestLostCredentials(t *testing.T) {
	path := t.TempDir()
	first := start(t, path)
	lost := pair{first.Root, first.Operator}
	put(t, first.Client(first.Root), "registry/blob", "one")
	if err := errors.Join(first.Close(), os.Remove(first.dir.Path(datadir.S3Credentials))); err != nil {
		t.Fatal(err)
	}
	first.dir.Close()

	for nth := range 2 {
		again := start(t, path)
		if told := strings.Contains(again.log.String(), "there are new ones: in shells source the env file again"); told != (nth == 0) {
			t.Errorf("start %d after that: told %t", nth+1, told)
		}
		if got := get(t, again.Client(again.Root), "registry/blob", ""); got != "one" {
			t.Errorf("the object is now %q", got)
		}
		put(t, again.Client(again.Root), "registry/other", "two")
		put(t, again.Client(again.Operator), "modules/acme/vpc/aws/1.0.0.zip", "three")
		_, err := again.Client(again.Operator).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/blob"), Body: strings.NewReader("x")})
		wantCode(t, "the new uploader changes what is published", err, "AccessDenied")
		for _, key := range []Credentials{lost.root, lost.operator} {
			_, err := again.Client(key).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/x"), Body: strings.NewReader("x")})
			wantCode(t, "a lost key", err, "InvalidAccessKeyId")
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		again.dir.Close()
	}
}

func TestLifecycle(t *testing.T) {
	e := start(t, t.TempDir())
	if _, err := Start(t.Context(), e.opts); err == nil {
		t.Error("two endpoints in one process")
	}
	if err := e.Err(); err != nil {
		t.Errorf("Err while it runs: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case <-e.Done():
	default:
		t.Error("closed, and Done is not")
	}
	if _, err := e.Client(e.Root).HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String(Bucket)}, func(o *s3.Options) { o.RetryMaxAttempts = 1 }); err == nil {
		t.Error("answers after Close")
	}
}

func TestStartRefusesOccupiedAddress(t *testing.T) {
	e := start(t, t.TempDir())
	opts := e.opts
	opts.Addr = strings.TrimPrefix(e.url, "https://")
	_, err := Start(t.Context(), opts)
	if err == nil || !strings.Contains(err.Error(), "LARDER_S3_ADDR") {
		t.Errorf("got %v, want an error that names LARDER_S3_ADDR", err)
	}
}

func TestNotify(t *testing.T) {
	e := start(t, t.TempDir())
	up := e.Client(e.Operator)
	put(t, up, "modules//a/./b.zip", "x")
	_, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{
		Bucket: aws.String(Bucket), Key: aws.String("copy"), CopySource: aws.String(Bucket + "/modules/a/b.zip")})
	if err != nil {
		t.Fatal(err)
	}
	beginUpload(t, up, "large").complete(t, up)
	_, err = up.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(Bucket), Key: aws.String("registry/x"), Body: strings.NewReader("x")})
	wantCode(t, "put in registry/", err, "AccessDenied")
	version := put(t, up, "gone", "x")
	root := e.Client(e.Root)
	for _, gone := range []*string{nil, &version} {
		for _, key := range []string{"large", "registry/x"} {
			_, err = up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: &key, VersionId: gone})
			if key == "large" && gone == nil && err != nil || key != "large" && err == nil {
				t.Errorf("delete %s: %v", key, err)
			}
		}
		_, err = root.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket), Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: aws.String("gone"), VersionId: gone}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, want := e.notified(), []string{"modules/a/b.zip", "copy", "large", "gone", "large", "gone"}; !slices.Equal(got, want) {
		t.Errorf("notified of %q, want %q", got, want)
	}
}

// pending is a multipart upload of one small part that is not complete.
type pending struct {
	key, id string
	part    types.CompletedPart
}

func beginUpload(t *testing.T, client *s3.Client, key string) pending {
	t.Helper()
	created, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: aws.String(Bucket), Key: &key,
		UploadId: created.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("part")})
	if err != nil {
		t.Fatal(err)
	}
	return pending{key, aws.ToString(created.UploadId),
		types.CompletedPart{ETag: part.ETag, PartNumber: aws.Int32(1), ChecksumCRC32: part.ChecksumCRC32}}
}

func (p pending) complete(t *testing.T, client *s3.Client) {
	t.Helper()
	_, err := client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: aws.String(Bucket),
		Key: &p.key, UploadId: &p.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{p.part}}})
	if err != nil {
		t.Fatalf("complete the upload of %s: %v", p.key, err)
	}
}

func TestConditionalCreateHasOneWinner(t *testing.T) {
	e := start(t, t.TempDir())
	root := e.Client(e.Root)
	const writers = 20
	won := make(chan string, writers)
	var group sync.WaitGroup
	for i := range writers {
		body := strings.Repeat("x", i+1)
		group.Go(func() {
			_, err := root.PutObject(context.Background(), &s3.PutObjectInput{Bucket: aws.String(Bucket),
				Key: aws.String("registry/record"), Body: strings.NewReader(body), IfNoneMatch: aws.String("*")})
			if err == nil {
				won <- body
				return
			}
			wantCode(t, "a loser", err, "PreconditionFailed")
		})
	}
	group.Wait()
	close(won)
	var winners []string
	for body := range won {
		winners = append(winners, body)
	}
	if len(winners) != 1 {
		t.Fatalf("%d winners", len(winners))
	}
	if got := get(t, root, "registry/record", ""); got != winners[0] {
		t.Errorf("stored %q, the winner wrote %q", got, winners[0])
	}
}

func TestPresignedURLs(t *testing.T) {
	e := start(t, t.TempDir())
	root := e.Client(e.Root)
	version := put(t, root, "registry/blob", "served")
	put(t, root, "registry/blob", "later")
	presign := func(expires time.Duration) string {
		request, err := s3.NewPresignClient(root).PresignGetObject(t.Context(), &s3.GetObjectInput{
			Bucket: aws.String(Bucket), Key: aws.String("registry/blob"), VersionId: &version},
			s3.WithPresignExpires(expires))
		if err != nil {
			t.Fatal(err)
		}
		return request.URL
	}
	good := presign(time.Minute)
	expired := presign(time.Second)
	tests := []struct {
		name, method, url string
		status            int
	}{
		{"as signed", http.MethodGet, good, http.StatusOK},
		{"parameters added after signing", http.MethodGet, good + "&archive=zip", http.StatusForbidden},
		{"another key", http.MethodGet, strings.Replace(good, "registry/blob", "registry/blox", 1), http.StatusForbidden},
		{"another expiry", http.MethodGet, strings.Replace(good, "X-Amz-Expires=60", "X-Amz-Expires=61", 1), http.StatusForbidden},
		{"without signature", http.MethodGet, strings.Split(good, "?")[0], http.StatusForbidden},
		{"HEAD", http.MethodHead, good, http.StatusForbidden},
		{"PUT", http.MethodPut, good, http.StatusForbidden},
	}
	for _, tt := range tests {
		status, body := e.request(t, tt.method, tt.url)
		if status != tt.status {
			t.Errorf("%s: status %d, want %d: %s", tt.name, status, tt.status, body)
		}
		if status == http.StatusOK && body != "served" {
			t.Errorf("%s: body %q, want the version that was signed", tt.name, body)
		}
	}
	poll(t, "the URL expires", func() bool {
		status, _ := e.request(t, http.MethodGet, expired)
		return status == http.StatusForbidden
	})
}

func (e *endpoint) request(t *testing.T, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.answer(t, request)
}

// answer is what a client is answered.
func (e *endpoint) answer(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response, err := e.outside.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// poll waits until what is true, ten seconds at most.
func poll(t *testing.T, what string, true func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !true(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestStaleUploadsAreAborted(t *testing.T) {
	e := start(t, t.TempDir())
	root := e.Client(e.Root)
	beginUpload(t, root, "large")
	unfinished := func() int {
		out, err := root.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: aws.String(Bucket)})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Uploads)
	}
	e.abortStaleUploads(t.Context(), root, time.Now().Add(-time.Hour))
	if got := unfinished(); got != 1 {
		t.Errorf("%d unfinished uploads, want the young one", got)
	}
	e.abortStaleUploads(t.Context(), root, time.Now().Add(time.Hour))
	if got := unfinished(); got != 0 {
		t.Errorf("%d unfinished uploads after all were due", got)
	}
	if !strings.Contains(e.log.String(), "key=large") {
		t.Errorf("not logged: %s", e.log)
	}
}
