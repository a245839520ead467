// Package admin is what operators ask of a registry about its tokens and its
// rules of trust: a [Request] and an [Answer], both JSON. Handle does not check who
// sends a request: its caller lets only operators send one.
//
// No request and no answer has the text of a token. The operator's command makes the
// text, and asks the registry to accept its ID.
package admin

import (
	"errors"
	"regexp"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// Request asks for one thing: exactly one field is set.
type Request struct {
	CreateToken *CreateToken `json:"create_token,omitempty"`
	ListTokens  *ListTokens  `json:"list_tokens,omitempty"`
	RevokeToken *RevokeToken `json:"revoke_token,omitempty"`
	AddRule     *access.Rule `json:"add_rule,omitempty"`
	ListRules   *ListRules   `json:"list_rules,omitempty"`
	RemoveRule  *RemoveRule  `json:"remove_rule,omitempty"`
}

// CreateToken asks for a new token, with a name that no other good token has. The same
// request again changes nothing and has the same answer.
type CreateToken struct {
	ID       access.ID       `json:"id"` // of a text from [access.NewToken]
	Name     string          `json:"name"`
	Owner    string          `json:"owner"`
	Scopes   access.Scopes   `json:"scopes"`
	Lifetime access.Duration `json:"lifetime,omitempty"` // from now on, [access.MinLifetime] or more
	Forever  bool            `json:"forever,omitempty"`  // in the place of a lifetime
}

// ListTokens asks for a page of all tokens.
type ListTokens struct {
	After string `json:"after,omitempty"` // the Next of the page before; empty at first
}

// RevokeToken asks for the end of one token.
type RevokeToken struct {
	Which string `json:"which"` // its name, its ID, or what its ID begins with, from [MinPrefix] digits on
}

// MinPrefix is how many hex digits of a token's ID name the token, if no other ID
// begins with them.
const MinPrefix = 8

// secret is the text of a token, or most of one.
var secret = regexp.MustCompile("(?i)" + access.Prefix + "[a-z2-7]{16,}")

// Validate refuses what may be the text of a token, which must not be in a
// request, in an answer or in a log.
func (r RevokeToken) Validate() error {
	if secret.MatchString(r.Which) {
		return errors.New("a token is revoked by its name or its ID, not by its text: \"larder token list\" says them")
	}
	return nil
}

// ListRules asks for all rules of trust.
type ListRules struct{}

// RemoveRule asks for the end of a rule of trust.
type RemoveRule struct {
	Name string `json:"name"`
}

// Validate refuses what may be the text of a token, as that of [RevokeToken] does.
func (r RemoveRule) Validate() error {
	if secret.MatchString(r.Name) {
		return errors.New("a rule is removed by its name, and that is a token, which \"larder token revoke\" ends")
	}
	return nil
}

// Answer is what became of a request. Without an error, it has the field for the kind
// of the request.
type Answer struct {
	Error  string        `json:"error,omitempty"`  // what went wrong and what to do
	Token  *access.Token `json:"token,omitempty"`  // which was created, or revoked
	Tokens *TokenPage    `json:"tokens,omitempty"` // of ListTokens
	Rule   *access.Rule  `json:"rule,omitempty"`   // which was added, or removed
	Rules  *RuleList     `json:"rules,omitempty"`  // of ListRules
}

// TokenPage is a page of tokens, in the order of their IDs.
type TokenPage struct {
	Tokens []access.Token `json:"tokens"`
	Next   string         `json:"next,omitempty"` // to go on after; empty when these were the last
}

// RuleList is all rules, in the order of their names.
type RuleList struct {
	Rules []access.Rule `json:"rules"`
}

// Answers says whether an answer has what a request asks for.
func (a Answer) Answers(r Request) bool {
	switch {
	case r.CreateToken != nil, r.RevokeToken != nil:
		return a.Token != nil
	case r.ListTokens != nil:
		return a.Tokens != nil
	case r.AddRule != nil, r.RemoveRule != nil:
		return a.Rule != nil
	default:
		return a.Rules != nil
	}
}

// Validate says what is wrong with a request, without asking a registry.
func (c CreateToken) Validate() error {
	_, err := c.token(time.Now())
	return err
}

// token is the token that is asked for, made at a time.
func (c CreateToken) token(now time.Time) (access.Token, error) {
	t := access.Token{
		ID: c.ID, Name: c.Name, Owner: c.Owner, Origin: access.ByOperator, Scopes: c.Scopes,
		Created: now.UTC().Truncate(time.Second),
	}
	lifetime := time.Duration(c.Lifetime)
	switch {
	case c.Forever == (lifetime != 0):
		return t, errors.New("the token must either expire some time, or never")
	case !c.Forever && lifetime < access.MinLifetime:
		return t, errors.New("the token would be good for less than a minute")
	case secret.MatchString(c.Name + " " + c.Owner):
		return t, errors.New("the name or owner is the text of a token, which must not be told to anybody: revoke that token, and give a name")
	case !c.Forever:
		t.Expires = t.Created.Add(lifetime)
	}
	return t, t.Validate()
}
