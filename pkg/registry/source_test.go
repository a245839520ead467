package registry

import (
	"strings"
	"testing"
)

func TestCheckSource(t *testing.T) {
	longest := "https://example.com/" + strings.Repeat("a", MaxSource-len("https://example.com/"))
	for _, source := range []string{
		"", "https://github.com/acme/network", "http://git.example.com:3000/acme/network.git", "https://example.com", "https://example.com/", "https://example.com/~acme",
		"https://gitlab.example.com/acme/-/tree/main?ref_type=heads", "https://xn--bcher-kva.example/a%20b", "https://[::1]:8443/acme", "https://192.0.2.1/a", longest,
	} {
		if err := CheckSource(source); err != nil {
			t.Errorf("%q: %v", source, err)
		}
	}
	for source, want := range map[string]string{
		longest + "a":                          "the source has 501 bytes, 500 are allowed",
		"github.com/acme/network":              "is not an https or http URL with a host",
		"/acme/network":                        "is not an https or http URL with a host",
		"//github.com/acme/network":            "is not an https or http URL with a host",
		"https:///acme":                        "is not an https or http URL with a host",
		"https:acme":                           "is not an https or http URL with a host",
		"https://:8443/acme":                   "is not an https or http URL with a host",
		"https://example.com:port/acme":        "is not an https or http URL with a host",
		"https://example.com/%zz":              "is not an https or http URL with a host",
		"git@github.com:acme/network.git":      "is not an https or http URL with a host",
		"git::https://github.com/acme/network": "is not an https or http URL with a host",
		"ssh://ann:secret@github.com/acme":     "is not an https or http URL with a host",
		"javascript:alert(1)":                  "is not an https or http URL with a host",
		"data:text/html,x":                     "is not an https or http URL with a host",
		"https://ann@example.com/acme":         "without a user name or password",
		"https://ann:secret@example.com/acme":  "without a user name or password",
		"https://@example.com/acme":            "without a user name or password",
		"https://example.com/acme#readme":      "without a fragment",
		"https://example.com/acme#":            "without a fragment",
		"HTTPS://example.com/acme":             "must be written as https://example.com/acme",
		"https://example.com/<script>":         "must be written as https://example.com/%3Cscript%3E",
		`https://example.com/"`:                "must be written as https://example.com/%22",
		"https://bücher.example/acme":          "must be written in ASCII",
		"https://example.com/a b":              "must be written in ASCII",
		"https://example.com/a\n":              "must be written in ASCII",
		" https://example.com/a":               "must be written in ASCII",
		"https://example.com/\x7f":             "must be written in ASCII",
		"https://example.com/\xff":             "must be written in ASCII",
	} {
		err := CheckSource(source)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60q: %v, want %q", source, err, want)
		}
	}
}
