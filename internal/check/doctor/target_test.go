package doctor

import (
	"net/url"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for text, want := range map[string]string{
		"registry.example.com":           "registry.example.com",
		"https://registry.example.com":   "registry.example.com",
		"https://Registry.Example.com/":  "registry.example.com",
		"registry.example.com:443":       "registry.example.com",
		"https://127.0.0.1:8443":         "127.0.0.1:8443",
		"bücher.example.com":             "xn--bcher-kva.example.com",
		"http://registry.example.com":    "",
		"https://registry.example.com/x": "",
		"https://u@registry.example.com": "",
		"registry.example.com?x":         "",
		"":                               "",
		"registry example.com":           "",
		"registry.example.com:port":      "",
	} {
		if got, err := ParseHost(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestFindToken(t *testing.T) {
	environ := []string{
		"PATH=/bin", "TF_TOKEN_registry_example_com=a", "TF_TOKEN_my__registry_example_com=b", "TF_TOKEN_127_0_0_1:8443=c",
		"TF_TOKEN_dotted.example.com=d", "TF_TOKEN_=x", "TF_TOKEN_xn____bcher__kva_example_com=e",
	}
	for host, want := range map[string]string{
		"registry.example.com": "a", "my-registry.example.com": "b", "127.0.0.1:8443": "c",
		"dotted.example.com": "d", "xn--bcher-kva.example.com": "e", "other.example.com": "",
	} {
		if got := FindToken(host, environ); got != want {
			t.Errorf("the token for %s is %q, want %q", host, got, want)
		}
		if name := TokenVariable(host); want != "" && want != "d" && FindToken(host, []string{name + "=same"}) != "same" {
			t.Errorf("%s is not found in %s", host, name)
		}
	}
}

func TestParseTargets(t *testing.T) {
	for text, good := range map[string]bool{
		"acme/network/aws": true, "acme/network/aws@1.2.3": true, "acme/network/aws@1.2": true,
		"acme/network": false, "acme/network/aws@": false, "acme/network/aws@latest": false, "a/b/c/d": false, "": false,
	} {
		if m, err := ParseModule(text); (err == nil) != good || good && (m.Version != nil) != strings.Contains(text, "@") {
			t.Errorf("module %q: %+v, %v", text, m, err)
		}
	}
	for _, tt := range []struct {
		text, platform string
		good           bool
	}{
		{"acme/widget", "", true}, {"acme/widget@1.0.0", "linux_amd64", true},
		{"acme", "", false}, {"acme/widget/x", "", false}, {"Acme/widget", "", false},
		{"acme/widget", "linux", false}, {"acme/widget", "Linux_amd64", false}, {"acme/widget@x", "", false},
	} {
		if p, err := ParseProvider(tt.text, tt.platform); (err == nil) != tt.good || tt.good && (p.Platform != nil) != (tt.platform != "") {
			t.Errorf("provider %q for %q: %+v, %v", tt.text, tt.platform, p, err)
		}
	}
}

// Whatever a registry answers, it is read without a panic.
func FuzzParseSource(f *testing.F) {
	for _, seed := range []string{
		"https://s3.example.com/a.tar.gz?x=1&archive=tar.gz&checksum=sha256:00", "./x.zip", "//h/x.tgz", "git::https://x", "?archive=zip", "%zz", "",
	} {
		f.Add(seed)
	}
	base := &url.URL{Scheme: "https", Host: "registry.example.com", Path: "/v1/modules/a/b/c/1.0.0/download"}
	f.Fuzz(func(t *testing.T, location string) {
		from, problem := parseSource(base, location)
		if problem != "" {
			return
		}
		if from.url.Scheme != "https" || from.url.Host == "" || from.format == "" {
			t.Errorf("%q is taken for %+v", location, from)
		}
		if q := from.url.Query(); q.Has("archive") || q.Has("checksum") {
			t.Errorf("%q is asked for with %s", location, from.url.RawQuery)
		}
	})
}
