package upstream

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
)

// An origin that cannot be asked is neither one that has nothing nor one that
// lies.
func TestUselessAnswers(t *testing.T) {
	pages := map[string]http.HandlerFunc{
		"500":       status(http.StatusInternalServerError),
		"401":       status(http.StatusUnauthorized),
		"403":       status(http.StatusForbidden),
		"410":       status(http.StatusGone),
		"204":       status(http.StatusNoContent),
		"429":       status(http.StatusTooManyRequests),
		"404":       http.NotFound,
		"HTML":      typed("text/html", "<html>secret</html>"),
		"untyped":   typed("application/json", "<html>"),
		"empty":     typed("application/json", ""),
		"garbage":   typed("application/json", "\x00\x1b[2J\xff"),
		"cut off":   typed("application/json", `{"versions":[{"version":"1.0.0"`),
		"two":       typed("application/json", `{}{}`),
		"an array":  typed("application/json", `[]`),
		"a string":  typed("application/json", `"`+strings.Repeat("x", 10_000)+`"`),
		"bad types": typed("application/json", `{"providers.v1":{},"versions":{"a":1},"download_url":7}`),
		"deep":      typed("application/json", strings.Repeat(`{"versions":[`, 20_000)),
	}
	for _, url := range []string{discoveryURL, listURL, documentURL(linux), sumsURL, signatureURL} {
		for name, page := range pages {
			signed := url == sumsURL || url == signatureURL
			if signed && len(name) != 3 || name == "two" && signed || name == "404" && (url == listURL || url == documentURL(linux)) {
				continue // TestLies and TestNotFound test these
			}
			t.Run(name+" "+url, func(t *testing.T) {
				o := newOrigin(t)
				o.at(url, page)
				_, err := o.everything()
				says(t, err, url, "registry.example.com/acme/widget")
				if _, lies := errors.AsType[*Untrusted](err); lies || errors.Is(err, registry.ErrNotFound) {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

func typed(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

func TestUselessDiscovery(t *testing.T) {
	good := `{"providers.v1":"/v1/providers/"}`
	for name, test := range map[string]struct{ contentType, body, words string }{
		"no JSON":              {typeJSON, `<html>`, "it is no discovery document: "},
		"no providers.v1":      {typeJSON, `{"modules.v1":"/v1/modules/"}`, "offers no provider registry (no providers.v1)"},
		"null":                 {typeJSON, `{"providers.v1":null}`, "providers.v1: it is not a URL"},
		"an object":            {typeJSON, `{"providers.v1":{}}`, "offers no provider registry"},
		"empty":                {typeJSON, `{"providers.v1":""}`, "providers.v1: it is not a URL"},
		"http":                 {typeJSON, `{"providers.v1":"http://registry.example.com/v1/providers/"}`, "not an absolute https URL"},
		"a user name":          {typeJSON, `{"providers.v1":"https://me:secret@registry.example.com/"}`, "with a user name"},
		"no host":              {typeJSON, `{"providers.v1":"https:///v1/"}`, "not an absolute https URL"},
		"no URL":               {typeJSON, `{"providers.v1":"https://%zz/"}`, "it is not a URL"},
		"nothing":              {typeJSON, `null`, "offers no provider registry"},
		"plain text":           {"text/plain", good, `its type is "text/plain" and not application/json`},
		"a type that is none":  {"application/json; charset", good, "its type is"},
		"a similar type":       {"application/json+x", good, "its type is"},
		"a type to be printed": {"text/\xff\u202e" + strings.Repeat("x", 5000), good, "its type is"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			o.at(discoveryURL, typed(test.contentType, test.body))
			_, err := o.client().Versions(t.Context(), widget)
			says(t, err, discoveryURL, test.words)
			if errors.Is(err, registry.ErrNotFound) || o.count(listURL) > 0 {
				t.Errorf("the error is %v, and the list was asked for %d times", err, o.count(listURL))
			}
		})
	}
}

func TestUselessPackageDocuments(t *testing.T) {
	for name, test := range map[string]struct {
		change map[string]any
		words  string
	}{
		"an archive over http":      {map[string]any{"download_url": "http://files.example.com/a.zip?X-Amz-Signature=secret"}, "its download_url: http://files.example.com/a.zip is not"},
		"SHA256SUMS over http":      {map[string]any{"shasums_url": "http://files.example.com/a"}, "its shasums_url"},
		"a signature over http":     {map[string]any{"shasums_signature_url": "http://files.example.com/a"}, "its shasums_signature_url"},
		"an archive with a user":    {map[string]any{"download_url": "https://me:secret@files.example.com/a"}, "with a user name"},
		"no archive":                {map[string]any{"download_url": nil}, "its download_url: it is not a URL"},
		"no signature":              {map[string]any{"shasums_signature_url": ""}, "its shasums_signature_url: it is not a URL"},
		"an archive of another way": {map[string]any{"download_url": "data:,archive"}, "not an absolute https URL"},
		"a URL that is none":        {map[string]any{"download_url": "https://files.example.com/\x1b[2J?secret"}, "it is not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrigin(t)
			o.describe(linux, test.change)
			_, err := o.packages()
			says(t, err, documentURL(linux), test.words)
			if _, lies := errors.AsType[*Untrusted](err); lies || errors.Is(err, registry.ErrNotFound) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// A malformed document is an error, and not one without packages.
func TestNoPackageDocument(t *testing.T) {
	o := newOrigin(t)
	o.body(documentURL(linux), []byte("<html>"))
	_, err := o.packages()
	says(t, err, documentURL(linux)+" describes no package: invalid character '<'")
}

func TestOneLine(t *testing.T) {
	long := strings.Repeat("x", maxText)
	for text, want := range map[string]string{
		"a b": "a b", "größe": "größe", "a\xffb": "a?b", "a\ufffdb": "a?b", "a\nb\u202e": "a?b?", long: long, long + "x": long + "…",
	} {
		if got := oneLine(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// An origin's words are repeated, but neither in full length nor as they are.
func TestForeignWords(t *testing.T) {
	o := newOrigin(t)
	for field, value := range map[string]string{"filename": "\x1b[2J\n" + strings.Repeat("é", 5000), "os": strings.Repeat("\x00", 5000), "shasum": strings.Repeat("\u202e", 5000)} {
		good := o.documents[linux][field]
		o.describe(linux, map[string]any{field: value})
		_, err := o.packages()
		says(t, err, "not to be trusted")
		o.describe(linux, map[string]any{field: good})
	}
	o.describe(linux, map[string]any{"signing_keys": map[string]any{"gpg_public_keys": []any{map[string]any{"key_id": strings.Repeat("\n", 5000)}}}})
	_, err := o.packages()
	says(t, err, "not to be trusted")
}
