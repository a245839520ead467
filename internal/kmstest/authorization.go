package kmstest

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 ` +
	`Credential=([^/, ]+)/(\d{8})/([^/, ]+)/([^/, ]+)/aws4_request, *` +
	`SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})$`)

// maxClockSkew is the largest error of the client's clock.
const maxClockSkew = 5 * time.Minute

// checkAuthorization checks what it can of Signature Version 4 without the secret: the form and
// the scope.
func checkAuthorization(region string, r *http.Request) error {
	header := r.Header.Get("Authorization")
	if header == "" {
		return refuse("MissingAuthenticationTokenException", "Missing Authentication Token")
	}
	parts := authorization.FindStringSubmatch(header)
	if parts == nil {
		return refuse("IncompleteSignatureException", "Authorization header does not have the form of Signature Version 4.")
	}
	day, scope, service, signed := parts[2], parts[3], parts[4], strings.Split(parts[5], ";")
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	switch {
	case service != "kms":
		return refuse("InvalidSignatureException", "Credential should be scoped to correct service: 'kms'.")
	case scope != region:
		return refuse("InvalidSignatureException", "Credential should be scoped to a valid region.")
	case err != nil || at.Format("20060102") != day:
		return refuse("InvalidSignatureException", "Date in Credential scope does not match YYYYMMDD from the X-Amz-Date header.")
	case time.Since(at).Abs() > maxClockSkew:
		return refuse("InvalidSignatureException", "Signature not yet current, or expired: %s", at)
	}
	return checkSigned(r, signed)
}

// checkSigned says whether the headers that must be signed are.
func checkSigned(r *http.Request, signed []string) error {
	required := []string{"host"}
	for name := range r.Header {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || name == "content-type" {
			required = append(required, name)
		}
	}
	for _, name := range required {
		if !slices.Contains(signed, name) {
			return refuse("InvalidSignatureException", "The header %s is not signed.", name)
		}
	}
	return nil
}
