package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// newBolt is an empty catalog, as a node has it.
func newBolt(tb testing.TB) catalog.Index {
	tb.Helper()
	c, err := boltcatalog.Open(filepath.Join(tb.TempDir(), "catalog.db"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// shown is all of an answer that a client sees.
type shown struct {
	status int
	header http.Header
	body   string
}

func show(tb testing.TB, h http.Handler, method, path string, headers ...string) shown {
	tb.Helper()
	r := ask(tb, h, method, path, headers...)
	return shown{r.StatusCode, r.Header, body(tb, r)}
}

// keeping is how many answers a handler keeps, and in how many bytes.
func keeping(h http.Handler) (entries, bytes int) {
	return h.(*handler).kept.answers.Used()
}

// askings are the ways to ask for a path.
var askings = []struct {
	method  string
	headers []string
}{
	{"GET", nil}, {"HEAD", nil}, {"GET", []string{"Accept-Encoding", "gzip"}}, {"HEAD", []string{"Accept-Encoding", "gzip"}},
	{"GET", []string{"X-Terraform-Version", "1.13.5"}}, {"GET", nil},
}

// A kept answer is the answer that a handler makes which has kept nothing.
func TestKeptAnswersAreAsMade(t *testing.T) {
	for name, index := range map[string]*memory{"small": newMemory(t), "large": large(t, 400, 12), "with standings": withStandings(t)} {
		h := New(open(index))
		for range 2 {
			for _, path := range everyRoute {
				for _, as := range askings {
					want := show(t, New(open(index)), as.method, path, as.headers...)
					if got := show(t, h, as.method, path, as.headers...); !reflect.DeepEqual(got, want) || got.status >= 400 {
						t.Errorf("%s: %s %s %q is answered\n%+v, want\n%+v", name, as.method, path, as.headers, got, want)
					}
				}
			}
		}
		if entries, _ := keeping(h); entries != len(withToken()) {
			t.Errorf("%s: %d answers are kept, of %d routes", name, entries, len(withToken()))
		}
	}
}

// Every answer is of what the catalog has at that moment: after each change, also of other
// versions, a handler that keeps answers says what a new one says.
func TestTheNextAnswerIsTheNewOne(t *testing.T) {
	index := newBolt(t)
	h := New(open(index))
	m := registry.ModuleVersion{
		Address: module, Version: registrytest.Version(t, "1.2.0+build.5"),
		Archive: registry.ModuleArchive{Format: "tar.gz", SHA256: "a1c4e5", Source: "https://example.com/vpc"},
	}
	p := newMemory(t).provider
	put := func() error {
		m.Revision++
		p.Revision++
		return errors.Join(catalogtest.Put(t.Context(), index, m), catalogtest.Put(t.Context(), index, p))
	}
	paths := append(withToken(), "/v1/modules/acme/vpc/aws/1.2.0/download", "/v1/providers/acme/widget/1.0.0/download/windows/amd64", "/v1/providers/acme/widget/1.1.0/download/linux/amd64")
	last := map[string]shown{}
	for _, change := range []struct {
		what    string
		make    func() error
		changes []int // of paths
	}{
		{"nothing", func() error { return nil }, nil},
		{"publish", put, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		{"publish again", put, nil},
		{"publish another version", func() error {
			other, module := p, m
			other.Version, other.Revision = registrytest.Version(t, "1.1.0"), 4
			module.Version = registrytest.Version(t, "1.3.0")
			return errors.Join(catalogtest.Put(t.Context(), index, module), catalogtest.Put(t.Context(), index, other))
		}, []int{0, 2, 4, 6, 7, 8, 9, 11, 13, 14, 15, 16, 19}},
		{"deprecate", func() error {
			m.Standing = registry.Standing{State: registry.Deprecated, Message: "use 2.0.0"}
			p.Standing = m.Standing
			return put()
		}, []int{0, 2, 7, 8, 9, 11, 13, 14, 15, 16}},
		{"withdraw", func() error {
			m.Standing.State, p.Standing.State = registry.Withdrawn, registry.Withdrawn
			return put()
		}, []int{0, 2, 4, 7, 8, 9, 11, 13, 14, 15, 16}},
		{"restore", func() error {
			m.Standing, p.Standing = registry.Standing{}, registry.Standing{}
			return put()
		}, []int{0, 2, 4, 7, 8, 9, 11, 13, 14, 15, 16}},
		{"sign another package", func() error {
			release := *p.Release
			release.SHA256, release.Sequence = "d5", 6
			p.Release = &release
			return put()
		}, []int{2, 3, 5, 8, 16, 18}},
		{"remove", func() error {
			seen := func(revision int) catalog.Seen { return catalog.Seen{State: revision, Listed: revision} }
			return errors.Join(index.Remove(t.Context(), m.Subject(), seen(m.Revision)), index.Remove(t.Context(), p.Subject(), seen(p.Revision)))
		}, []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18}},
		{"rebuild", put, []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18}},
	} {
		if err := change.make(); err != nil {
			t.Fatal(change.what, err)
		}
		var changed []int
		for i, path := range paths {
			want := show(t, New(open(index)), "GET", path)
			for range 2 {
				if got := show(t, h, "GET", path); !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s is answered\n%+v, want\n%+v", change.what, path, got, want)
				}
			}
			if before, asked := last[path]; asked && !reflect.DeepEqual(before, want) {
				changed = append(changed, i)
			}
			last[path] = want
		}
		if !slices.Equal(changed, change.changes) {
			t.Errorf("%s changes %v, want %v", change.what, changed, change.changes)
		}
	}
}

// Who may not read what is kept is answered as if nothing were kept.
func TestKeptAnswersAreForThoseWhoMayRead(t *testing.T) {
	config, tokens := closedWith(newMemory(t), io.Discard)
	h := New(config)
	for _, path := range withToken() {
		if got := show(t, h, "GET", path, "Authorization", "Bearer "+goodToken); got.status >= 400 {
			t.Fatalf("%s: %+v", path, got)
		}
	}
	before, _ := keeping(h)
	for name, headers := range map[string][]string{
		"no token": nil, "an unknown token": {"Authorization", "Bearer " + unknownToken},
		"another scope":    {"Authorization", "Bearer " + tokens.issue(t, time.Minute, "read modules:other/*")},
		"an expired token": {"Authorization", "Bearer " + tokens.issue(t, -time.Second, "read *")},
	} {
		status := http.StatusUnauthorized
		if name == "another scope" {
			status = http.StatusNotFound
		}
		for _, path := range withToken() {
			for _, more := range [][]string{nil, {"If-None-Match", "*"}, {"If-None-Match", show(t, h, "GET", path, "Authorization", "Bearer "+goodToken).header.Get("Etag")}} {
				got, want := show(t, h, "GET", path, append(more, headers...)...), show(t, New(config), "GET", path, headers...)
				if got.status != status || !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s is answered %+v, want %+v", name, path, got, want)
				}
			}
		}
	}
	if after, _ := keeping(h); after != before {
		t.Errorf("%d answers are kept, and then %d", before, after)
	}
}

// An error is not kept: the next answer is right.
func TestErrorsAreNotKept(t *testing.T) {
	for _, path := range withToken() {
		index := newMemory(t)
		h := New(open(index))
		want := show(t, New(open(newMemory(t))), "GET", path)
		for _, err := range []error{errors.New("broken"), registry.ErrNotFound} {
			index.err = err
			if got := show(t, h, "GET", path); got.status < 400 {
				t.Errorf("%s is answered %+v", path, got)
			}
		}
		index.err, index.damaged = nil, true
		if got := show(t, h, "GET", path); got.status != 500 {
			t.Errorf("%s, which is damaged, is answered %+v", path, got)
		}
		if entries, used := keeping(h); entries+used > 0 {
			t.Errorf("%s: %d errors are kept", path, entries)
		}
		index.damaged = false
		if got := show(t, h, "GET", path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is answered %+v, want %+v", path, got, want)
		}
	}
	for _, path := range []string{everyRoute[2], everyRoute[4], everyRoute[6]} {
		config := open(newMemory(t))
		config.Presigner = &failing{n: 1}
		h := New(config)
		if first, second := show(t, h, "GET", path), show(t, h, "GET", path); first.status != 500 || second.status >= 300 {
			t.Errorf("%s: with a URL that could not be made, the answers are %d and %d", path, first.status, second.status)
		}
	}
}

// What an origin has is asked for each time: nothing in the catalog says whether it changed.
func TestAnswersOfOriginsAreNotKept(t *testing.T) {
	o := &origins{}
	config := open(newMemory(t))
	config.Origins = o
	h := New(config)
	for _, path := range []string{everyRoute[5], everyRoute[6]} {
		for range 2 {
			if got := show(t, h, "GET", path); got.status != 200 {
				t.Errorf("%s: %+v", path, got)
			}
		}
	}
	if entries, _ := keeping(h); entries > 0 || o.asked != 4 {
		t.Errorf("%d answers are kept, and the origin was asked %d times", entries, o.asked)
	}
}

// A list that is empty since all versions are withdrawn is no missing provider, also where
// the origin has nothing.
func TestAllMirroredVersionsWithdrawn(t *testing.T) {
	index := newMemory(t)
	for i := range index.providerVersions {
		index.providerVersions[i].Standing.State = registry.Withdrawn
	}
	for _, o := range []Origins{nil, &origins{}} {
		config := open(index)
		config.Origins = o
		if got := show(t, New(config), "GET", everyRoute[5]); got.status != 200 || got.body != `{"versions":{}}`+"\n" {
			t.Errorf("with %v: %+v", o, got)
		}
	}
}

// blob is an answer of a size.
type blob int

func (b blob) size() int { return int(b) }

// What an answer takes is its own bytes, the stored bytes, and the request.
func TestKeptSize(t *testing.T) {
	request := Request{Route: ModuleVersions, Module: registry.ModuleAddress{Namespace: "acme"}}
	k := newKept(1 << 20)
	for _, tt := range []struct {
		stored string
		answer blob
	}{{"first", 100}, {"second", 1}} {
		k.put(request, []byte(tt.stored), tt.answer)
		entries, used := k.answers.Used()
		if k.get(request, []byte(tt.stored)) != tt.answer || k.get(request, nil) != nil || entries != 1 || used != entryOverhead+len("acme")+len(tt.stored)+int(tt.answer) {
			t.Errorf("%s: %d answers in %d bytes", tt.stored, entries, used)
		}
	}
	large := newDocument([]byte(strings.Repeat("x", 1<<20)))
	for a, want := range map[answer]int{
		large: len(large.packed), newDocument([]byte("small")): 5, moduleArchive{"key", "query"}: 8,
		&template{pieces: [][]byte{[]byte("one"), []byte("two")[:3:3]}, keys: []string{"key"}}: 3 + 24 + 3 + 24 + 3 + 16,
	} {
		if size := a.size(); size > want+want/8+32 || size < want {
			t.Errorf("%T has %d bytes, want %d", a, size, want)
		}
	}
}

// What is kept of a request is no part of its URL, which may be long.
func TestKeptRequestsAreDetached(t *testing.T) {
	const path = "/v1/providers/acme/widget/1.0.0/download/linux/amd64"
	line := path + "?" + strings.Repeat("x", 1<<20)
	r, err := Parse("GET", line[:len(path)])
	if err != nil {
		t.Fatal(err)
	}
	own := r.detached()
	if own != r {
		t.Errorf("%+v becomes %+v", r, own)
	}
	from := uintptr(unsafe.Pointer(unsafe.StringData(line)))
	for _, s := range []string{own.Provider.Namespace, own.Provider.Type, own.Version.String(), own.Platform.OS, own.Platform.Arch} {
		if at := uintptr(unsafe.Pointer(unsafe.StringData(s))); at >= from && at < from+uintptr(len(line)) {
			t.Errorf("%q is a part of the request line", s)
		}
	}
	m := Request{Module: registry.ModuleAddress{Namespace: "a", Name: "b", System: "c"}, Provider: registry.ProviderAddress{Hostname: "h", Namespace: "n", Type: "t"}}
	if m.detached() != m || m.size() != 6 || r.size() != len("acmewidget1.0.0linuxamd64") {
		t.Errorf("%+v, of %d bytes; %d", m.detached(), m.size(), r.size())
	}
}

// While others publish, an answer has all that was published before it was asked for.
func TestAnswersWhileOthersPublish(t *testing.T) {
	index := newBolt(t)
	h := New(open(index))
	var published atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				for _, path := range []string{"/v1/modules/acme/vpc/aws/versions", "/v1/modules/acme/vpc/aws/download"} {
					before := published.Load()
					r := httptest.NewRequest("GET", path, nil)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					after := published.Load()
					text := w.Body.String() + w.Header().Get("Location")
					fresh := before == 0
					for v := before; v <= after+1; v++ {
						fresh = fresh || strings.Contains(text, fmt.Sprintf("1.%d.0", v))
					}
					if !fresh {
						t.Errorf("after version %d and before %d, %s is answered %d %s", before, after+1, path, w.Code, text)
						return
					}
				}
			}
		})
	}
	for i := int64(1); i <= 40; i++ {
		m := registry.ModuleVersion{Address: module, Version: registrytest.Version(t, fmt.Sprintf("1.%d.0", i)), Revision: 1}
		if err := catalogtest.Put(t.Context(), index, m); err != nil {
			t.Fatal(err)
		}
		published.Store(i)
	}
	stop()
	wg.Wait()
}

// A client that has the answer already is told so, and nothing else.
func TestNotModified(t *testing.T) {
	other := `"AAAAAAAAAAAAAAAAAAAAAA"`
	for _, path := range append([]string{discoveryPath}, everyRoute[1], everyRoute[3], everyRoute[5], everyRoute[8], everyRoute[9]) {
		h := New(open(large(t, 40, 12)))
		whole := show(t, h, "GET", path)
		etag := whole.header.Get("Etag")
		strong := strings.TrimPrefix(etag, "W/")
		if packed := show(t, h, "GET", path, "Accept-Encoding", "gzip").header.Get("Etag"); packed != etag || strong == etag || len(strong) != len(other) {
			t.Errorf("%s has the tags %s and %s", path, etag, packed)
		}
		for _, method := range []string{"GET", "HEAD"} {
			for _, tags := range [][]string{
				{etag}, {strong}, {"*"}, {other + ", " + etag}, {other + "," + strong + " ,"}, {`W/"a,b"` + "\t,\t" + etag}, {other, etag}, {", " + etag},
			} {
				var headers []string
				for _, tag := range tags {
					headers = append(headers, "If-None-Match", tag)
				}
				want := shown{http.StatusNotModified, http.Header{
					"Cache-Control": whole.header["Cache-Control"], "Etag": {etag}, "Vary": whole.header["Vary"], "X-Content-Type-Options": {"nosniff"},
				}, ""}
				if got := show(t, h, method, path, headers...); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s with %q is answered %+v, want %+v", method, path, tags, got, want)
				}
			}
			for _, tag := range []string{"", other, strong[1:], strong[:len(strong)-1], strings.Trim(strong, `"`), "w/" + strong, other + " x " + strong, `"` + strong, "x*"} {
				want := show(t, h, method, path)
				if got := show(t, h, method, path, "If-None-Match", tag); !reflect.DeepEqual(got, want) {
					t.Errorf("%s %s with %q is answered %+v, want %+v", method, path, tag, got, want)
				}
			}
		}
	}
	for _, path := range []string{everyRoute[2], everyRoute[4], everyRoute[6], everyRoute[7], "/v1/modules/acme/vpn/aws/versions", "/nowhere"} {
		h := New(open(newMemory(t)))
		got, want := show(t, h, "GET", path, "If-None-Match", "*"), show(t, h, "GET", path)
		if got.status != want.status || got.body != want.body || got.header.Get("Etag") != "" {
			t.Errorf("%s is answered %+v, want %+v", path, got, want)
		}
	}
}

// A log line has the status and the bytes that were sent.
func TestNotModifiedIsLogged(t *testing.T) {
	var log strings.Builder
	config := open(newMemory(t))
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ask(t, New(config), "GET", everyRoute[3], "If-None-Match", "*")
	if !strings.Contains(log.String(), "status=304 bytes=0 ") {
		t.Errorf("logged %s", log.String())
	}
}

func FuzzMatches(f *testing.F) {
	for _, s := range []string{"", "*", `"a"`, `W/"a", "b"`, `"a`, `W/`, `,,"",`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, field string) {
		if matches([]string{field}, `W/"tag"`) && !strings.Contains(field, `"tag"`) && !strings.Contains(field, "*") {
			t.Errorf("%q matches", field)
		}
	})
}

// The documents that are written by hand are as encoding/json writes them.
func TestWrittenByHand(t *testing.T) {
	nasty := []string{"", "plain", "two\nlines\n", "\n\t", `"quoted" \ back`, "<a href='x'>&amp;", "é\u2028\u2029\u0000\x1f\x7f\t\n\r\b\f", "\xff\xfe bad", "日本語 🙂", "/+=?&%", "\x01", `\`, "~"}
	for i, s := range nasty {
		checkByHand(t, s, nasty[(i+1)%len(nasty)], i)
	}
}

func FuzzWrittenByHand(f *testing.F) {
	f.Add("plain", `"<&>"`, 3)
	f.Add("\u2028", "\xff", 7)
	f.Fuzz(func(t *testing.T, a, b string, n int) { checkByHand(t, a, b, n) })
}

// checkByHand writes all documents with two texts wherever there can be one.
func checkByHand(t *testing.T, a, b string, n int) {
	t.Helper()
	platforms := []registry.Platform{{OS: a, Arch: b}, linux, {OS: b, Arch: a}}[:(n%4+4)%4%3+1]
	listed := func(v string, standing registry.StandingState, text string) registry.Listed {
		return registry.Listed{
			Version: registrytest.Version(t, v), Revision: 1, Protocols: []string{a, "6.0"}, Platforms: platforms,
			Standing: registry.Standing{State: standing, Message: text}, Source: text,
		}
	}
	listing := registry.Listing{
		listed("1.0.0-rc.1+b", "", ""), listed("1.0.0", registry.Deprecated, a), listed("1.9.0", registry.Withdrawn, b), listed("1.10.0", "", b),
		{Version: registrytest.Version(t, "2.0.0"), Revision: 1}, listed("2.1.0", registry.Deprecated, b),
		{Version: registrytest.Version(t, "3.0.0"), Revision: 1, Protocols: []string{"5.0", b}, Platforms: platforms[:1]},
		{Version: registrytest.Version(t, "3.1.0"), Revision: 1, Protocols: []string{"5.0", a}, Platforms: platforms[:1]},
		{Version: registrytest.Version(t, "3.2.0"), Revision: 1, Protocols: []string{"5.0", a}, Platforms: []registry.Platform{linux, darwin}},
	}
	for _, l := range []registry.Listing{nil, listing[:1], listing[2:3], listing} {
		compareDocuments(t, "provider versions", providerVersionsBody(provider, l), providerVersionsReference(provider, l))
		compareDocuments(t, "module versions", moduleVersionsBody(l), moduleVersionsReference(l))
		compareDocuments(t, "mirror versions", mirrorVersionsBody(offered(l)), mirrorVersionsReference(l))
	}
	p := newMemory(t).provider
	p.Packages = append(p.Packages, registry.Package{Platform: darwin, SHA256: a, H1: b, Size: int64(n), Sequence: 2, Protocols: []string{"5.0"}})
	p.Packages[0].H1, p.Packages[0].Protocols = a, nil
	slices.SortFunc(p.Packages, func(a, b registry.Package) int { return strings.Compare(a.Platform.String(), b.Platform.String()) })
	p.Release.Keys = append(p.Release.Keys, registry.SigningKey{KeyID: a, ASCIIArmor: b})
	url := func(key string) string { return "https://bucket.example.com/" + b + key + "?" + signature + a }
	for _, keys := range [][]registry.SigningKey{p.Release.Keys, nil} {
		p.Release.Keys = keys
		for _, pkg := range served(p) {
			compareDocuments(t, "package", fillWith(t, packageTemplate(provider, p, pkg), url), packageReference(provider, p, pkg, url))
		}
		mirrored, err := mirrorTemplate(provider, p)
		if err != nil {
			t.Fatal(err)
		}
		compareDocuments(t, "mirror version", fillWith(t, mirrored, url), mirrorVersionReference(provider, p, url))
	}
}

func compareDocuments(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if string(got) != string(want) {
		t.Errorf("%s is written as\n%s, want\n%s", what, got, want)
	}
}

// presignFunc makes URLs.
type presignFunc func(key string) string

func (f presignFunc) PresignGet(_ context.Context, key string) (string, error) { return f(key), nil }

func fillWith(t *testing.T, doc *template, url func(key string) string) []byte {
	t.Helper()
	body, err := doc.fill(t.Context(), presignFunc(url))
	if err != nil {
		t.Fatal(err)
	}
	return body
}
