package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Use is what a rule is for.
type Use string

// The uses.
const (
	ForPipelines Use = "pipelines" // identity tokens that are exchanged for tokens of the registry
	ForPeople    Use = "people"    // who log in
)

// Rule gives scopes to those whose claims fit it, on the word of the issuer.
type Rule struct {
	Name     string   `json:"name"`
	Use      Use      `json:"use"`
	Issuer   string   `json:"issuer,omitempty"`   // exactly the iss claim; empty for people, who log in with the registry's own provider
	Audience string   `json:"audience,omitempty"` // exactly one of the aud claim; likewise
	Claims   []Claim  `json:"claims"`             // all of them must fit
	Scopes   Scopes   `json:"scopes"`             // what its tokens may read
	Uploads  []string `json:"uploads,omitempty"`  // namespaces to which pipelines may upload
	Lifetime Duration `json:"lifetime"`           // of its tokens and access keys
}

// Claim is what one claim must be.
type Claim struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"` // see [ParseClaim]
}

// Duration is a time.Duration, which JSON has as text such as "1h0m0s".
type Duration time.Duration

// String is that of a [time.Duration].
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText is String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what String writes.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// How long the tokens of rules may be good.
const (
	MinLifetime         = time.Minute
	MaxPipelineLifetime = 24 * time.Hour
	MaxPersonLifetime   = 366 * 24 * time.Hour
)

const (
	maxClaims = 20
	maxText   = 1000 // of an issuer, an audience, a claim's name or pattern, in bytes
)

var ruleName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Validate says what is wrong with a rule. It refuses a rule that would trust
// strangers.
func (r Rule) Validate() error {
	if !ruleName.MatchString(r.Name) {
		return fmt.Errorf("%.100q is not a name for a rule: write up to 63 lower-case letters, digits and hyphens", r.Name)
	}
	if len(r.Claims) == 0 || len(r.Claims) > maxClaims {
		return fmt.Errorf("the rule must say 1 to %d claims, and says %d", maxClaims, len(r.Claims))
	}
	for _, claim := range r.Claims {
		if err := claim.validate(); err != nil {
			return err
		}
	}
	if len(r.Scopes) > MaxScopes || len(r.Scopes) == 0 && len(r.Uploads) == 0 {
		return fmt.Errorf("there must be 1 to %d scopes, and there are %d", MaxScopes, len(r.Scopes))
	}
	if len(r.Uploads) > 0 {
		if err := CheckNamespaces(r.Uploads); err != nil {
			return fmt.Errorf("uploads: %w", err)
		}
	}
	switch r.Use {
	case ForPeople:
		return r.validateForPeople()
	case ForPipelines:
		return r.validateForPipelines()
	default:
		return fmt.Errorf("a rule is for %s or %s, not for %.100q", ForPipelines, ForPeople, r.Use)
	}
}

// Gives is what a rule gives, in the words of a [Decision].
func (r Rule) Gives() string {
	var all []string
	if len(r.Scopes) > 0 {
		all = append(all, r.Scopes.String())
	}
	if len(r.Uploads) > 0 {
		all = append(all, "upload to "+strings.Join(r.Uploads, ", "))
	}
	return strings.Join(all, ", ")
}

func (r Rule) validateForPeople() error {
	if r.Issuer != "" || r.Audience != "" {
		return errors.New("a rule for people has neither issuer nor audience: they log in with the provider that the registry is set to")
	}
	if len(r.Uploads) > 0 {
		return errors.New("a rule for people lets nobody upload: make an uploader for who does, with \"larder uploader create\"")
	}
	return r.checkLifetime(MaxPersonLifetime)
}

func (r Rule) validateForPipelines() error {
	issuer, err := url.Parse(r.Issuer)
	if err != nil || !isText(r.Issuer) || issuer.Scheme != "https" || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" {
		return fmt.Errorf("%.100q is not an issuer: write its https:// URL, exactly as it stands in the claim iss", r.Issuer)
	}
	if !isText(r.Audience) {
		return errors.New("the rule has no audience: write what the pipelines ask their identity tokens to be for, such as https:// and the registry's host")
	}
	if !slices.ContainsFunc(r.Claims, Claim.isSelective) {
		return errors.New("the rule trusts everybody whom the issuer knows: write a claim that is not just *")
	}
	if err := r.checkOwner(); err != nil {
		return err
	}
	return r.checkLifetime(MaxPipelineLifetime)
}

func (r Rule) checkLifetime(most time.Duration) error {
	if d := time.Duration(r.Lifetime); d < MinLifetime || d > most {
		return fmt.Errorf("a lifetime of %v is not between %v and %v", d, MinLifetime, most)
	}
	return nil
}

// owners has the issuers that give everybody an identity. For each it has the claims
// that name the owner, and the text before the owner's name in their values.
var owners = map[string]map[string]string{
	"https://token.actions.githubusercontent.com": {
		"sub": "repo:", "repository": "", "repository_owner": "", "repository_id": "", "repository_owner_id": "", "enterprise": "", "enterprise_id": "",
	},
	"https://gitlab.com": {
		"sub": "project_path:", "project_path": "", "project_id": "", "namespace_path": "", "namespace_id": "",
	},
	"https://agent.buildkite.com": {
		"sub": "organization:", "organization_slug": "", "organization_id": "", "pipeline_id": "",
	},
	"https://app.terraform.io": {
		"sub": "organization:", "terraform_organization_name": "", "terraform_organization_id": "", "terraform_workspace_id": "",
	},
	"https://accounts.google.com": {
		"sub": "", "email": "", "hd": "",
	},
}

// checkOwner refuses a rule that strangers fit, too.
func (r Rule) checkOwner() error {
	claims, public := owners[strings.TrimSuffix(r.Issuer, "/")]
	if !public {
		return nil
	}
	for _, claim := range r.Claims {
		if prefix, ok := claims[claim.Name]; ok {
			if owner, ok := strings.CutPrefix(claim.Pattern, prefix); ok && owner != "" && !strings.HasPrefix(owner, wildcard) {
				return nil
			}
		}
	}
	return fmt.Errorf("everybody can have an identity of %s: write a claim that says whose it is, such as repository_owner=acme or namespace_path=acme, without a * in the place of the owner", r.Issuer)
}

const wildcard = "*"

// ParseClaim reads NAME=PATTERN. A pattern is the claim's value, or one of its
// values, letter by letter. Slashes and colons divide it into parts. A part may be
// *, which fits any one part; at the end of the pattern it fits one part or more:
//
//	repository_owner=acme
//	sub=repo:acme/*
//	sub=repo:acme/*:ref:refs/heads/main
//
// So repo:acme/* fits repo:acme/widget:ref:refs/heads/main and never
// repo:acme-evil/x.
func ParseClaim(text string) (Claim, error) {
	name, pattern, ok := strings.Cut(text, "=")
	if !ok {
		return Claim{}, fmt.Errorf("%.100q is not a claim: write NAME=PATTERN, like repository_owner=acme", text)
	}
	claim := Claim{name, pattern}
	return claim, claim.validate()
}

func (c Claim) validate() error {
	if CheckName(c.Name) != nil || !isText(c.Pattern) {
		return fmt.Errorf("the claim %.100q must have a name, and a pattern of up to %d bytes that can be printed", c.Name+"="+c.Pattern, maxText)
	}
	for _, part := range split(c.Pattern) {
		if part != wildcard && strings.Contains(part, wildcard) {
			return fmt.Errorf("in the pattern %.100q a * is next to other letters: it stands for a whole part between slashes and colons", c.Pattern)
		}
	}
	return nil
}

// isText says that a text can be shown to people as it is.
func isText(text string) bool {
	return text != "" && len(text) <= maxText && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// isSelective says whether there are values that the pattern does not fit.
func (c Claim) isSelective() bool {
	return slices.ContainsFunc(split(c.Pattern), func(part string) bool { return part != wildcard && part != "/" && part != ":" })
}

// String is the claim as [ParseClaim] reads it.
func (c Claim) String() string { return c.Name + "=" + c.Pattern }

// fits says whether a value of a claim fits, or one of its values. Numbers and
// booleans are compared as they are written.
func (c Claim) fits(value any) bool {
	switch v := value.(type) {
	case string:
		return match(split(c.Pattern), split(v))
	case bool:
		return fmt.Sprint(v) == c.Pattern
	case json.Number:
		return v.String() == c.Pattern
	case []any:
		return slices.ContainsFunc(v, func(one any) bool {
			_, nested := one.([]any)
			return !nested && c.fits(one)
		})
	default:
		return false
	}
}

// split is the parts of a text and the separators between them, in order.
func split(text string) []string {
	var all []string
	for text != "" {
		end := strings.IndexAny(text, "/:")
		switch end {
		case -1:
			end = len(text)
		case 0:
			end = 1
		}
		all = append(all, text[:end])
		text = text[end:]
	}
	return all
}

// match compares parts and separators. A wildcard fits one part that is not empty; at
// the end it also fits all that follows.
func match(pattern, value []string) bool {
	for i, want := range pattern {
		if i >= len(value) {
			return false
		}
		isPart := value[i] != "/" && value[i] != ":"
		switch {
		case want == wildcard && !isPart:
			return false
		case want == wildcard && i == len(pattern)-1:
			return true
		case want != wildcard && want != value[i]:
			return false
		}
	}
	return len(pattern) == len(value)
}

// Claims is what an issuer says of somebody, as JSON has it, with numbers as
// [json.Number].
type Claims map[string]any

// Fits says whether a rule trusts somebody with these claims. The caller has compared
// issuer and audience.
func (r Rule) Fits(claims Claims) bool {
	return len(r.Claims) > 0 && !slices.ContainsFunc(r.Claims, func(c Claim) bool { return !c.fits(claims[c.Name]) })
}

// Grant is what rules give.
type Grant struct {
	Rules    []string // their names
	Scopes   Scopes   // all of them
	Uploads  []string // all namespaces
	Lifetime time.Duration
}

// Granted is what all the rules give that fit: their scopes and uploads together, for
// the shortest of their lifetimes. It names no rules if no rule fits.
func Granted(rules []Rule, claims Claims) Grant {
	var g Grant
	for _, rule := range rules {
		if !rule.Fits(claims) {
			continue
		}
		g.Rules = append(g.Rules, rule.Name)
		for _, scope := range rule.Scopes {
			if !slices.ContainsFunc(g.Scopes, func(s Scope) bool { return s.String() == scope.String() }) {
				g.Scopes = append(g.Scopes, scope)
			}
		}
		for _, namespace := range rule.Uploads {
			if !slices.Contains(g.Uploads, namespace) {
				g.Uploads = append(g.Uploads, namespace)
			}
		}
		if d := time.Duration(rule.Lifetime); g.Lifetime == 0 || d < g.Lifetime {
			g.Lifetime = d
		}
	}
	return g
}
