package upstream

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
	"github.com/larder-registry/larder/pkg/signing"
)

const (
	discoveryURL = "https://registry.example.com/.well-known/terraform.json"
	providerURL  = "https://registry.example.com/v1/providers/acme/widget/"
	filesURL     = "https://files.example.com/widget/"
	listURL      = providerURL + "versions"
	sumsURL      = filesURL + "SHA256SUMS"
	signatureURL = filesURL + "SHA256SUMS.sig"
)

var (
	widget  = registry.ProviderAddress{Hostname: "registry.example.com", Namespace: "acme", Type: "widget"}
	linux   = registry.Platform{OS: "linux", Arch: "amd64"}
	darwin  = registry.Platform{OS: "darwin", Arch: "arm64"}
	windows = registry.Platform{OS: "windows", Arch: "amd64"}
)

// documentURL is where the origin describes the package of widget 1.0.0.
func documentURL(p registry.Platform) string {
	return providerURL + "1.0.0/download/" + p.OS + "/" + p.Arch
}

func filename(p registry.Platform) string {
	return "terraform-provider-widget_1.0.0_" + p.String() + ".zip"
}

// origin is a registry on loopback that has widget 1.0.0 for linux and darwin,
// and serves it as example.com's hosts. Tests make it lie.
type origin struct {
	*testing.T
	server    *httptest.Server
	key       *signing.Key
	documents map[registry.Platform]map[string]any
	archives  map[registry.Platform][]byte
	sums      string

	lock  sync.Mutex
	pages map[string]http.HandlerFunc // by URL without query
	asked []*http.Request
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{
		T:         t,
		key:       signingKeys()[0],
		documents: map[registry.Platform]map[string]any{},
		archives:  map[registry.Platform][]byte{linux: []byte("linux archive"), darwin: []byte("darwin archive")},
		pages:     map[string]http.HandlerFunc{},
	}
	o.server = httptest.NewUnstartedServer(o)
	o.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	o.server.StartTLS()
	t.Cleanup(o.server.Close)
	o.json(discoveryURL, map[string]any{"providers.v1": "/v1/providers/", "modules.v1": "/v1/modules/", "login.v1": map[string]any{}})
	o.json(listURL, map[string]any{"versions": []any{map[string]any{"version": "1.0.0"}}})
	for _, p := range []registry.Platform{linux, darwin} {
		o.sums += checksum(o.archives[p]) + "  " + filename(p) + "\n"
		o.body(filesURL+filename(p), o.archives[p])
		o.describe(p, map[string]any{
			"os": p.OS, "arch": p.Arch, "protocols": []string{"5.0"}, "filename": filename(p),
			"download_url": filesURL + filename(p), "shasums_url": sumsURL, "shasums_signature_url": signatureURL,
			"shasum": checksum(o.archives[p]), "signing_keys": keysOf(o.key.PublicKey().ASCIIArmor),
		})
	}
	o.sign(o.sums)
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.lock.Lock()
	o.asked = append(o.asked, r)
	page := o.pages["https://"+r.Host+r.URL.Path]
	o.lock.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

// at serves a page.
func (o *origin) at(url string, page http.HandlerFunc) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.pages[url] = page
}

func (o *origin) body(url string, body []byte) {
	o.at(url, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
}

func (o *origin) json(url string, document any) {
	o.Helper()
	body, err := json.Marshal(document)
	if err != nil {
		o.Fatal(err)
	}
	o.at(url, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(body)
	})
}

// describe changes fields of the document about a package.
func (o *origin) describe(p registry.Platform, change map[string]any) {
	o.Helper()
	if o.documents[p] == nil {
		o.documents[p] = map[string]any{}
	}
	maps.Copy(o.documents[p], change)
	o.json(documentURL(p), o.documents[p])
}

// sign serves a SHA256SUMS with a good signature.
func (o *origin) sign(sums string) {
	o.Helper()
	o.body(sumsURL, []byte(sums))
	o.body(signatureURL, signature(o.T, o.key, sums))
}

// count is how often a page was asked for.
func (o *origin) count(url string) (n int) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, r := range o.asked {
		if "https://"+r.Host+r.URL.Path == url {
			n++
		}
	}
	return n
}

// client is a client with production's transport, but for the names under
// example.com, which are the origin's.
func (o *origin) client() *Client {
	transport := newTransport()
	transport.TLSClientConfig = o.server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasSuffix(address, ".example.com:443") {
			address, dial := o.server.Listener.Addr(), net.Dialer{}
			return dial.DialContext(ctx, address.Network(), address.String())
		}
		return dial(ctx, network, address)
	}
	o.Cleanup(transport.CloseIdleConnections)
	return New(Config{Transport: transport})
}

// packages asks for both packages.
func (o *origin) packages() ([]Package, error) {
	o.Helper()
	return o.client().Packages(o.Context(), widget, registrytest.Version(o, "1.0.0"), []registry.Platform{linux, darwin})
}

// pkg is the linux package.
func (o *origin) pkg() Package {
	return Package{Address: widget, Version: registrytest.Version(o, "1.0.0"), Platform: linux, URL: filesURL + filename(linux), SHA256: checksum(o.archives[linux])}
}

func keysOf(armor ...string) map[string]any {
	keys := []any{}
	for _, a := range armor {
		keys = append(keys, map[string]any{"key_id": "51852D87348FFC4C", "ascii_armor": a, "source": "", "trust_signature": ""})
	}
	return map[string]any{"gpg_public_keys": keys}
}

func checksum(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func signature(t testing.TB, key *signing.Key, document string) []byte {
	t.Helper()
	s, err := key.Sign(t.Context(), []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signingKeys is two keys. Making them is slow, so all tests share them.
var signingKeys = sync.OnceValue(func() (keys []*signing.Key) {
	for _, name := range []string{"origin", "somebody else"} {
		private, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		key, err := signing.NewKey(context.Background(), private, time.Now().Add(-time.Hour), name)
		if err != nil {
			panic(err)
		}
		keys = append(keys, key)
	}
	return keys
})

// says checks that an error has all words and is fit to be shown.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error %q does not say %q", err, word)
		}
	}
	if len(err.Error()) > maxText+300 || strings.ContainsAny(err.Error(), "\n\x1b\x00") || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is not fit to be shown: %q", err)
	}
}

func platforms(packages []Package) (found []string) {
	for _, p := range packages {
		found = append(found, p.Platform.String())
	}
	return found
}
