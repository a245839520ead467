package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestVersions(t *testing.T) {
	o := newOrigin(t)
	o.body(listURL, []byte(`{"id":"acme/widget","versions":[
		{"version":"1.10.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"},{"os":"Linux","arch":"AMD64"},null,{"os":"darwin","arch":"arm64"},{"os":"linux","arch":"amd64"}]},
		{"version":"1.9.0"}, {"version":"v1.2.0"}, {"version":"1.0"}, {"version":"../1.0.0"}, null, {},
		{"version":"2.0.0-rc.1"}, {"version":"1.9.0+again"}, {"version":"1.9.0"}],"warnings":null}`))
	got, err := o.client().Versions(t.Context(), widget)
	if err != nil {
		t.Fatal(err)
	}
	want := []Version{
		{Version: registrytest.Version(t, "1.9.0")},
		{Version: registrytest.Version(t, "1.10.0"), Platforms: []registry.Platform{linux, darwin}},
		{Version: registrytest.Version(t, "2.0.0-rc.1")},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the versions are %v, want %v", got, want)
	}
}

// Of an origin that lists no end of platforms, those are taken that could be
// published, before it costs more than to read the list.
func TestFewPlatformsOfAVersion(t *testing.T) {
	var list []string
	var want []registry.Platform
	for n := range registry.MaxPackages + 1 {
		p := registry.Platform{OS: fmt.Sprintf("os%d", n), Arch: "amd64"}
		list = append(list, fmt.Sprintf(`{"os":%q,"arch":%q},{"os":%[1]q,"arch":%[2]q}`, p.OS, p.Arch))
		want = append(want, p)
	}
	o := newOrigin(t)
	for listed, got := range map[int]int{registry.MaxPackages: registry.MaxPackages, registry.MaxPackages + 1: registry.MaxPackages} {
		o.body(listURL, fmt.Appendf(nil, `{"versions":[{"version":"1.0.0","platforms":[%s]},{"version":"1.1.0","platforms":[%s]}]}`, strings.Join(list[:listed], ","), list[0]))
		versions, err := o.client().Versions(t.Context(), widget)
		if err != nil {
			t.Fatal(err)
		}
		if want := []Version{{registrytest.Version(t, "1.0.0"), want[:got]}, {registrytest.Version(t, "1.1.0"), want[:1]}}; !reflect.DeepEqual(versions, want) {
			t.Errorf("of %d platforms there are %v, want %v", listed, versions, want)
		}
	}
}

func TestNoVersions(t *testing.T) {
	for _, body := range []string{`{}`, `{"versions":[]}`, `{"versions":null}`} {
		o := newOrigin(t)
		o.body(listURL, []byte(body))
		if got, err := o.client().Versions(t.Context(), widget); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", body, got, err)
		}
	}
}

func TestPackages(t *testing.T) {
	o := newOrigin(t)
	c := o.client()
	packages, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{darwin, windows, linux})
	if err != nil {
		t.Fatal(err)
	}
	if got := platforms(packages); !slices.Equal(got, []string{"darwin_arm64", "linux_amd64"}) {
		t.Fatalf("packages for %q, want those that there are, as they were asked for", got)
	}
	if packages[1] != o.pkg() {
		t.Errorf("the package is %+v, want %+v", packages[1], o.pkg())
	}
	for _, url := range []string{sumsURL, signatureURL, discoveryURL} {
		if n := o.count(url); n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
	for _, p := range packages {
		var got bytes.Buffer
		size, err := c.Download(t.Context(), p, &got)
		if err != nil || size != int64(got.Len()) {
			t.Errorf("%s: size %d of %d, %v", p.Platform, size, got.Len(), err)
		}
		if !bytes.Equal(got.Bytes(), o.archives[p.Platform]) {
			t.Errorf("%s: got %q", p.Platform, &got)
		}
	}
}

// A registry that presigns has other URLs for every package.
func TestPackagesEachWithItsOwnURLs(t *testing.T) {
	o := newOrigin(t)
	o.describe(linux, map[string]any{"shasums_url": sumsURL + "?of=linux"})
	if packages, err := o.packages(); err != nil || len(packages) != 2 {
		t.Errorf("%v, %v", packages, err)
	}
	if n := o.count(sumsURL); n != 2 {
		t.Errorf("SHA256SUMS was asked for %d times, want once for each pair of URLs", n)
	}
}

// Build metadata is not encoded in the path, as the clients send it.
func TestPackagesOfAVersionWithBuildMetadata(t *testing.T) {
	o := newOrigin(t)
	const name = "terraform-provider-widget_1.0.0+b.5_linux_amd64.zip"
	sum := checksum([]byte("built"))
	o.sign(sum + "  " + name + "\n")
	o.describe(linux, map[string]any{"filename": name, "shasum": sum})
	o.json(providerURL+"1.0.0+b.5/download/linux/amd64", o.documents[linux])
	packages, err := o.client().Packages(t.Context(), widget, registrytest.Version(t, "1.0.0+b.5"), []registry.Platform{linux})
	if err != nil || len(packages) != 1 || packages[0].SHA256 != sum {
		t.Errorf("%v, %v", packages, err)
	}
	if got := o.asked[1].RequestURI; got != "/v1/providers/acme/widget/1.0.0+b.5/download/linux/amd64" {
		t.Errorf("asked for %s", got)
	}
}

func TestRelativeURLs(t *testing.T) {
	o := newOrigin(t)
	o.at(discoveryURL, redirectTo("https://discovery.example.com/deep/down/terraform.json?x=y"))
	o.json("https://discovery.example.com/deep/down/terraform.json", map[string]any{"providers.v1": "../providers/#part"})
	o.at("https://discovery.example.com/deep/providers/acme/widget/1.0.0/download/linux/amd64", redirectTo("https://cdn.example.com/docs/linux.json"))
	o.describe(linux, map[string]any{"download_url": "a.zip", "shasums_url": "/sums?x=y", "shasums_signature_url": "//sig.example.com/sig"})
	o.json("https://cdn.example.com/docs/linux.json", o.documents[linux])
	o.body("https://cdn.example.com/sums", []byte(o.sums))
	o.body("https://sig.example.com/sig", signature(t, o.key, o.sums))
	packages, err := o.client().Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
	if err != nil || len(packages) != 1 || packages[0].URL != "https://cdn.example.com/docs/a.zip" {
		t.Errorf("%v, %v", packages, err)
	}
}

// The clients do not add a slash to a base URL without one.
func TestBaseURLWithoutSlash(t *testing.T) {
	o := newOrigin(t)
	o.json(discoveryURL, map[string]any{"providers.v1": "https://registry.example.com/v1/providers/x"})
	if got, err := o.client().Versions(t.Context(), widget); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNotFound(t *testing.T) {
	o := newOrigin(t)
	c := o.client()
	gone := widget
	gone.Type = "gone"
	_, err := c.Versions(t.Context(), gone)
	if !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("versions of a missing provider: %v", err)
	}
	says(t, err, "registry.example.com/acme/gone: not found")
	if _, err := c.Packages(t.Context(), gone, registrytest.Version(t, "1.0.0"), []registry.Platform{linux}); !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("packages of a missing provider: %v", err)
	}
	_, err = c.Packages(t.Context(), widget, registrytest.Version(t, "2.0.0"), []registry.Platform{linux})
	if !errors.Is(err, registry.ErrNotFound) {
		t.Errorf("packages of a missing version: %v", err)
	}
	says(t, err, "registry.example.com/acme/widget 2.0.0: not found")
	packages, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{windows})
	if err != nil || len(packages) != 0 {
		t.Errorf("a missing platform: %v, %v", packages, err)
	}
}

// Whichever request fails, the origin could not be asked: it neither has nothing
// nor lies. Asked again, it answers.
func TestEachRequestFails(t *testing.T) {
	for name, test := range map[string]struct {
		call func(context.Context, *Client) (int, error)
		asks []string
		got  int
	}{
		"versions": {
			func(ctx context.Context, c *Client) (int, error) {
				versions, err := c.Versions(ctx, widget)
				return len(versions), err
			},
			[]string{discoveryURL, listURL}, 1,
		},
		"packages": {
			func(ctx context.Context, c *Client) (int, error) {
				packages, err := c.Packages(ctx, widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux})
				return len(packages), err
			},
			[]string{discoveryURL, documentURL(linux), sumsURL, signatureURL}, 1,
		},
		"packages of a platform that is not there": {
			func(ctx context.Context, c *Client) (int, error) {
				packages, err := c.Packages(ctx, widget, registrytest.Version(t, "1.0.0"), []registry.Platform{windows})
				return len(packages), err
			},
			[]string{discoveryURL, documentURL(windows), listURL}, 0,
		},
	} {
		for _, url := range test.asks {
			t.Run(name+", "+url, func(t *testing.T) {
				o := newOrigin(t)
				good := o.pages[url]
				o.at(url, status(http.StatusBadGateway))
				c := o.client()
				got, err := test.call(t.Context(), c)
				says(t, err, url, "status 502", "registry.example.com/acme/widget")
				if _, lies := errors.AsType[*Untrusted](err); lies || errors.Is(err, registry.ErrNotFound) || got > 0 {
					t.Errorf("got %d, %v", got, err)
				}
				if good == nil {
					good = http.NotFound
				}
				o.at(url, good)
				if got, err := test.call(t.Context(), c); err != nil || got != test.got {
					t.Errorf("asked again: got %d, %v", got, err)
				}
			})
		}
	}
}

func TestOwnProvidersHaveNoOrigin(t *testing.T) {
	o := newOrigin(t)
	_, err := o.client().Versions(t.Context(), registry.ProviderAddress{Namespace: "acme", Type: "widget"})
	says(t, err, "this registry is its origin")
	if len(o.asked) > 0 || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("asked %d times, error %v", len(o.asked), err)
	}
}

func TestDiscoveryIsRemembered(t *testing.T) {
	o := newOrigin(t)
	c := o.client()
	for range 3 {
		if _, err := c.Versions(t.Context(), widget); err != nil {
			t.Fatal(err)
		}
	}
	if n := o.count(discoveryURL); n != 1 {
		t.Errorf("asked for %d times", n)
	}
	c = o.client()
	c.limits.discovery = -time.Second // it is over at once
	for range 3 {
		if _, err := c.Versions(t.Context(), widget); err != nil {
			t.Fatal(err)
		}
	}
	if n := o.count(discoveryURL); n != 1+3 {
		t.Errorf("asked for %d times when nothing is remembered", n-1)
	}
}

func TestFewHostsAreRemembered(t *testing.T) {
	c, now, remembered := newOrigin(t).client(), time.Now(), 0
	for i := range 2 * maxBases {
		c.bases.Put(fmt.Sprintf("host%d.example.com", i), nil, now, time.Hour)
	}
	for i := range 2 * maxBases {
		if _, ok := c.bases.Get(fmt.Sprintf("host%d.example.com", i), now); ok {
			remembered++
		}
	}
	if remembered != maxBases {
		t.Errorf("%d hosts are remembered, want %d", remembered, maxBases)
	}
}

func TestRequestsTellNothing(t *testing.T) {
	o := newOrigin(t)
	o.at(filesURL+filename(linux), func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: "you"})
		redirectTo("https://cdn.example.com/a.zip")(w, r)
	})
	o.body("https://cdn.example.com/a.zip", o.archives[linux])
	c := o.client()
	if _, err := c.Packages(t.Context(), widget, registrytest.Version(t, "1.0.0"), []registry.Platform{linux}); err != nil {
		t.Fatal(err)
	}
	p := o.pkg()
	p.URL += "?X-Amz-Signature=secret"
	for range 2 {
		if _, err := c.Download(t.Context(), p, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range o.asked {
		for name := range r.Header {
			if name != "Accept" && name != "User-Agent" {
				t.Errorf("%s came with %s: %q", r.URL, name, r.Header[name])
			}
		}
		if got := r.Header.Get("User-Agent"); got != "larder" {
			t.Errorf("%s came from %q", r.URL, got)
		}
	}
	for _, r := range o.asked[:2] {
		if got := r.Header.Get("Accept"); got != "application/json" {
			t.Errorf("%s accepts %q", r.URL, got)
		}
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	for url, call := range map[string]func(context.Context, *Client, Package) error{
		listURL: func(ctx context.Context, c *Client, p Package) error {
			_, err := c.Versions(ctx, p.Address)
			return err
		},
		documentURL(linux): func(ctx context.Context, c *Client, p Package) error {
			_, err := c.Packages(ctx, p.Address, p.Version, []registry.Platform{linux, darwin})
			return err
		},
		filesURL + filename(linux): func(ctx context.Context, c *Client, p Package) error {
			_, err := c.Download(ctx, p, io.Discard)
			return err
		},
	} {
		o := newOrigin(t)
		ctx, cancel := context.WithCancel(t.Context())
		o.at(url, func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		})
		if err := call(ctx, o.client(), o.pkg()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func redirectTo(url string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url, http.StatusFound) }
}
