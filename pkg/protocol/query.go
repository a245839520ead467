package protocol

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/directory"
)

// Limits of what a query says.
const (
	maxQuery     = 2048      // bytes, percent-encoded
	maxText      = 256       // bytes of what is looked for
	maxOffset    = 1_000_000 // there are not as many addresses in any registry
	defaultLimit = 15
	maxLimit     = 100
)

// parameters are what the query of a list says.
type parameters struct {
	text, namespace, system string
	verified                bool
	offset, limit           int
}

// parseParameters reads a query. It ignores parameters that it does not know, and all but the
// first of the same name.
//
// Errors: [ErrMalformed].
func parseParameters(query string) (parameters, error) {
	p := parameters{limit: defaultLimit}
	if len(query) > maxQuery {
		return p, refuse(ErrMalformed, "the query has %d bytes, %d are allowed", len(query), maxQuery)
	}
	seen := map[string]bool{}
	for pair := range strings.SplitSeq(query, "&") {
		escapedName, escaped, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(escapedName)
		set := setters[name]
		if err != nil || set == nil || seen[name] {
			continue
		}
		seen[name] = true
		value, err := url.QueryUnescape(escaped)
		if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return p, refuse(ErrMalformed, "%s must be text in UTF-8 without control characters, percent-encoded", name)
		}
		if err := set(&p, value); err != nil {
			return p, refuse(ErrMalformed, "%s %s", name, err)
		}
	}
	return p, nil
}

// setters take the value of each parameter. An empty value is as none.
var setters = map[string]func(p *parameters, value string) error{
	"q": func(p *parameters, value string) error {
		if len(value) > maxText {
			return fmt.Errorf("has %d bytes, %d are allowed", len(value), maxText)
		}
		p.text = strings.TrimSpace(value)
		return nil
	},
	"namespace": func(p *parameters, value string) error { return setName(&p.namespace, value) },
	"provider":  func(p *parameters, value string) error { return setName(&p.system, value) },
	"verified": func(p *parameters, value string) error {
		if value != "" && value != "true" && value != "false" {
			return fmt.Errorf("must be true or false")
		}
		p.verified = value == "true"
		return nil
	},
	"offset": func(p *parameters, value string) error { return setNumber(&p.offset, value, 0, maxOffset) },
	"limit":  func(p *parameters, value string) error { return setNumber(&p.limit, value, 1, maxLimit) },
}

// maxName is the longest part of an address, in bytes.
const maxName = 64

func setName(to *string, value string) error {
	if len(value) > maxName {
		return fmt.Errorf("has %d bytes, %d are allowed", len(value), maxName)
	}
	*to = strings.ToLower(value)
	return nil
}

func setNumber(to *int, value string, least, most int) error {
	if value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return fmt.Errorf("must be a number from %d to %d", least, most)
	}
	*to = n
	return nil
}

// query is what the parameters ask of a folder, within an address.
func (p parameters) query(q directory.Query) directory.Query {
	q.Text, q.Offset, q.Limit = p.text, p.offset, p.limit
	if q.Namespace == "" {
		q.Namespace = p.namespace
	}
	q.System = p.system
	return q
}

// next is the query of the following part of the same list.
func (p parameters) next() string {
	values := url.Values{"limit": {strconv.Itoa(p.limit)}, "offset": {strconv.Itoa(p.offset + p.limit)}}
	for name, value := range map[string]string{"q": p.text, "namespace": p.namespace, "provider": p.system} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values.Encode()
}
