package netmirror

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestParseBase(t *testing.T) {
	for text, want := range map[string][2]string{
		"larder.example.com":                     {"https://larder.example.com/v1/mirror/", "larder.example.com"},
		"https://Larder.Example.com/":            {"https://larder.example.com/v1/mirror/", "larder.example.com"},
		"127.0.0.1:8443":                         {"https://127.0.0.1:8443/v1/mirror/", "127.0.0.1:8443"},
		"larder.example.com:443":                 {"https://larder.example.com/v1/mirror/", "larder.example.com"},
		"bücher.example":                         {"https://xn--bcher-kva.example/v1/mirror/", "xn--bcher-kva.example"},
		"https://mirror.example.com/providers":   {"https://mirror.example.com/providers/", "mirror.example.com"},
		"https://mirror.example.com:8443/a/b/":   {"https://mirror.example.com:8443/a/b/", "mirror.example.com:8443"},
		"mirror.example.com/providers/":          {"https://mirror.example.com/providers/", "mirror.example.com"},
		"http://larder.example.com":              {},
		"ftp://larder.example.com":               {},
		"https://user:secret@larder.example.com": {},
		"larder.example.com/?a=b":                {},
		"larder.example.com/#a":                  {},
		"":                                       {},
		"https://":                               {},
		"a b":                                    {},
		"larder.example.com/%zz":                 {},
	} {
		base, host, err := ParseBase(text)
		if want[0] == "" {
			if err == nil {
				t.Errorf("%q is read as %s", text, base)
			}
			continue
		}
		if err != nil || base.String() != want[0] || host != want[1] {
			t.Errorf("%q: %v, %q, %v", text, base, host, err)
		}
	}
}

// mirror answers as a test wants, by path.
type mirror map[string]http.HandlerFunc

const token = "the-token"

// start starts a mirror under /m/ that answers only who has the token; archives,
// under /a/, answer only who does not show it.
func (m mirror) start(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		switch handler := m[r.URL.Path]; {
		case strings.HasPrefix(r.URL.Path, "/a/") && got != "", strings.HasPrefix(r.URL.Path, "/m/") && got != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case handler == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			handler(w, r)
		}
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL + "/m/")
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Base: base, Token: token, Transport: server.Client().Transport})
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func leadsTo(location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, location, http.StatusFound) }
}

func address(t *testing.T) (registry.ProviderAddress, registry.Version) {
	t.Helper()
	a, err := registry.ParseMirroredAddress("registry.terraform.io", "hashicorp", "time")
	if err != nil {
		t.Fatal(err)
	}
	return a, registrytest.Version(t, "1.0.0")
}

const folder = "/m/registry.terraform.io/hashicorp/time/"

func TestMirror(t *testing.T) {
	a, v := address(t)
	c := mirror{
		folder + "index.json": says(`{"versions": {"1.10.0": {}, "1.9.0": {"later": 1}, "v2": {}, "1.0.0-rc.1": null}}`),
		folder + "1.0.0.json": leadsTo("/m/elsewhere/1.0.0.json"),
		"/m/elsewhere/1.0.0.json": says(`{"archives": {"linux_amd64": {"url": "/a/linux.zip?signature=s", "hashes": ["h1:x", "zh:y"]},
			"Plan 9": {"url": ""}, "darwin_arm64": {"url": "darwin.zip"}}}`),
		"/a/linux.zip": says("a zip"),
	}.start(t)
	versions, err := c.Versions(t.Context(), a)
	if err != nil || fmt.Sprint(versions) != "[1.0.0-rc.1 1.9.0 1.10.0]" {
		t.Errorf("%v, %v", versions, err)
	}
	archives, err := c.Archives(t.Context(), a, v)
	if err != nil || len(archives) != 2 {
		t.Fatalf("%+v, %v", archives, err)
	}
	if got := archives[0]; got.Platform.String() != "darwin_arm64" || !strings.HasSuffix(got.url.String(), "/m/elsewhere/darwin.zip") || len(got.Hashes) != 0 {
		t.Errorf("%+v", got)
	}
	if got := archives[1]; got.Platform.String() != "linux_amd64" || fmt.Sprint(got.Hashes) != "[h1:x zh:y]" {
		t.Errorf("%+v", got)
	}
	var content bytes.Buffer
	var told int64
	var seen bytes.Buffer
	hash, size, err := c.Download(t.Context(), archives[1], &content, func(size int64) io.Writer { told = size; return &seen })
	if sum := sha256.Sum256([]byte("a zip")); err != nil || content.String() != "a zip" || size != 5 || told != 5 || seen.String() != "a zip" || hash != hex.EncodeToString(sum[:]) {
		t.Errorf("%q, %s, %d, %d, %v", &content, hash, size, told, err)
	}
	if _, _, err := c.Download(t.Context(), archives[1], failing{}, func(int64) io.Writer { return io.Discard }); !errors.Is(err, errFull) {
		t.Errorf("nowhere to write: %v", err)
	}
}

var errFull = errors.New("no space left")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestMirrorFails(t *testing.T) {
	a, v := address(t)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"not there":     {nil, registry.ErrNotFound.Error()},
		"no token":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "a token may be missing"},
		"down":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "502"},
		"not JSON":      {says("<html>"), "not a document of a provider network mirror"},
		"not an object": {says(`{"archives": [], "versions": []}`), "not a document of a provider network mirror"},
		"too long":      {says(strings.Repeat(" ", maxDocument+1)), "more than"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "{")
		}, "breaks off"},
		"away":  {leadsTo("http://127.0.0.1:1/"), "away from https"},
		"round": {leadsTo(folder + "index.json"), "redirects more than"},
	} {
		c := mirror{folder + "index.json": test.handler, folder + "1.0.0.json": test.handler}.start(t)
		_, err := c.Versions(t.Context(), a)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), folder+"index.json") {
			t.Errorf("%s: versions: %v, want %q", name, err, test.want)
		}
		if _, err := c.Archives(t.Context(), a, v); name != "round" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: archives: %v, want %q", name, err, test.want)
		}
	}
	for _, link := range []string{"", "file:///etc/passwd", "https://a b/", "https:///a", "https://\u009b31m.invalid/"} {
		c := mirror{folder + "1.0.0.json": says(`{"archives": {"linux_amd64": {"url": "` + link + `"}}}`)}.start(t)
		if archives, err := c.Archives(t.Context(), a, v); err == nil {
			t.Errorf("the URL %q is read: %+v", link, archives)
		}
	}
}

func TestDownloadFails(t *testing.T) {
	a, v := address(t)
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"not there": {nil, registry.ErrNotFound.Error()},
		"expired":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "403"},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "a")
		},
			"breaks off after 1 bytes"},
	} {
		c := mirror{
			folder + "1.0.0.json": says(`{"archives": {"linux_amd64": {"url": "/a/linux.zip?signature=s"}}}`),
			"/a/linux.zip":        test.handler,
		}.start(t)
		archives, err := c.Archives(t.Context(), a, v)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = c.Download(t.Context(), archives[0], new(bytes.Buffer), func(int64) io.Writer { return io.Discard })
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "/a/linux.zip:") || strings.Contains(err.Error(), "signature") {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// A terminal does not get the words of a mirror beside its documents.
func TestReasonOfAStatus(t *testing.T) {
	a, _ := address(t)
	c := mirror{folder + "index.json": func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		fmt.Fprint(conn, "HTTP/1.1 500 \x1b]0;x\a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		_ = conn.Close()
	}}.start(t)
	if _, err := c.Versions(t.Context(), a); err == nil || !strings.HasSuffix(err.Error(), "it answers 500 Internal Server Error") {
		t.Errorf("the error is %q", err)
	}
}

// Another host gets no token, though the mirror leads to it.
func TestTokenStaysAtHome(t *testing.T) {
	var got http.Header
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		fmt.Fprint(w, `{"versions": {}}`)
	}))
	defer other.Close()
	a, _ := address(t)
	c := mirror{folder + "index.json": leadsTo(other.URL)}.start(t)
	if _, err := c.Versions(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got == nil || got.Get("Authorization") != "" {
		t.Errorf("the other host got %v", got)
	}
}
