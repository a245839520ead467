package doctor

import (
	"net/url"
	"strings"
	"testing"
)

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
