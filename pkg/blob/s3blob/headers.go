package s3blob

import (
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// contentTypes are by the end of the key, the more specific first. There is no
// Content-Encoding for any of them: clients would unpack the archive before
// they hash it.
var contentTypes = []struct{ suffix, contentType string }{
	{".zip", "application/zip"},
	{".tar.gz", "application/gzip"},
	{"SHA256SUMS", "text/plain; charset=utf-8"},
	{".sig", "application/octet-stream"},
	{".json", "application/json"},
	{".asc", "application/pgp-keys"},
}

func contentType(key string) string {
	for _, known := range contentTypes {
		if strings.HasSuffix(key, known.suffix) {
			return known.contentType
		}
	}
	return "application/octet-stream"
}

// immutable lets a client keep what it read, but nobody on the way to it: URLs
// die, and what is published may be for some only.
const immutable = "private, max-age=31536000, immutable"

// contentAddressed are the prefixes under which every key contains a hash of
// what is under it.
var contentAddressed = []string{
	registry.Prefix + "modules/",
	registry.Prefix + "providers/",
	registry.Prefix + "keys/authors/",
}

// cacheControl is nil where S3 is to say nothing.
func cacheControl(key string) *string {
	for _, prefix := range contentAddressed {
		if strings.HasPrefix(key, prefix) {
			value := immutable
			return &value
		}
	}
	return nil
}
