package locals3

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/versity/versitygw/backend/posix"
)

// methods are the methods of S3.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions}

// asksForKeys says whether a request is one of AWS's STS, not of S3: by that protocol
// clients ask for access keys.
func asksForKeys(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Method == http.MethodPost && r.URL.Path == "/" && r.Header.Get("Authorization") == "" &&
		err == nil && kind == "application/x-www-form-urlencoded"
}

// misshapen returns why a request cannot be that of an S3 client, or nil.
func misshapen(r *http.Request) *refusal {
	switch {
	case !slices.Contains(methods, r.Method):
		return &methodNotAllowed
	case !strings.HasPrefix(r.RequestURI, "/") || strings.HasPrefix(r.RequestURI, "//"):
		return &invalidURI
	case !isText(r.URL.Path) || !isText(source(r.Header)):
		return &invalidKey
	case (r.Method == http.MethodPut || r.Method == http.MethodPost) && isUnlisted(r.URL.Path):
		return &unlistedKey
	case r.Header.Get("Upgrade") != "":
		return &noUpgrade
	case isForm(r.Header):
		return &noForms
	}
	return nil
}

// copySource is the header that names the object to copy.
const copySource = "X-Amz-Copy-Source"

// source returns the object to copy, or "".
func source(header http.Header) string {
	encoded := header.Get(copySource)
	if decoded, err := url.PathUnescape(encoded); err == nil {
		return decoded
	}
	return encoded
}

// isText says whether a text can be a key: it must be UTF-8, as on AWS, and without
// characters that XML cannot have. Listings are XML, so nobody would find the object
// again, and nothing would publish it.
func isText(key string) bool {
	return utf8.ValidString(key) && !strings.ContainsFunc(key, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == '\ufffe' || c == '\uffff'
	})
}

// isUnlisted says whether a key has a part, after its first, with the name of the folder
// in which the endpoint keeps unfinished uploads. Listings leave such a folder out
// everywhere, so nobody would find the object again, and nothing would publish it.
func isUnlisted(path string) bool {
	const bucketAndFirst = 3 // with what is before the slash at the beginning
	parts := strings.Split(path, "/")
	return len(parts) > bucketAndFirst && slices.Contains(parts[bucketAndFirst:], posix.MetaTmpDir)
}

// isForm says whether the endpoint would read the body as a form, with any method: it would
// write it to the system's temporary folder.
func isForm(header http.Header) bool {
	return slices.ContainsFunc(header.Values("Content-Type"), func(value string) bool {
		kind, _, err := mime.ParseMediaType(value)
		return strings.HasPrefix(strings.ToLower(strings.TrimSpace(value)), "multipart/form-data") ||
			err == nil && kind == "multipart/form-data"
	})
}

// uploadParameters are the parameters that the query of an upload may have.
var uploadParameters = []string{"partNumber", "uploadId", "x-id"}

// isUpload says whether the body of a request is an object, or a part of one, which the
// endpoint reads as a stream.
func isUpload(r *http.Request) bool {
	path, query, _ := strings.Cut(r.RequestURI, "?")
	_, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if r.Method != http.MethodPut || key == "" {
		return false
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name != "" && !slices.Contains(uploadParameters, name) && !strings.HasPrefix(strings.ToLower(name), "x-amz-") {
			return false
		}
	}
	return true
}

// hasNoLength says whether an upload names no length. A server would take it for empty.
func hasNoLength(r *http.Request) bool {
	return isUpload(r) && r.ContentLength == 0 && r.Header.Get("Content-Length") == "" && source(r.Header) == ""
}
