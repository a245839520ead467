package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	strictjson "github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/larder-registry/larder/pkg/access"
)

// MaxToken is the longest identity token that is read, in bytes.
const MaxToken = 16 << 10

// Skew is how far an issuer's clock may be from ours, in either direction.
const Skew = time.Minute

// algorithms are the asymmetric ones that issuers use. With a symmetric one, everybody
// could sign with a published key.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512,
	jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384,
	jose.EdDSA,
}

// token is an identity token that has been read and not verified.
type token struct {
	jws      *jose.JSONWebSignature
	standard jwt.Claims    // the registered claims
	claims   access.Claims // all of them
}

func parse(raw string) (*token, error) {
	switch dots := strings.Count(raw, "."); {
	case len(raw) > MaxToken:
		return nil, invalid("the identity token has more than %d bytes", MaxToken)
	case dots == 4:
		return nil, invalid("the identity token is encrypted: it must be signed alone")
	case dots != 2:
		return nil, invalid("there is no identity token: one has three parts with dots between them; was it copied whole?")
	case strings.ContainsFunc(raw, foreign):
		return nil, invalid("the identity token has characters that such tokens do not have; was it copied whole, and nothing with it?")
	}
	jws, err := jose.ParseSignedCompact(raw, algorithms)
	if wrong, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
		return nil, invalid("the identity token is signed with the algorithm %.20q, and must be with one of %s", wrong.Got, algorithms)
	}
	if err != nil || len(jws.Signatures) != 1 {
		return nil, invalid("the identity token cannot be read; was it copied whole?")
	}
	for _, name := range []jose.HeaderKey{"crit", "b64"} { // extensions, none of which is supported (RFC 7515, 4.1.11)
		if _, ok := jws.Signatures[0].Header.ExtraHeaders[name]; ok {
			return nil, invalid("the identity token has the header %s, which the registry does not understand", name)
		}
	}
	t := &token{jws: jws}
	if err := t.readClaims(jws.UnsafePayloadWithoutVerification()); err != nil {
		return nil, invalid("the claims of the identity token cannot be read")
	}
	return t, nil
}

// foreign says whether a character is neither of base64url nor a dot.
func foreign(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
}

func (t *token) readClaims(payload []byte) error {
	// The strict parser refuses claims that come twice, and text after them.
	if err := strictjson.Unmarshal(payload, &t.standard); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	return decoder.Decode(&t.claims)
}

// check checks issuer, audience and times of a token.
func (t *token) check(issuer string, audiences []string, now time.Time) error {
	named := slices.DeleteFunc(slices.Clone(audiences), func(a string) bool { return a == "" })
	if len(named) == 0 { // to the library that would be any audience
		return invalid("the registry expects no identity token of %.200s", issuer)
	}
	if t.standard.Expiry == nil {
		return invalid("the identity token does not say when it expires (exp)")
	}
	switch err := t.standard.ValidateWithLeeway(jwt.Expected{Issuer: issuer, AnyAudience: named, Time: now}, Skew); {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrInvalidAudience):
		return invalid("the identity token is for %.200q, and must be for %.200q", strings.Join(t.standard.Audience, ", "), strings.Join(named, ", "))
	case errors.Is(err, jwt.ErrExpired):
		return invalid("the identity token expired at %s: ask for a new one", at(t.standard.Expiry))
	case errors.Is(err, jwt.ErrNotValidYet):
		return invalid("the identity token is not good before %s (nbf)", at(t.standard.NotBefore))
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return invalid("the identity token was made at %s (iat), which is in the future", at(t.standard.IssuedAt))
	default:
		return invalid("the identity token does not say what it must")
	}
}

func at(d *jwt.NumericDate) string { return d.Time().UTC().Format(time.RFC3339) }

// Issuer is who has made an identity token, as the token itself says (iss). That is not
// verified yet.
//
// Errors: [ErrInvalid].
func Issuer(raw string) (string, error) {
	t, err := parse(raw)
	switch {
	case err != nil:
		return "", err
	case t.standard.Issuer == "":
		return "", invalid("the identity token does not say who made it (iss)")
	}
	return t.standard.Issuer, nil
}

// Audiences is for whom claims are (aud): one or several.
func Audiences(claims access.Claims) []string {
	switch aud := claims["aud"].(type) {
	case string:
		return []string{aud}
	case []any:
		var all []string
		for _, one := range aud {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	default:
		return nil
	}
}
