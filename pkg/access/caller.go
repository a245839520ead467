package access

import (
	"strings"
)

// Caller is who sends a request. The zero Caller is nobody and may do nothing.
type Caller struct {
	anyone bool
	id     ID
	why    string // why there is no token, in the words of an answer
}

// Anyone is the caller of a registry that is open for reading.
var Anyone = Caller{anyone: true}

// Bearer is the caller who shows a token. Whether the token is good is found out
// together with the answer, by a [Lookup].
func Bearer(id ID) Caller { return Caller{id: id} }

// IsAnyone says that the caller may read because everybody may.
func (c Caller) IsAnyone() bool { return c.anyone }

// Token is the token that the caller shows, if any.
func (c Caller) Token() (ID, bool) { return c.id, c.id != ID{} }

// Why says why there is no token, in the words of an answer.
func (c Caller) Why() string {
	if c.why == "" {
		return "there is no token"
	}
	return c.why
}

// maxHeader is the longest header that is looked at, in bytes.
const maxHeader = 1 << 10

// Authenticate reads the Authorization headers of a request: exactly one must
// have the scheme Bearer, in any case, and a token. A token anywhere else, such
// as in the query, does not count.
func Authenticate(authorization []string) Caller {
	if len(authorization) == 0 {
		return Caller{}
	}
	if len(authorization) > 1 || strings.Contains(authorization[0], ",") { // a gateway joins them so
		return Caller{why: "there is more than one Authorization header"}
	}
	scheme, secret, _ := strings.Cut(authorization[0], " ")
	if len(authorization[0]) > maxHeader || !strings.EqualFold(scheme, "Bearer") {
		return Caller{why: "the Authorization header has no bearer token"}
	}
	id, err := ParseToken(strings.TrimSpace(secret))
	if err != nil {
		return Caller{why: "what was sent is not a token of this registry"}
	}
	return Bearer(id)
}

// Lookup looks a token up in the same request to a store that reads something else.
type Lookup struct {
	ID    ID
	Token *Token // after [Lookup.Found]; nil if there is no such token

	// Wanted says whether to read anything else for the caller with this token. If
	// it is nil, everything is read.
	Wanted func(*Token) bool
}

// Found keeps the token, or nil, and says whether anything else is wanted. If it
// is not, the store must read nothing else: the time that takes, or its failure,
// would show what is there.
func (l *Lookup) Found(t *Token) (wanted bool) {
	l.Token = t
	return l.Wanted == nil || l.Wanted(t)
}
