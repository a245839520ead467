package sigv4

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/awssignature"
)

// claim is what a request says about its signature.
type claim struct {
	accessKeyID   string
	sessionToken  string // empty: none
	date          string // of the scope
	region        string
	at            time.Time
	signedHeaders []string
	signature     string
	payload       string
	presigned     bool
	lifetime      time.Duration // of a presigned URL
}

func readClaim(header http.Header, query []parameter) (claim, error) {
	presigned := hasAny(query, "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires",
		"X-Amz-SignedHeaders", "X-Amz-Signature")
	old := hasAny(query, "Signature", "AWSAccessKeyId")
	authorization := header.Values("Authorization")
	switch {
	case (presigned || old) && len(authorization) > 0, len(authorization) > 1:
		return claim{}, ErrTwice
	case presigned:
		return readPresigned(query)
	case old:
		return claim{}, ErrUnsupported
	case len(authorization) == 0:
		return claim{}, ErrAnonymous
	default:
		return readAuthorization(authorization[0], header)
	}
}

// readAuthorization reads the claim in an Authorization header.
func readAuthorization(authorization string, header http.Header) (claim, error) {
	name, rest, _ := strings.Cut(authorization, " ")
	if name != awssignature.Algorithm {
		return claim{}, ErrUnsupported
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if _, again := fields[key]; !ok || again {
			return claim{}, fmt.Errorf("%w: Authorization", ErrMalformed)
		}
		fields[key] = value
	}
	at := header.Get("X-Amz-Date")
	if at == "" {
		at = header.Get("Date")
	}
	c := claim{payload: header.Get(contentHash), sessionToken: header.Get(securityToken)}
	if len(header.Values(securityToken)) > 1 {
		return claim{}, fmt.Errorf("%w: %s must be there once", ErrMalformed, securityToken)
	}
	if !slices.Contains(special, c.payload) && !hash.MatchString(c.payload) {
		return claim{}, fmt.Errorf("%w: X-Amz-Content-Sha256 must be %s or a SHA-256", ErrMalformed, strings.Join(special, ", "))
	}
	err := c.read(fields["Credential"], at, fields["SignedHeaders"], fields["Signature"])
	if err == nil && c.sessionToken != "" && !slices.Contains(c.signedHeaders, strings.ToLower(securityToken)) {
		err = fmt.Errorf("%w: the header %s must be signed", ErrMalformed, securityToken)
	}
	return c, err
}

// The values that a request may have for its body's hash, beside the hash itself.
var (
	special = []string{awssignature.UnsignedPayload, "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"}
	hash = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// readPresigned reads the claim of a presigned URL.
func readPresigned(query []parameter) (claim, error) {
	values := map[string]string{}
	for _, name := range []string{"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature"} {
		value, ok := get(query, name)
		if !ok {
			return claim{}, fmt.Errorf("%w: %s must be there once", ErrMalformed, name)
		}
		values[name] = value
	}
	if values["X-Amz-Algorithm"] != awssignature.Algorithm {
		return claim{}, ErrUnsupported
	}
	seconds, err := strconv.ParseUint(values["X-Amz-Expires"], 10, 32)
	lifetime := time.Duration(seconds) * time.Second
	if err != nil || lifetime > maxLifetime {
		return claim{}, fmt.Errorf("%w: X-Amz-Expires must be a number of seconds, at most %d", ErrMalformed, int(maxLifetime.Seconds()))
	}
	c := claim{payload: awssignature.UnsignedPayload, presigned: true, lifetime: lifetime}
	var once bool
	if c.sessionToken, once = get(query, securityToken); !once && hasAny(query, securityToken) {
		return claim{}, fmt.Errorf("%w: %s must be there once", ErrMalformed, securityToken)
	}
	err = c.read(values["X-Amz-Credential"], values["X-Amz-Date"], values["X-Amz-SignedHeaders"], values["X-Amz-Signature"])
	return c, err
}

// read reads what headers and presigned URLs have in common.
func (c *claim) read(credential, at, signedHeaders, signature string) error {
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[3] != service || scope[4] != awssignature.Terminal {
		return fmt.Errorf("%w: the credential must be <access key>/<date>/<region>/%s/%s", ErrMalformed, service, awssignature.Terminal)
	}
	c.accessKeyID, c.date, c.region = scope[0], scope[1], scope[2]
	var err error
	if c.at, err = time.Parse(awssignature.TimeFormat, at); err != nil {
		return fmt.Errorf("%w: the time of signing must be there, as in %s", ErrMalformed, awssignature.TimeFormat)
	}
	if c.at.Format(awssignature.DateFormat) != c.date {
		return fmt.Errorf("%w: the credential's date is not that of the signature", ErrMalformed)
	}
	c.signedHeaders = strings.Split(strings.ToLower(signedHeaders), ";")
	if !slices.Contains(c.signedHeaders, "host") {
		return fmt.Errorf("%w: the header Host must be signed", ErrMalformed)
	}
	c.signature = signature
	return nil
}

func (c claim) checkTime(now time.Time) error {
	if c.at.After(now.Add(maxSkew)) {
		return ErrSkewed
	}
	if c.presigned {
		if now.After(c.at.Add(c.lifetime)) {
			return ErrExpired
		}
		return nil
	}
	if c.at.Before(now.Add(-maxSkew)) {
		return ErrSkewed
	}
	return nil
}

// sign returns the signature of a canonical request.
func (c claim) sign(secret, canonical string) string {
	scope := strings.Join([]string{c.date, c.region, service, awssignature.Terminal}, "/")
	key := awssignature.Key(secret, c.date, c.region, service)
	return awssignature.Sign(key, c.at.Format(awssignature.TimeFormat), scope, []byte(canonical))
}
