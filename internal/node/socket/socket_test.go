package socket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/control"
)

// handler answers by a function.
type handler func(context.Context, control.Request) control.Answer

func (h handler) Handle(ctx context.Context, r control.Request) control.Answer { return h(ctx, r) }

// echo answers with the cursor that it is asked with.
var echo = handler(func(_ context.Context, r control.Request) control.Answer {
	if r.Reindex == nil {
		return control.Answer{Error: "it is not to be"}
	}
	return control.Answer{Walked: &control.Walked{Next: r.Reindex.After}}
})

func reindex(after string) control.Request {
	return control.Request{Reindex: &control.Reindex{Part: control.Part{After: after}}}
}

// serve answers at a socket until the test ends, or until stop is called.
func serve(t *testing.T, path string, h Handler) (stop func() error) {
	t.Helper()
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceValue(Serve(listener, h, nil, slog.New(slog.DiscardHandler)).Close)
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return stop
}

func newPath(t *testing.T) string { return filepath.Join(t.TempDir(), "s") }

// A file is handed out unchanged; a missing one is an error.
func TestFetch(t *testing.T) {
	path := newPath(t)
	if _, _, err := Fetch(t.Context(), path, "one"); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody: %v", err)
	}
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	server := Serve(listener, echo, Files{
		"one": func(_ context.Context, path string) error { return os.WriteFile(path, []byte("its content"), 0o600) },
		"bad": func(context.Context, string) error { return errors.New("it cannot be read") },
	}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	body, size, err := Fetch(t.Context(), path, "one")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if content, err := io.ReadAll(body); err != nil || string(content) != "its content" || size != int64(len(content)) {
		t.Errorf("%q of %d bytes, %v", content, size, err)
	}
	for name, says := range map[string]string{"bad": "it cannot be read", "two": "requests are made by POST"} {
		want := "the server does not hand out " + name + ", and may be of another version than the command: " + says
		if _, _, err := Fetch(t.Context(), path, name); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	answerWith(t, path+"2", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut short")
	cut, _, err := Fetch(t.Context(), path+"2", "one")
	if err != nil {
		t.Fatal(err)
	}
	defer cut.Close()
	if _, err := io.ReadAll(cut); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is cut short: %v", err)
	}
}

// Two who ask at once are answered at once: each waits for the other's request.
func TestTwoClients(t *testing.T) {
	path := newPath(t)
	var both sync.WaitGroup
	both.Add(2)
	serve(t, path, handler(func(ctx context.Context, r control.Request) control.Answer {
		both.Done()
		both.Wait()
		return echo(ctx, r)
	}))
	var clients sync.WaitGroup
	for _, after := range []string{"one", "two"} {
		clients.Go(func() {
			answer, err := Ask(t.Context(), path, reindex(after))
			if err != nil || answer.Walked == nil || answer.Walked.Next != after {
				t.Errorf("%s: %+v, %v", after, answer, err)
			}
		})
	}
	clients.Wait()
}

func TestErrorOfTheHandler(t *testing.T) {
	path := newPath(t)
	serve(t, path, echo)
	if answer, err := Ask(t.Context(), path, control.Request{}); err != nil || answer.Error != "it is not to be" {
		t.Errorf("%+v, %v", answer, err)
	}
}

func TestPermissions(t *testing.T) {
	path := newPath(t)
	serve(t, path, echo)
	info, err := os.Stat(path)
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNobody(t *testing.T) {
	path := newPath(t)
	if _, err := Ask(t.Context(), path, reindex("")); !errors.Is(err, ErrNobody) {
		t.Errorf("no socket: %v", err)
	}
	leaveStale(t, path)
	if _, err := Ask(t.Context(), path, reindex("")); !errors.Is(err, ErrNobody) {
		t.Errorf("a stale socket: %v", err)
	}
}

// leaveStale leaves the socket of a killed process.
func leaveStale(t *testing.T, path string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := newPath(t)
	leaveStale(t, path)
	stop := serve(t, path, echo)
	if _, err := Ask(t.Context(), path, reindex("")); err != nil {
		t.Error(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after a stop: %v", err)
	}
}

// A path that is too long is used as it is from the working directory.
func TestLongPaths(t *testing.T) {
	folder := filepath.Join(t.TempDir(), strings.Repeat("l", maxPath))
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "s")
	want := fmt.Sprintf("has %d bytes", len(path))
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("listen: %v, want %q", err, want)
	}
	if _, err := Ask(t.Context(), path, reindex("")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("ask: %v, want %q", err, want)
	}
	t.Chdir(folder)
	serve(t, path, echo)
	if _, err := Ask(t.Context(), path, reindex("")); err != nil {
		t.Error(err)
	}
}

// raw sends what is no request of this package's.
func raw(t *testing.T, path, method string, body io.Reader) (status int, answer string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) },
	}}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://larder/", body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

func TestRefused(t *testing.T) {
	path := newPath(t)
	serve(t, path, handler(func(context.Context, control.Request) control.Answer {
		t.Error("the handler was asked")
		return control.Answer{}
	}))
	large := `{"reindex":{"after":"` + strings.Repeat("x", maxRequest) + `"}}`
	for name, test := range map[string]struct {
		method, body string
		status       int
		says         string
	}{
		"another method":  {http.MethodGet, "", http.StatusMethodNotAllowed, "POST"},
		"nothing":         {http.MethodPost, "", http.StatusBadRequest, "EOF"},
		"not JSON":        {http.MethodPost, "reindex", http.StatusBadRequest, "invalid character"},
		"unknown field":   {http.MethodPost, `{"explode":{}}`, http.StatusBadRequest, "explode"},
		"unknown below":   {http.MethodPost, `{"reindex":{"fast":true}}`, http.StatusBadRequest, "fast"},
		"two requests":    {http.MethodPost, `{"reindex":{}}{"reindex":{}}`, http.StatusBadRequest, "follows"},
		"too large":       {http.MethodPost, large, http.StatusBadRequest, "too large"},
		"too large later": {http.MethodPost, `{"reindex":{}}` + strings.Repeat(" ", maxRequest), http.StatusBadRequest, "follows"},
	} {
		status, answer := raw(t, path, test.method, strings.NewReader(test.body))
		if status != test.status || !strings.Contains(answer, test.says) || !strings.HasPrefix(answer, `{"error":`) {
			t.Errorf("%s: %d %s, want %d and %q", name, status, answer, test.status, test.says)
		}
	}
}

// A stop ends the request that is under way, waits for it, and leaves nothing.
func TestStopWhileARequestRuns(t *testing.T) {
	path := newPath(t)
	before := runtime.NumGoroutine()
	begun, ended := make(chan struct{}), false
	stop := serve(t, path, handler(func(ctx context.Context, _ control.Request) control.Answer {
		close(begun)
		<-ctx.Done()
		ended = true
		return control.Answer{Walked: &control.Walked{}} // as if all were done
	}))
	asked := make(chan error, 1)
	go func() {
		_, err := Ask(t.Context(), path, reindex(""))
		asked <- err
	}()
	<-begun
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !ended {
		t.Error("the request still runs")
	}
	if err := <-asked; err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("who asked got %v", err)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines more than before", runtime.NumGoroutine()-before)
		}
	}
}

// Who no longer waits for an answer ends the request.
func TestClientLeaves(t *testing.T) {
	path := newPath(t)
	begun, ended := make(chan struct{}), make(chan struct{})
	serve(t, path, handler(func(ctx context.Context, _ control.Request) control.Answer {
		close(begun)
		<-ctx.Done()
		close(ended)
		return control.Answer{}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	if _, err := Ask(ctx, path, reindex("")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-ended
}

// answerWith answers at a socket with bytes of its own.
func answerWith(t *testing.T, path, answer string) {
	t.Helper()
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
			_, _ = io.WriteString(conn, answer)
		}
	}()
}

func TestBadAnswers(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: "
	for name, test := range map[string]struct{ answer, says string }{
		"none":      {"", "EOF"},
		"cut short": {head + "100\r\n\r\n{", "unexpected EOF"},
		"not JSON":  {head + "2\r\n\r\nhi", "cannot be read"},
		"too large": {fmt.Sprintf("%s%d\r\n\r\n%s", head, maxAnswer+1, bytes.Repeat([]byte(" "), maxAnswer+1)), "larger than"},
	} {
		path := newPath(t)
		answerWith(t, path, test.answer)
		if _, err := Ask(t.Context(), path, reindex("")); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"standing":{"address":"acme/widget","version":"1.0.0","state":"deprecated","message":"no"}}`))
	f.Add([]byte(`{"verify":{"after":"records:registry/","quick":true}}`))
	f.Add([]byte(`{"rotate":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		request, err := readRequest(bytes.NewReader(data))
		if err != nil && request != (control.Request{}) {
			t.Errorf("%v, and yet %+v", err, request)
		}
	})
}
