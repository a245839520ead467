package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/settings"
)

// healthOf is what a stranger is answered, in one line.
func healthOf(t *testing.T, client *http.Client, method, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, body := answer(t, client, request)
	return fmt.Sprintf("%d%v%v%v %s", response.StatusCode, response.Header["Allow"], response.Header["Content-Type"], response.Header["Cache-Control"], body)
}

const (
	healthy   = "200[][text/plain; charset=utf-8][no-store] ok\n"
	unhealthy = "503[][text/plain; charset=utf-8][no-store] not ready: "
)

// Whoever asks learns whether the node is ready, without a token, and which part of it
// is not. No line of the log says that they asked.
func TestHealth(t *testing.T) {
	set := localSettings(t)
	set.Auth = settings.AuthRequired
	n := &node{settings: set, healthLasts: time.Millisecond}
	r := startNode(t, n)
	client, at := r.client(t), "https://"+r.env(t, "LARDER_HOST")
	for question, want := range map[string]string{
		"GET /healthz":         healthy,
		"GET /healthz/live":    healthy,
		"GET /healthz/ready":   healthy,
		"HEAD /healthz/ready":  strings.TrimSuffix(healthy, "ok\n"),
		"POST /healthz/ready":  "405[GET, HEAD][text/plain; charset=utf-8][no-store] ",
		"GET /healthz/ready?x": healthy,
	} {
		method, path, _ := strings.Cut(question, " ")
		if got := healthOf(t, client, method, at+path); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
	if strings.Contains(r.log.String(), "healthz") {
		t.Errorf("logged:\n%s", r.log)
	}
	if got := healthOf(t, client, "GET", at+"/healthz/"); !strings.Contains(got, `{"errors":[`) {
		t.Errorf("another path: %s", got)
	}
	away := func(file string) (back func()) {
		path := filepath.Join(set.Data, file)
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
		}
	}
	becomes := func(want string) {
		t.Helper()
		eventually(t, func() error {
			if got := healthOf(t, client, "GET", at+readyPath); got != want {
				return fmt.Errorf("%q, want %q\n%s", got, want, r.log)
			}
			return nil
		})
		if got := healthOf(t, client, "GET", at+livePath); got != healthy {
			t.Errorf("live: %q", got)
		}
	}
	back := away(datadir.S3Socket)
	becomes(unhealthy + "bucket\n")
	back()
	becomes(healthy)
	back = away(datadir.SigningKey)
	becomes(unhealthy + "signing-key\n")
	back()
	becomes(healthy)
	if err := n.access.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(unhealthy + "tokens\n")
	if err := n.catalog.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(unhealthy + "catalog\n")
	for _, want := range []string{`level=ERROR msg="not ready" part=bucket error=`, `level=INFO msg="ready again"`, `level=ERROR msg="not ready" part=catalog error=`,
		`: put it back from a backup, or restart the server, which makes a new key`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, r.log)
		}
	}
}

// However many ask, the parts are looked at once a second; and who goes away takes
// nothing from the others.
func TestHealthIsCheap(t *testing.T) {
	var looks atomic.Int64
	var broken error
	h := &health{lasts: healthLasts, logger: slog.New(slog.DiscardHandler), parts: []vital{{"part", func(ctx context.Context) error {
		looks.Add(1)
		if end, ok := ctx.Deadline(); !ok || time.Until(end) > healthTimeout {
			t.Error("a look takes as long as it likes")
		}
		time.Sleep(10 * time.Millisecond)
		return errors.Join(broken, ctx.Err())
	}}}}
	gone, leave := context.WithCancel(t.Context())
	leave()
	ask := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", readyPath, nil).WithContext(gone))
		return w.Code
	}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if got := ask(); got != http.StatusOK {
				t.Errorf("%d", got)
			}
		})
	}
	all.Wait()
	if broken = errors.New("broken"); looks.Load() != 1 || ask() != http.StatusOK {
		t.Errorf("%d looks within a second", looks.Load())
	}
	h.looked = h.looked.Add(-healthLasts)
	if got := ask(); got != http.StatusServiceUnavailable || looks.Load() != 2 {
		t.Errorf("%d after %d looks", got, looks.Load())
	}
}
