package login

import (
	"maps"
	"net/http"
	"strings"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/pkg/access"
)

// trusted is what of a provider's claims counts: all but an email address that it
// does not say to be verified. If it says that it is not, the same address counts
// as little in other claims.
//
// https://openid.net/specs/openid-connect-core-1_0.html#ClaimStability
func trusted(claims access.Claims) access.Claims {
	verified, said := claims["email_verified"]
	if verified == true || verified == "true" { // some write it as text
		return claims
	}
	claims = maps.Clone(claims)
	email, _ := claims["email"].(string)
	delete(claims, "email")
	for _, name := range []string{"preferred_username", "name", "nickname", "upn"} {
		if value, _ := claims[name].(string); said && strings.EqualFold(value, email) {
			delete(claims, name)
		}
	}
	return claims
}

// errNoSubject is of an identity that is nobody's: OpenID Connect Core 1.0,
// section 2, has a sub in all of them.
var errNoSubject = refuse(http.StatusForbidden, invalidGrant, "the identity token does not say whose it is (sub)")

// owner is whom to ask about a person's token: what people know them by, and
// what the provider does (sub), which nobody can choose for themselves. Without
// that, nobody owns it.
func owner(claims access.Claims) string {
	sub := shown(claims["sub"], access.MaxName/2)
	if sub == "" {
		return ""
	}
	for _, name := range []string{"email", "preferred_username", "name"} {
		if known := shown(claims[name], access.MaxName/2-len(" ()")); known != "" && known != sub {
			return known + " (" + sub + ")"
		}
	}
	return sub
}

// shown is what [access.CheckName] lets through of a claim: empty if that is
// nothing.
func shown(claim any, most int) string {
	text, _ := claim.(string)
	text = strings.TrimSpace(printable.Replace(strings.ToValidUTF8(text, ""), -1))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
