package upstream

import (
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func parseURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// fit checks that an error, if there is one, can be shown once it is a fault.
func fit(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	text := newFault("read it", err).Error()
	if len(text) > maxText+len("…") || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		t.Fatalf("the error is %q", text)
	}
}

// safe checks that a URL may be asked, and survives being written.
func safe(t *testing.T, u *url.URL) {
	t.Helper()
	if u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		t.Fatalf("the URL is %q", u)
	}
	if again, err := url.Parse(u.String()); err != nil || again.Host != u.Host {
		t.Fatalf("%q reads as %v, %v", u, again, err)
	}
}

func FuzzReadDiscovery(f *testing.F) {
	f.Add([]byte(`{"modules.v1":"/v1/modules/","providers.v1":"/v1/providers/","login.v1":{"client":"x"}}`))
	f.Add([]byte(`{"providers.v1":"https://example.com/p#x"}`))
	f.Add([]byte(`{"providers.v1":"//me@example.com:8443"}`))
	f.Add([]byte(`{"providers.v1":"https:opaque"}`))
	f.Add([]byte(`{"providers.v1":"?x"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		base, err := readDiscovery(parseURL(t, discoveryURL), body)
		fit(t, err)
		if err == nil {
			safe(t, base)
		}
	})
}

func FuzzReadVersions(f *testing.F) {
	f.Add([]byte(`{"versions":[{"version":"1.0.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]},{"version":"0.1.0"}]}`))
	f.Add([]byte(`{"versions":[null,{"version":"1.0.0+a"},{"version":"1.0.0"},{"platforms":[null]}]}`))
	f.Add([]byte(`{"versions":[{"version":"1.0.0-a.b"},{"version":"1.0.0-a"}],"warnings":["x"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		versions, err := readVersions(body)
		fit(t, err)
		for i, v := range versions {
			if i > 0 && compare(versions[i-1], v) >= 0 {
				t.Fatalf("%s comes before %s", versions[i-1].Version, v.Version)
			}
			if _, err := registry.ParseVersion(v.Version.String()); err != nil {
				t.Fatal(err)
			}
			for _, p := range v.Platforms {
				if _, err := registry.ParsePlatform(p.OS, p.Arch); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func FuzzReadPackageDocument(f *testing.F) {
	f.Add([]byte(`{"os":"linux","arch":"amd64","filename":"terraform-provider-widget_1.0.0_linux_amd64.zip","download_url":"a.zip","shasums_url":"/s","shasums_signature_url":"//example.com/g","shasum":"00","signing_keys":{"gpg_public_keys":[{"key_id":"A","ascii_armor":"-----BEGIN"}]}}`))
	f.Add([]byte(`{"download_url":"https:x","shasums_url":"https://a@b","shasums_signature_url":"data:,","signing_keys":{"gpg_public_keys":[null]}}`))
	f.Add([]byte(`{"download_url":"?","shasums_url":".","shasums_signature_url":"..","signing_keys":null}`))
	p := Package{Address: widget, Version: registrytest.Version(f, "1.0.0"), Platform: linux}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := readPackageDocument(parseURL(t, documentURL(linux)), body)
		fit(t, err)
		if err != nil {
			return
		}
		for _, u := range []*url.URL{d.archive, d.sums, d.signature} {
			safe(t, u)
		}
		if err := d.describes(p); err == nil && (d.filename != filename(linux) || d.platform != linux) {
			t.Fatalf("the document of %s for %s is taken for that of another", d.filename, d.platform)
		}
		// Nobody has signed anything.
		if sum, err := (signed{url: d.sums, document: []byte(d.shasum + "  " + d.filename + "\n")}).sha256(d); err == nil {
			t.Fatalf("the checksum %s is believed", sum)
		}
	})
}
