package locals3

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/logtest"
)

// downloadLines are the lines of downloads, without what differs from run to run.
func downloadLines(log *logtest.Log) (lines []string) {
	always := regexp.MustCompile(`time=\S+ level=INFO msg=download | duration=\S+`)
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "msg=download") {
			lines = append(lines, strings.TrimSpace(always.ReplaceAllString(line, "")))
		}
	}
	return lines
}

// Each download has a line: which object, how much of it, and to whom.
func TestDownloadsAreLogged(t *testing.T) {
	e := start(t, t.TempDir())
	root := e.Client(e.Root)
	version := put(t, root, "registry/a b.zip", "0123456789")
	request, err := s3.NewPresignClient(root).PresignGetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String(Bucket), Key: aws.String("registry/a b.zip"), VersionId: &version}, s3.WithPresignExpires(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"", "Range", "X-Forwarded-For"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, request.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set(header, map[string]string{"Range": "bytes=2-4", "X-Forwarded-For": "2001:db8::7"}[header])
		}
		response, err := e.outside.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	e.request(t, http.MethodGet, request.URL+"&archive=zip") // which clients add that S3 does not know of
	for _, other := range []string{"HEAD " + request.URL, "GET " + e.url + "/larder?list-type=2", "GET " + e.url + "/larder/x?tagging", "GET " + e.url + "/larder/", "PUT " + request.URL} {
		method, url, _ := strings.Cut(other, " ")
		e.request(t, method, url)
	}
	want := []string{
		`key="registry/a b.zip" status=200 bytes=10 client=127.0.0.1`,
		`key="registry/a b.zip" status=206 bytes=3 client=127.0.0.1`,
		`key="registry/a b.zip" status=200 bytes=10 client=2001:db8::7`,
		`key="registry/a b.zip" status=403 bytes=`,
	}
	poll(t, "four lines", func() bool { return len(downloadLines(e.log)) >= len(want) })
	lines := downloadLines(e.log)
	for i, line := range lines {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) || i < 3 && line != want[i] {
			t.Errorf("line %d is %s\nwant %s", i, line, strings.Join(want, "\n"))
		}
	}
	if strings.Contains(e.log.String(), "Amz") {
		t.Errorf("a query is in the log:\n%s", e.log)
	}
}

// What ends early says so, and what is refused does not fill the log.
func TestDownloadsThatFailAreLogged(t *testing.T) {
	log := &logtest.Log{}
	answer := func(do http.HandlerFunc, target string) {
		defer func() { _ = recover() }()
		r := httptest.NewRequest("GET", target, nil)
		r.RemoteAddr = "[2001:db8::7]:1"
		newDownloads(do, slog.New(slog.NewTextHandler(log, nil))).ServeHTTP(httptest.NewRecorder(), r)
	}
	answer(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	}, "/larder/x")
	answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "/larder/"+strings.Repeat("k", 1025))
	want := []string{
		"key=x status=200 bytes=4 client=2001:db8::7 broken_off=true",
		"key=" + strings.Repeat("k", 1024) + " status=503 bytes=0 client=2001:db8::7",
	}
	if got := downloadLines(log); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
	quiet := newDownloads(http.NotFoundHandler(), slog.New(slog.NewTextHandler(log, nil)))
	for range 1000 {
		quiet.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/larder/refused", nil))
	}
	if got := strings.Count(log.String(), "key=refused"); got < 20 || got > 30 {
		t.Errorf("%d lines of a thousand that were refused", got)
	}
}
