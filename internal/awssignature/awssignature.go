// Package awssignature has the parts of AWS Signature Version 4 that are the same for those
// who sign and for those who verify.
package awssignature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// The words and the forms of time in a signature.
const (
	Algorithm       = "AWS4-HMAC-SHA256"
	Terminal        = "aws4_request" // the end of every scope
	TimeFormat      = "20060102T150405Z"
	DateFormat      = "20060102"
	UnsignedPayload = "UNSIGNED-PAYLOAD"
)

// Key returns the signing key of AWS's documentation: it is derived from a secret, and
// signs the requests of a day to a service in a region.
func Key(secret, date, region, service string) []byte {
	key := []byte("AWS4" + secret)
	for _, part := range []string{date, region, service, Terminal} {
		key = mac(key, []byte(part))
	}
	return key
}

// Sign returns the signature of a canonical request, in hex. At is the time in
// [TimeFormat], and scope is "<date>/<region>/<service>/" + [Terminal].
func Sign(key []byte, at, scope string, canonicalRequest []byte) string {
	hash := sha256.Sum256(canonicalRequest)
	text := make([]byte, 0, 256)
	text = append(text, Algorithm+"\n"...)
	text = append(append(text, at...), '\n')
	text = append(append(text, scope...), '\n')
	text = hex.AppendEncode(text, hash[:])
	return hex.EncodeToString(mac(key, text))
}

func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text) // hashes do not fail
	return h.Sum(nil)
}

// AppendEscaped appends a text in which all characters but ASCII letters, digits and -._~
// are percent-encoded. With keepSlash, slashes stay, too.
func AppendEscaped(to []byte, text string, keepSlash bool) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9',
			c == '-', c == '.', c == '_', c == '~', c == '/' && keepSlash:
			to = append(to, c)
		default:
			to = append(to, '%', digits[c>>4], digits[c&15])
		}
	}
	return to
}

// Host is the host of a URL as it is sent and signed: without the scheme's own port.
func Host(u *url.URL) string {
	if u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		return strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Host
}
