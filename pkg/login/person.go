package login

import (
	"maps"
	"net/http"
	"strings"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/pkg/access"
)

// trusted is the claims that count: all but an email address that the provider does not
// call verified. If it says that it is not verified, the same address in other claims does
// not count, either.
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

// errNoSubject refuses an identity without a sub, which all have by OpenID Connect Core
// 1.0, section 2.
var errNoSubject = refuse(http.StatusForbidden, invalidGrant, "the identity token does not say whose it is (sub)")

// owner is whom to ask about a person's token: the name that people know, and the
// provider's (sub), which nobody can choose for themselves. It is empty without a sub.
func owner(claims access.Claims) string {
	sub := shown(claims["sub"], access.MaxName/2)
	if sub == "" {
		return ""
	}
	for _, name := range []string{"email", "preferred_username", "name"} {
		if familiar := shown(claims[name], access.MaxName/2-len(" ()")); familiar != "" && familiar != sub {
			return familiar + " (" + sub + ")"
		}
	}
	return sub
}

// shown is a claim as [access.CheckName] accepts it, or empty.
func shown(claim any, most int) string {
	text, _ := claim.(string)
	text = strings.TrimSpace(printable.Replace(strings.ToValidUTF8(text, ""), -1))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
