package sigv4

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/internal/awssignature"
)

// parameter is a decoded parameter of a query.
type parameter struct{ name, value string }

// parseQuery reads the query of a request's target. Other than in net/url, a semicolon is
// an ordinary character, as for S3.
func parseQuery(target string) ([]parameter, error) {
	_, query, _ := strings.Cut(target, "?")
	var all []parameter
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		decodedName, err := url.QueryUnescape(name)
		if err != nil {
			return nil, fmt.Errorf("%w: the query is not encoded as one", ErrMalformed)
		}
		decodedValue, err := url.QueryUnescape(value)
		if err != nil {
			return nil, fmt.Errorf("%w: the query is not encoded as one", ErrMalformed)
		}
		all = append(all, parameter{decodedName, decodedValue})
	}
	return all, nil
}

// get returns the value of a parameter, which must be there exactly once.
func get(query []parameter, name string) (value string, once bool) {
	for _, p := range query {
		if p.name != name {
			continue
		}
		if once {
			return "", false
		}
		value, once = p.value, true
	}
	return value, once
}

// hasAny says whether a parameter has one of the names.
func hasAny(query []parameter, names ...string) bool {
	return slices.ContainsFunc(query, func(p parameter) bool { return slices.Contains(names, p.name) })
}

// canonicalRequest returns the canonical request of AWS's documentation, which was signed.
// Path and query are decoded and encoded again, once, as by S3.
func canonicalRequest(r *http.Request, query []parameter, c claim) (string, error) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return "", fmt.Errorf("%w: the path is not encoded as one", ErrMalformed)
	}
	var b strings.Builder
	b.WriteString(r.Method + "\n" + escape(decoded, true) + "\n" + canonicalQuery(query, c.presigned) + "\n")
	headers := slices.Clone(c.signedHeaders)
	slices.Sort(headers)
	for _, name := range headers {
		b.WriteString(name + ":" + headerValue(r, name) + "\n")
	}
	b.WriteString("\n" + strings.Join(headers, ";") + "\n" + c.payload)
	return b.String(), nil
}

func canonicalQuery(query []parameter, presigned bool) string {
	var encoded []parameter
	for _, p := range query {
		if presigned && p.name == "X-Amz-Signature" {
			continue
		}
		encoded = append(encoded, parameter{escape(p.name, false), escape(p.value, false)})
	}
	slices.SortFunc(encoded, func(a, b parameter) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.value, b.value))
	})
	pairs := make([]string, len(encoded))
	for i, p := range encoded {
		pairs[i] = p.name + "=" + p.value
	}
	return strings.Join(pairs, "&")
}

// headerValue returns a header as it is signed: all its values, without the spaces around
// them, and with one space between words.
func headerValue(r *http.Request, name string) string {
	values := r.Header.Values(name)
	switch {
	case name == "host":
		values = []string{r.Host}
	case name == "content-length" && len(values) == 0 && r.ContentLength >= 0:
		values = []string{strconv.FormatInt(r.ContentLength, 10)}
	case name == "transfer-encoding":
		values = r.TransferEncoding
	}
	trimmed := make([]string, len(values))
	for i, value := range values {
		trimmed[i] = oneSpace(value)
	}
	return strings.Join(trimmed, ",")
}

func oneSpace(value string) string {
	words := strings.FieldsFunc(value, func(c rune) bool { return c == ' ' })
	return strings.Trim(strings.Join(words, " "), " \t")
}

// escape encodes all characters but ASCII letters, digits and -._~. With keepSlash, slashes
// stay, too.
func escape(text string, keepSlash bool) string {
	return string(awssignature.AppendEscaped(nil, text, keepSlash))
}
