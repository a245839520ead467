package locals3

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/socket"
)

// wire is a connection to the door on which a test writes what it likes.
type wire struct {
	net.Conn
	answers *bufio.Reader
}

func (e *endpoint) connect(t *testing.T) wire {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(e.url, "https://"), e.outside.Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return wire{conn, bufio.NewReader(conn)}
}

func (w wire) send(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

// receive returns the status and the body of the next answer.
func (w wire) receive(t *testing.T, method string) (*http.Response, string) {
	t.Helper()
	response, err := http.ReadResponse(w.answers, &http.Request{Method: method})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// head is the head of a signed request, without the empty line.
func (e *endpoint) head(t *testing.T, who Credentials, method, target string, header ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, e.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true })
	credentials := aws.Credentials{AccessKeyID: who.AccessKeyID, SecretAccessKey: who.SecretAccessKey}
	if err := signer.SignHTTP(t.Context(), credentials, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", Region, time.Now()); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, target, strings.TrimPrefix(e.url, "https://"))
	if err := r.Header.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const tooMuch = "Content-Length: 5000000000\r\n"

// Requests that the door refuses, before it is sent anything of their bodies.
func TestDoorRefuses(t *testing.T) {
	e := start(t, t.TempDir())
	put(t, e.Client(e.Root), "registry/blob", "published")
	host := "Host: " + strings.TrimPrefix(e.url, "https://") + "\r\n"
	wrong := Credentials{e.Operator.AccessKeyID, e.Root.SecretAccessKey}
	link, err := s3.NewPresignClient(e.Client(e.Root)).PresignGetObject(t.Context(),
		&s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/blob")})
	if err != nil {
		t.Fatal(err)
	}
	linked := "GET " + strings.TrimPrefix(link.URL, e.url) + " HTTP/1.1\r\n" + host
	form := "multipart/form-data; boundary=x"
	anonymous := "Content-Type: multipart/form-data; boundary=x\r\n" + tooMuch
	tests := []struct {
		name, request string
		status        int
		code          string
	}{
		{"anonymous", "GET /larder/registry/blob HTTP/1.1\r\n" + host, 403, "AccessDenied"},
		{"anonymous upload", "PUT /larder/x HTTP/1.1\r\n" + host + tooMuch, 403, "AccessDenied"},
		{"anonymous upload in chunks", "PUT /larder/x HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n", 403, "AccessDenied"},
		{"anonymous, would wait", "PUT /larder/x HTTP/1.1\r\n" + host + "Expect: 100-continue\r\n" + tooMuch, 403, "AccessDenied"},
		{"form", "POST /larder HTTP/1.1\r\n" + host + anonymous, 501, "NotImplemented"},
		{"form, encoded", "POST /larder HTTP/1.1\r\n" + host + "Content-Encoding: x\r\n" + anonymous, 501, "NotImplemented"},
		{"form to anywhere", "POST /anything/at/all HTTP/1.1\r\n" + host + anonymous, 501, "NotImplemented"},
		{"form in capitals", "PUT / HTTP/1.1\r\n" + host + "Content-Type: Multipart/FORM-data;BOUNDARY=x\r\n" + tooMuch, 501, "NotImplemented"},
		{"form, signed", e.head(t, e.Operator, "PUT", "/larder/x", "Content-Type", form) + tooMuch, 501, "NotImplemented"},
		{"encoded", "POST /larder HTTP/1.1\r\n" + host + "Content-Encoding: x\r\n" + tooMuch, 403, "AccessDenied"},
		{"wrong secret", e.head(t, wrong, "PUT", "/larder/x") + tooMuch, 403, "SignatureDoesNotMatch"},
		{"wrong secret, would wait", e.head(t, wrong, "PUT", "/larder/x") + "Expect: 100-continue\r\n" + tooMuch, 403, "SignatureDoesNotMatch"},
		{"wrong secret, streaming", e.head(t, wrong, "PUT", "/larder/x", "Content-Encoding", "aws-chunked") + tooMuch, 403, "SignatureDoesNotMatch"},
		{"unknown key", e.head(t, newCredentials(), "PUT", "/larder/x") + tooMuch, 403, "InvalidAccessKeyId"},
		{"a bearer", "GET /larder/x HTTP/1.1\r\n" + host + "Authorization: Bearer x\r\n", 400, "InvalidRequest"},
		{"a link and a bearer", linked + "Authorization: Bearer x\r\n", 400, "InvalidArgument"},
		{"a link and a signature", linked + strings.SplitN(e.head(t, e.Operator, "GET", "/larder/x"), "\r\n", 3)[2], 400, "InvalidArgument"},
		{"absolute", "GET " + e.url + "/larder/registry/blob HTTP/1.1\r\n" + host, 400, "InvalidURI"},
		{"no bucket", "GET //larder/registry/blob HTTP/1.1\r\n" + host, 400, "InvalidURI"},
		{"a NUL", e.head(t, e.Operator, "GET", "/larder/a%00b"), 400, "InvalidURI"},
		{"an upload that no listing can name", e.head(t, e.Operator, "PUT", "/larder/a%1B%5Bb") + tooMuch, 400, "InvalidURI"},
		{"a copy to where no listing can name it", e.head(t, e.Operator, "PUT", "/larder/a%EF%BF%BF", copySource, "larder/a"), 400, "InvalidURI"},
		{"an upload that listings leave out", e.head(t, e.Operator, "PUT", "/larder/modules/acme/.sgwtmp/x.zip") + tooMuch, 400, "InvalidArgument"},
		{"the same, encoded", e.head(t, e.Operator, "PUT", "/larder/modules/%2Esgwtmp") + tooMuch, 400, "InvalidArgument"},
		{"the same, in parts", e.head(t, e.Operator, "POST", "/larder/modules/acme/.sgwtmp/x.zip?uploads="), 400, "InvalidArgument"},
		{"an upload with a NUL", e.head(t, e.Operator, "PUT", "/larder/a%00b") + tooMuch, 400, "InvalidURI"},
		{"an upload in parts with a NUL", e.head(t, e.Operator, "POST", "/larder/a%00b?uploads="), 400, "InvalidURI"},
		{"a copy of a NUL", e.head(t, e.Operator, "PUT", "/larder/x", copySource, "larder/a%00b"), 400, "InvalidURI"},
		{"not UTF-8", e.head(t, e.Operator, "PUT", "/larder/%FF") + tooMuch, 400, "InvalidURI"},
		{"an upload without a length", e.head(t, e.Operator, "PUT", "/larder/x"), 411, "MissingContentLength"},
		{"a part without a length", e.head(t, e.Operator, "PUT", "/larder/x?partNumber=1&uploadId=x"), 411, "MissingContentLength"},
		{"anonymous, without a length", "PUT /larder/x HTTP/1.1\r\n" + host, 403, "AccessDenied"},
		{"a body signed by another algorithm", e.head(t, e.Operator, "PUT", "/larder/x", "X-Amz-Content-Sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
			"X-Amz-Decoded-Content-Length", "5") + tooMuch, 400, "AuthorizationHeaderMalformed"},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + host, 400, "InvalidURI"},
		{"options", "OPTIONS /larder/x HTTP/1.1\r\n" + host + "Origin: https://example.com\r\nAccess-Control-Request-Method: PUT\r\n", 403, "AccessDenied"},
		{"connect", "CONNECT 127.0.0.1:1 HTTP/1.1\r\n" + host, 405, "MethodNotAllowed"},
		{"trace", "TRACE /larder HTTP/1.1\r\n" + host, 405, "MethodNotAllowed"},
		{"the endpoint's administration", e.head(t, e.Root, "PATCH", "/list-users"), 405, "MethodNotAllowed"},
		{"upgrade", e.head(t, e.Operator, "GET", "/larder/registry/blob") + "Connection: upgrade\r\nUpgrade: websocket\r\n", 400, "InvalidRequest"},
		{"a large document", e.head(t, e.Operator, "POST", "/larder?delete=") + tooMuch, 400, "EntityTooLarge"},
		{"a large document about an object", e.head(t, e.Operator, "PUT", "/larder/x?tagging=") + tooMuch, 400, "EntityTooLarge"},
		{"a large document about a bucket", e.head(t, e.Operator, "PUT", "/larder") + tooMuch, 400, "EntityTooLarge"},
	}
	for _, tt := range tests {
		w := e.connect(t)
		w.send(t, tt.request+"\r\n")
		response, body := w.receive(t, strings.SplitN(tt.request, " ", 2)[0])
		if response.StatusCode != tt.status || !strings.Contains(body, "<Error><Code>"+tt.code+"</Code><Message>") ||
			response.Header.Get("Content-Type") != "application/xml" {
			t.Errorf("%s: %s %v %s, want %d %s", tt.name, response.Status, response.Header, body, tt.status, tt.code)
		}
		if hasBody := strings.Contains(tt.request, tooMuch) || strings.Contains(tt.request, "chunked"); hasBody {
			if n, err := io.Copy(io.Discard, w.answers); n != 0 || err != nil {
				t.Errorf("%s: the connection goes on: %d bytes, %v", tt.name, n, err)
			}
		}
	}
	w := e.connect(t)
	w.send(t, "HEAD /larder/x HTTP/1.1\r\n"+host+"\r\n")
	if response, body := w.receive(t, "HEAD"); response.StatusCode != 403 || body != "" {
		t.Errorf("HEAD: %s %q", response.Status, body)
	}
}

// A document whose length nobody says is bounded, too.
func TestDoorBoundsDocuments(t *testing.T) {
	e := start(t, t.TempDir())
	for _, tt := range []struct {
		size   int
		status int
	}{{maxDocument, 400}, {maxDocument + 1, 400}} {
		w := e.connect(t)
		w.send(t, e.head(t, e.Operator, "POST", "/larder?delete=")+"Transfer-Encoding: chunked\r\n\r\n"+
			fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", tt.size, strings.Repeat(" ", tt.size)))
		response, body := w.receive(t, "POST")
		if large := strings.Contains(body, "EntityTooLarge"); response.StatusCode != tt.status || large != (tt.size > maxDocument) {
			t.Errorf("%d bytes: %s %s", tt.size, response.Status, body)
		}
	}
}

// One connection after a refusal, an upload that waits for leave, and what looks
// like two requests.
func TestDoorKeepsConnections(t *testing.T) {
	e := start(t, t.TempDir())
	w := e.connect(t)
	for range 2 {
		w.send(t, "PUT /larder/x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nbytes")
		if response, _ := w.receive(t, "PUT"); response.StatusCode != 403 {
			t.Fatalf("anonymous: %s", response.Status)
		}
	}
	w.send(t, e.head(t, e.Operator, "PUT", "/larder/x")+"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
	if line, err := w.answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("no leave to send: %q, %v", line, err)
	}
	if _, err := w.answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	w.send(t, "bytes")
	if response, body := w.receive(t, "PUT"); response.StatusCode != 200 {
		t.Fatalf("upload: %s %s", response.Status, body)
	}
	smuggled := "GET /larder/registry/secret HTTP/1.1\r\nHost: h\r\n\r\n"
	w.send(t, e.head(t, e.Operator, "PUT", "/larder/y")+fmt.Sprintf("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled))
	if response, body := w.receive(t, "PUT"); response.StatusCode != 411 {
		t.Errorf("two lengths: %s %s", response.Status, body)
	}
	for _, key := range []string{"x", "y"} {
		if got := e.size(t, key); got != map[string]int64{"x": 5, "y": -1}[key] {
			t.Errorf("%s has %d bytes", key, got)
		}
	}
}

// size returns the size of an object, or -1 if it does not exist.
func (e *endpoint) size(t *testing.T, key string) int64 {
	t.Helper()
	out, err := e.Client(e.Root).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(Bucket), Key: &key})
	if err != nil {
		return -1
	}
	return aws.ToInt64(out.ContentLength)
}

// Objects come through the door as they are, whatever they are called and
// however they are sent.
func TestDoorPassesOn(t *testing.T) {
	e := start(t, t.TempDir())
	up := e.Client(e.Operator)
	for _, key := range []string{
		"a b", "a+b", "a%2Bb", "a=b&c;d", "ü/ö", "a!$'()*,:@~-._", "100%", "a//b", `a"b<c>`, "a?b#c", "モジュール", "a\\b", "a%00b", "a%ffb",
	} {
		put(t, up, key, "the body of "+key)
		if got := get(t, up, key, ""); got != "the body of "+key {
			t.Errorf("%q: got %q", key, got)
		}
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	for name, body := range map[string]io.Reader{
		"whole":     bytes.NewReader(large),
		"streaming": io.MultiReader(bytes.NewReader(large)), // in chunks, with a checksum after them
	} {
		_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &name, Body: body,
			ContentLength: aws.Int64(int64(len(large))), ChecksumAlgorithm: types.ChecksumAlgorithmSha256})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := get(t, up, name, ""); got != string(large) {
			t.Errorf("%s: got %d bytes", name, len(got))
		}
	}
	if _, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("copy"), CopySource: aws.String(Bucket + "/a%2500b")}); err != nil {
		t.Errorf("a copy: %v", err)
	}
	w := e.connect(t)
	w.send(t, e.head(t, e.Operator, "PUT", "/larder/copy", copySource, Bucket+"/a%2500b")+"\r\n")
	if response, body := w.receive(t, "PUT"); response.StatusCode != 200 {
		t.Errorf("a copy that says no length: %s %s", response.Status, body)
	}
	put(t, up, "empty", "")
	out, err := up.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String("whole"), Range: aws.String("bytes=16-31")})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	if body, err := io.ReadAll(out.Body); err != nil || string(body) != "0123456789abcdef" {
		t.Errorf("a range: %q, %v", body, err)
	}
	_, err = up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/x"), Body: bytes.NewReader(large)})
	wantCode(t, "a large upload that the endpoint refuses", err, "AccessDenied")
	_, err = up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("whole"), Body: bytes.NewReader(large), IfNoneMatch: aws.String("*")})
	wantCode(t, "a large upload of what is there", err, "PreconditionFailed")
	removed, err := up.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket),
		Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("whole")}, {Key: aws.String("a b")}}}})
	if err != nil || len(removed.Deleted) != 2 {
		t.Errorf("delete: %v, %v", removed, err)
	}
	created, err := up.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(Bucket), Key: aws.String("parts")})
	if err != nil {
		t.Fatal(err)
	}
	part, err := up.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: aws.String(Bucket), Key: aws.String("parts"),
		UploadId: created.UploadId, PartNumber: aws.Int32(1), Body: bytes.NewReader(large)})
	if err != nil {
		t.Fatal(err)
	}
	done, err := up.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: aws.String(Bucket), Key: aws.String("parts"),
		UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{
			{ETag: part.ETag, PartNumber: aws.Int32(1), ChecksumCRC32: part.ChecksumCRC32}}}})
	if err != nil || !strings.HasPrefix(aws.ToString(done.Location), e.url+"/") {
		t.Errorf("completed: %q, %v", aws.ToString(done.Location), err)
	}
}

// A client that breaks off an upload leaves nothing.
func TestDoorBrokenUpload(t *testing.T) {
	e := start(t, t.TempDir())
	w := e.connect(t)
	w.send(t, e.head(t, e.Operator, "PUT", "/larder/x")+"Content-Length: 1000000\r\n\r\n"+strings.Repeat("x", 500_000))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if got := e.size(t, "x"); got != -1 {
		t.Errorf("an object of %d bytes", got)
	}
	if got := e.notified(); len(got) != 0 {
		t.Errorf("notified of %q", got)
	}
}

// comeFrom is a header that stands for the address from which a request comes.
const comeFrom = "X-Test-Address"

// A source that has all that there may be under way makes room for another one:
// what is ended says so where it still can, and holds on to nothing.
func TestDoorMakesRoom(t *testing.T) {
	e := start(t, t.TempDir())
	large := strings.Repeat("0123456789abcdef", 1<<20) // more than lies in buffers
	put(t, e.Client(e.Root), "large", large)
	address, err := socket.Address(e.dir.Path(datadir.S3Socket))
	if err != nil {
		t.Fatal(err)
	}
	door := newDoor(e.Keys, &e.issuer, front.NewSlots(2, 2), inside{address}, slog.New(slog.NewTextHandler(e.log, nil)))
	var under atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		under.Add(1)
		defer under.Add(-1)
		r.RemoteAddr = r.Header.Get(comeFrom) + ":1"
		door.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	begin := func(from, method, rest string) wire {
		t.Helper()
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		w := wire{conn, bufio.NewReader(conn)}
		w.send(t, e.head(t, e.Operator, method, "/larder/large", comeFrom, from)+rest)
		return w
	}
	beginUpload := func(from string) wire {
		t.Helper()
		w := begin(from, "PUT", "Content-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
		if line, err := w.answers.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("no leave to send: %q, %v", line, err)
		}
		if _, err := w.answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		w.send(t, "x")
		return w
	}
	upload := beginUpload("192.0.2.1")
	download := begin("192.0.2.1", "GET", "\r\n")
	if _, err := download.answers.ReadByte(); err != nil { // and no more
		t.Fatal(err)
	}
	third := begin("192.0.2.1", "GET", "\r\n")
	if response, body := third.receive(t, "GET"); response.StatusCode != 503 || !strings.Contains(body, "SlowDown") || response.Header.Get("Retry-After") != "1" {
		t.Errorf("a third of the same source: %s %s", response.Status, body)
	}
	other := begin("192.0.2.2", "GET", "\r\n")
	if response, body := other.receive(t, "GET"); response.StatusCode != 200 || body != large {
		t.Errorf("another source: %s, %d bytes", response.Status, len(body))
	}
	if response, body := upload.receive(t, "PUT"); response.StatusCode != 503 || !strings.Contains(body, "SlowDown") {
		t.Errorf("the one that was ended: %s %s", response.Status, body)
	}
	again := beginUpload("192.0.2.1")
	if response, body := begin("192.0.2.3", "GET", "\r\n").receive(t, "GET"); response.StatusCode != 200 || body != large {
		t.Errorf("a third source: %s, %d bytes", response.Status, len(body))
	}
	poll(t, "one is under way", func() bool { return under.Load() == 1 })
	if n, err := io.Copy(io.Discard, download.answers); err == nil && n >= int64(len(large)) {
		t.Errorf("what was ended came whole: %d bytes", n)
	}
	_ = again.Close()
	poll(t, "none is under way", func() bool { return under.Load() == 0 })
	if got := e.size(t, "large"); got != int64(len(large)) {
		t.Errorf("the object has %d bytes", got)
	}
	if log := e.log.String(); strings.Contains(log, "did not answer") {
		t.Errorf("logged: %s", log)
	}
}

// Nobody else reaches the endpoint itself.
func TestSocketIsPrivate(t *testing.T) {
	e := start(t, t.TempDir())
	info, err := os.Stat(e.dir.Path("s3.sock"))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("%v, %v", info, err)
	}
	e.stop(t)
	if _, err := os.Stat(e.dir.Path("s3.sock")); err == nil {
		t.Error("it is left behind")
	}
}

// Who asks whether to send an upload at all may be told that it is refused, and sends
// nothing: neither side waits for the other.
func TestRefusedUploadIsAnsweredAtOnce(t *testing.T) {
	e := start(t, t.TempDir())
	conn := e.connect(t)
	conn.send(t, e.head(t, e.Operator, "PUT", "/larder/registry/x")+"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
	response, body := conn.receive(t, "PUT")
	if response.StatusCode == http.StatusContinue {
		response, body = conn.receive(t, "PUT")
	}
	if response.StatusCode != http.StatusLengthRequired || !strings.Contains(body, "<Code>MissingContentLength</Code>") {
		t.Errorf("%d: %s", response.StatusCode, body)
	}
}
