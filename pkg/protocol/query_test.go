package protocol

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestParseParameters(t *testing.T) {
	for query, want := range map[string]parameters{
		"":                              {limit: 15},
		"&&&":                           {limit: 15},
		"q=":                            {limit: 15},
		"q=vpc&limit=1&offset=2":        {text: "vpc", offset: 2, limit: 1},
		"q=%27aws+vpc%27":               {text: "'aws vpc'", limit: 15}, // as HashiCorp's MCP server sends it
		"q='vpc'&offset=0":              {text: "'vpc'", limit: 15},
		"q=caf%C3%A9":                   {text: "café", limit: 15},
		"q=one&q=two":                   {text: "one", limit: 15},
		"q=&q=two":                      {limit: 15},
		"limit=100&offset=1000000":      {limit: 100, offset: 1000000},
		"limit=&offset=":                {limit: 15},
		"verified=true":                 {verified: true, limit: 15},
		"verified=false":                {limit: 15},
		"verified=":                     {limit: 15},
		"namespace=ACME&provider=AWS":   {namespace: "acme", system: "aws", limit: 15},
		"page=%zz&%zz=1&sort=%00&x=1":   {limit: 15}, // unknown, so nobody looks at it
		"q=" + strings.Repeat("a", 256): {text: strings.Repeat("a", 256), limit: 15},
		"q=a;limit=1":                   {text: "a;limit=1", limit: 15},
		"Q=a&LIMIT=x":                   {limit: 15},
		"%71=vpc":                       {text: "vpc", limit: 15},
	} {
		if got, err := parseParameters(query); err != nil || got != want {
			t.Errorf("%.60q: %+v, %v, want %+v", query, got, err, want)
		}
	}
}

// nastyQueries are refused on every list, with what is said about them.
var nastyQueries = map[string]string{
	"q=" + strings.Repeat("a", 257):         "q has 257 bytes, 256 are allowed",
	"q=" + strings.Repeat("a", maxQuery):    "the query has 2050 bytes, 2048 are allowed",
	strings.Repeat("&", maxQuery+1):         "the query has 2049 bytes, 2048 are allowed",
	"q=%00":                                 "q must be text in UTF-8 without control characters, percent-encoded",
	"q=a%0Ab":                               "q must be text in UTF-8 without control characters, percent-encoded",
	"q=%ff":                                 "q must be text in UTF-8 without control characters, percent-encoded",
	"q=\xff\xfe":                            "q must be text in UTF-8 without control characters, percent-encoded",
	"q=%ED%A0%80":                           "q must be text in UTF-8 without control characters, percent-encoded",
	"q=%zz":                                 "q must be text in UTF-8 without control characters, percent-encoded",
	"q=a&limit=0":                           "limit must be a number from 1 to 100",
	"q=a&limit=-1":                          "limit must be a number from 1 to 100",
	"q=a&limit=101":                         "limit must be a number from 1 to 100",
	"q=a&limit=1e2":                         "limit must be a number from 1 to 100",
	"q=a&limit=x&limit=1":                   "limit must be a number from 1 to 100",
	"q=a&limit=%20":                         "limit must be a number from 1 to 100",
	"q=a&offset=-1":                         "offset must be a number from 0 to 1000000",
	"q=a&offset=1000000000000000000":        "offset must be a number from 0 to 1000000",
	"q=a&offset=99999999999999999999999999": "offset must be a number from 0 to 1000000",
	"q=a&offset=1000001":                    "offset must be a number from 0 to 1000000",
	"q=a&verified=1":                        "verified must be true or false",
	"q=a&namespace=" + strings.Repeat("a", 65): "namespace has 65 bytes, 64 are allowed",
	"q=a&provider=%00":                         "provider must be text in UTF-8 without control characters, percent-encoded",
}

func TestParseParametersRefuses(t *testing.T) {
	for query, want := range nastyQueries {
		if _, err := parseParameters(query); !errors.Is(err, ErrMalformed) || err.Error() != want {
			t.Errorf("%.60q: %v, want %s", query, err, want)
		}
	}
}

// What follows a part of a list is the next part of the same list.
func TestNextParameters(t *testing.T) {
	for _, p := range []parameters{
		{limit: 15}, {text: "'a b'&q=c#", limit: 7, offset: 21}, {namespace: "acme", system: "aws", limit: 100, offset: 999_900},
	} {
		want := p
		want.offset += p.limit
		if got, err := parseParameters(p.next()); err != nil || got != want {
			t.Errorf("%+v: %s is %+v, %v", p, p.next(), got, err)
		}
	}
	q := parameters{text: "a", namespace: "other", system: "aws", offset: 1, limit: 2}.query(directory.Query{Folder: registry.Modules, Namespace: "acme"})
	if want := (directory.Query{Folder: registry.Modules, Namespace: "acme", System: "aws", Text: "a", Offset: 1, Limit: 2}); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
}

func FuzzParseParameters(f *testing.F) {
	for query := range nastyQueries {
		f.Add(query)
	}
	f.Add("q='a'&limit=3&offset=9&provider=aws&namespace=acme&verified=false")
	f.Fuzz(func(t *testing.T, query string) {
		p, err := parseParameters(query)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || len(err.Error()) > 200 {
				t.Errorf("%q: %v", query, err)
			}
			return
		}
		if len(p.text) > maxText || p.limit < 1 || p.limit > maxLimit || p.offset < 0 || p.offset > maxOffset {
			t.Errorf("%q: %+v", query, p)
		}
		if _, err := url.ParseQuery(p.next()); err != nil {
			t.Errorf("%q leads to %q: %v", query, p.next(), err)
		}
	})
}
