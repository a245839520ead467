package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

const (
	goodToken = "larder_VKMX2CDEGJD2UAO42RG3UEIEOB5O25GZY"
	secret    = "X-Amz-Signature=s3cret" // of every URL into the bucket
)

var (
	networkModule  = registry.ModuleAddress{Namespace: "acme", Name: "network", System: "aws"}
	widgetProvider = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
)

// reply is an answer that a test can still change.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (a *reply) replace(old, new string) {
	a.body = bytes.ReplaceAll(a.body, []byte(old), []byte(new))
}

// live is a registry over TLS, with its bucket under /bucket/ of the same
// server. All is well with it but for what breaks does to its answers.
type live struct {
	*httptest.Server
	objects map[string][]byte // of the bucket, by key
	module  registry.ModuleVersion
	widget  registry.ProviderVersion
	closed  bool     // reading wants goodToken
	scopes  []string // of goodToken; nil: all
	breaks  func(*http.Request, *reply)

	lock   sync.Mutex
	tokens []string // of the requests to the bucket
	broken []string // what the server logged of connections
}

func newLive(t *testing.T) *live {
	t.Helper()
	l := &live{objects: map[string][]byte{}}
	l.publishModule(t)
	l.publishWidget(t)
	quiet := slog.New(slog.DiscardHandler)
	config := protocol.Config{
		Reader: catalog.NewReader(catalog.ReaderConfig{Catalog: l, TokenUses: l, Logger: quiet}), Presigner: l, Logger: quiet,
	}
	closed := protocol.New(config)
	config.Open = true
	open := protocol.New(config)
	l.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		if strings.HasPrefix(r.URL.Path, "/bucket/") {
			l.serveObject(recorder, r)
		} else if l.closed {
			closed.ServeHTTP(recorder, plain(r))
		} else {
			open.ServeHTTP(recorder, plain(r))
		}
		l.reply(w, r, recorder)
	}))
	l.Config.ErrorLog = log.New(writerFunc(l.noteBroken), "", 0)
	l.StartTLS()
	t.Cleanup(l.Close)
	return l
}

// writerFunc is a function that is an [io.Writer].
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }

// noteBroken notes a line of the server's log, which has a line for each handshake that a
// visitor breaks off.
func (l *live) noteBroken(line []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.broken = append(l.broken, string(line))
	return len(line), nil
}

// plain asks for an answer that a test can change: with its body, to HEAD too,
// and not compressed.
func plain(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Del("Accept-Encoding")
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	return r
}

// reply sends an answer after it was broken.
func (l *live) reply(w http.ResponseWriter, r *http.Request, from *httptest.ResponseRecorder) {
	a := &reply{from.Code, from.Header(), from.Body.Bytes()}
	a.header.Del("Content-Length")
	if l.breaks != nil {
		l.breaks(r, a)
	}
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.header.Get("Content-Length") == "" && a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // to HEAD it is not sent
}

func (l *live) host() string { return strings.TrimPrefix(l.URL, "https://") }

// lookUp fills a lookup: there is goodToken.
func (l *live) lookUp(lookup *access.Lookup) {
	if lookup == nil {
		return
	}
	if id, err := access.ParseToken(goodToken); err == nil && id == lookup.ID {
		scopes := []string{"read *"}
		if l.scopes != nil {
			scopes = l.scopes
		}
		parsed, _ := access.ParseScopes(scopes)
		lookup.Token = &access.Token{ID: id, Scopes: parsed}
	}
}

// NoteUse implements [catalog.TokenUses].
func (l *live) NoteUse(context.Context, access.ID, access.Day) error { return nil }

// serveObject is S3: a URL that is signed for GET does for nothing else, and
// for no other query.
func (l *live) serveObject(w http.ResponseWriter, r *http.Request) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if token := r.Header.Get("Authorization"); token != "" {
		l.tokens = append(l.tokens, token)
	}
	body, ok := l.objects[strings.TrimPrefix(r.URL.Path, "/bucket/")]
	if !ok || r.Method != http.MethodGet || r.URL.Query().Encode() != "X-Amz-Expires=900&"+secret {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	_, _ = w.Write(body)
}

func (l *live) PresignGet(_ context.Context, key string) (string, error) {
	return l.URL + "/bucket/" + key + "?" + secret + "&X-Amz-Expires=900", nil // not in the order in which it is asked for
}

func (l *live) Listing(_ context.Context, a registry.Address, lookup *access.Lookup) (s catalog.Snapshot[*registry.Listing], err error) {
	l.lookUp(lookup)
	switch a {
	case networkModule:
		return catalogtest.Snapshot[*registry.Listing](registry.Listing{{Version: version("1.0.0")}, l.module.Listed(), {Version: version("2.0.0-rc.1")}})
	case widgetProvider:
		return catalogtest.Snapshot[*registry.Listing](registry.Listing{l.widget.Listed()})
	}
	return s, registry.ErrNotFound
}

func (l *live) State(_ context.Context, version registry.Subject, lookup *access.Lookup) (s catalog.Snapshot[registry.State], err error) {
	l.lookUp(lookup)
	switch version {
	case l.module.Subject():
		return catalogtest.Snapshot[registry.State](l.module)
	case l.widget.Subject():
		return catalogtest.Snapshot[registry.State](l.widget)
	}
	return s, registry.ErrNotFound
}

func version(s string) registry.Version {
	v, err := registry.ParseVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (l *live) publishModule(t *testing.T) {
	t.Helper()
	archive := archivetest.Module(t, "")
	l.module = registry.ModuleVersion{Address: networkModule, Version: version("1.2.0"), Revision: 1,
		Archive: registry.ModuleArchive{Format: "tar.gz", SHA256: hexSum(archive)}}
	l.objects[networkModule.ArchiveKey(l.module.Version, l.module.Archive)] = archive
}

// ownKey is the key of every registry here: to make one takes a while.
var ownKey = sync.OnceValues(func() (*signing.Key, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	return signing.NewKey(context.Background(), private, time.Now().Add(-time.Hour), "registry")
})

func (l *live) publishWidget(t *testing.T) {
	t.Helper()
	key, err := ownKey()
	if err != nil {
		t.Fatal(err)
	}
	archive := archivetest.Provider(t, "terraform-provider-widget", "")
	s := registry.ProviderVersion{Address: widgetProvider, Version: version("1.0.0"), Revision: 2}
	pkg := registry.Package{Platform: thisPlatform(), SHA256: hexSum(archive), H1: "h1:widget=", Size: int64(len(archive)), Sequence: 1}
	sums, err := shasums.New(map[string]string{widgetProvider.PackageFilename(s.Version, pkg.Platform): pkg.SHA256})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign(t.Context(), sums.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	public := key.PublicKey()
	s.Packages = []registry.Package{pkg}
	s.Release = &registry.Release{Sequence: 2, SHA256: hexSum(sums.Bytes()), Signature: hexSum(signature),
		Keys: []registry.SigningKey{{KeyID: public.KeyID, ASCIIArmor: public.ASCIIArmor}}}
	l.objects[widgetProvider.PackageKey(s.Version, pkg)] = archive
	l.objects[widgetProvider.SHA256SUMSKey(s.Version, *s.Release)] = sums.Bytes()
	l.objects[widgetProvider.SignatureKey(s.Version, *s.Release)] = signature
	l.widget = s
}
