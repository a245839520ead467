package s3blob

import (
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// contentTypes are by the end of the key, the more specific first. None has a
// Content-Encoding: clients would unpack the archive before they hash it.
var contentTypes = []struct{ suffix, contentType string }{
	{".zip", "application/zip"},
	{".tar.gz", "application/gzip"},
	{"SHA256SUMS", "text/plain; charset=utf-8"},
	{".sig", "application/octet-stream"},
	{".json", "application/json"},
	{".asc", "application/pgp-keys"},
}

func contentType(key string) string {
	for _, t := range contentTypes {
		if strings.HasSuffix(key, t.suffix) {
			return t.contentType
		}
	}
	return "application/octet-stream"
}

// immutable lets clients keep an object, but not shared caches: URLs expire, and not
// everybody may read what is published.
const immutable = "private, max-age=31536000, immutable"

// contentAddressed are the prefixes under which every key contains a hash of its object.
var contentAddressed = []string{
	registry.Prefix + "modules/",
	registry.Prefix + "providers/",
	registry.Prefix + "keys/authors/",
}

// cacheControl is nil for an object without the header.
func cacheControl(key string) *string {
	for _, prefix := range contentAddressed {
		if strings.HasPrefix(key, prefix) {
			value := immutable
			return &value
		}
	}
	return nil
}
