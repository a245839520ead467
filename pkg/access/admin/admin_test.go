package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
)

// world is a handler over a real store, at a time that the test sets, and the decisions
// that reached its audit.
type world struct {
	*Handler
	store     access.Store
	now       time.Time
	decisions []access.Decision
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	w := &world{store: store, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.Handler = New(store, func(_ context.Context, d access.Decision) { w.decisions = append(w.decisions, d) })
	w.Handler.now = func() time.Time { return w.now }
	return w
}

// must is the answer to a request, which must not be an error.
func (w *world) must(t *testing.T, r Request) Answer {
	t.Helper()
	a := w.Handle(t.Context(), r)
	if a.Error != "" || !a.Answers(r) {
		t.Fatalf("%+v is answered %+v", r, a)
	}
	return a
}

// refused checks that a request is refused with these words, and that the audit has no
// allowed decision.
func (w *world) refused(t *testing.T, r Request, says ...string) string {
	t.Helper()
	w.decisions = nil
	a := w.Handle(t.Context(), r)
	for _, want := range says {
		if !strings.Contains(a.Error, want) || a.Answers(r) {
			t.Errorf("%+v is answered %+v, want %q", r, a, want)
		}
	}
	for _, d := range w.decisions {
		if d.Allowed || d.Why != a.Error {
			t.Errorf("it was refused, and the audit has %+v", d)
		}
	}
	return a.Error
}

func scopes(t *testing.T, texts ...string) access.Scopes {
	t.Helper()
	s, err := access.ParseScopes(texts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wanted is a request for a token of a name, good for a day.
func wanted(t *testing.T, name string) *CreateToken {
	_, id := access.NewToken()
	return &CreateToken{ID: id, Name: name, Owner: "alice", Scopes: scopes(t, "read *"), Lifetime: access.Duration(24 * time.Hour)}
}

func TestCreateToken(t *testing.T) {
	w := newWorld(t)
	r := wanted(t, "ci")
	created := w.must(t, Request{CreateToken: r}).Token
	want := access.Token{
		ID: r.ID, Name: "ci", Owner: "alice", Origin: access.ByOperator, Scopes: r.Scopes,
		Created: w.now, Expires: w.now.Add(24 * time.Hour),
	}
	kept, err := w.store.Token(t.Context(), r.ID)
	if err != nil || !reflect.DeepEqual(*created, want) || !reflect.DeepEqual(kept, want) {
		t.Errorf("answered %+v and kept %+v, %v; want %+v", created, kept, err, want)
	}
	decision := access.Decision{Who: "operator", What: `create token "ci" of alice (` + r.ID.Short() + `): read *`, Allowed: true}
	if !slices.Equal(w.decisions, []access.Decision{decision}) {
		t.Errorf("the audit has %+v, want %+v", w.decisions, decision)
	}

	// The answer was lost, and the same is asked for again.
	w.now = w.now.Add(time.Minute)
	if again := w.must(t, Request{CreateToken: r}).Token; !reflect.DeepEqual(*again, want) {
		t.Errorf("again it is %+v", again)
	}
	for _, change := range []func(*CreateToken){
		func(c *CreateToken) { c.Owner = "mallory" }, func(c *CreateToken) { c.Name = "other" }, func(c *CreateToken) { c.Scopes = scopes(t, "read modules:*") },
	} {
		other := *r
		change(&other)
		w.refused(t, Request{CreateToken: &other}, "another token with the ID")
	}
	short := wanted(t, "short")
	short.Lifetime = access.Duration(access.MinLifetime)
	if token := w.must(t, Request{CreateToken: short}).Token; token.Expires.Sub(token.Created) != time.Minute {
		t.Errorf("expires %v", token.Expires)
	}

	forever := wanted(t, "forever")
	forever.Lifetime, forever.Forever = 0, true
	if token := w.must(t, Request{CreateToken: forever}).Token; !token.Expires.IsZero() {
		t.Errorf("expires %v", token.Expires)
	}
}

// At most one good token of operators has a name.
func TestNamesOfTokens(t *testing.T) {
	w := newWorld(t)
	first := wanted(t, "ci")
	w.must(t, Request{CreateToken: first})
	w.refused(t, Request{CreateToken: wanted(t, "ci")}, "there is a token of that name, "+first.ID.Short()+" of alice", "revoke it first")
	w.must(t, Request{CreateToken: wanted(t, "CI")})

	w.must(t, Request{RevokeToken: &RevokeToken{"ci"}})
	second := wanted(t, "ci")
	w.must(t, Request{CreateToken: second})
	w.now = w.now.Add(24 * time.Hour)
	third := wanted(t, "ci")
	w.must(t, Request{CreateToken: third}) // for the second has expired
	if revoked := w.must(t, Request{RevokeToken: &RevokeToken{"ci"}}).Token; revoked.ID != third.ID {
		t.Errorf("revoked %s, want the one that is good", revoked.ID.Short())
	}
	if revoked := w.must(t, Request{RevokeToken: &RevokeToken{"ci"}}).Token; revoked.ID != second.ID {
		t.Errorf("revoked %s, want the one that has expired", revoked.ID.Short())
	}

	w.keep(t, access.Token{ID: access.ID{1}, Name: "free", Origin: access.ByLogin})
	free := wanted(t, "free")
	w.must(t, Request{CreateToken: free})
	if revoked := w.must(t, Request{RevokeToken: &RevokeToken{"free"}}).Token; revoked.ID != free.ID {
		t.Errorf("revoked %s, want the one that an operator has named", revoked.ID.Short())
	}
	w.must(t, Request{CreateToken: wanted(t, "abcd0000")})
	w.keep(t, access.Token{ID: access.ID{0xab, 0xcd}, Name: "ci", Origin: access.ByExchange})
	w.refused(t, Request{RevokeToken: &RevokeToken{"abcd0000"}}, "any of 2 tokens") // a name and an ID
	w.keep(t, access.Token{ID: access.ID{0xab, 0xcd, 1}, Name: "x", Origin: access.ByOperator})
	w.keep(t, access.Token{ID: access.ID{2}, Name: "abcd0100", Origin: access.ByExchange})
	w.refused(t, Request{RevokeToken: &RevokeToken{"abcd0100"}}, "any of 2 tokens") // an operator's ID, and the name of another
}

// keep keeps a token that no operator has asked for.
func (w *world) keep(t *testing.T, token access.Token) {
	t.Helper()
	token.Owner, token.Scopes, token.Created = "bob", scopes(t, "read *"), w.now
	if err := w.store.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
}

// The registry checks requests itself: a command may not have done so.
func TestTokensThatAreNotMade(t *testing.T) {
	w := newWorld(t)
	for want, change := range map[string]func(*CreateToken){
		"name":            func(c *CreateToken) { c.Name = "" },
		"cannot be seen":  func(c *CreateToken) { c.Owner = "a\x1b[2J" },
		"1 to 50 scopes":  func(c *CreateToken) { c.Scopes = nil },
		"expire some":     func(c *CreateToken) { c.Lifetime = 0 },
		"or never":        func(c *CreateToken) { c.Forever = true },
		"than a minute":   func(c *CreateToken) { c.Lifetime = access.Duration(time.Minute - 1) },
		"less than a min": func(c *CreateToken) { c.Lifetime = -access.Duration(24 * time.Hour) },
		"no ID":           func(c *CreateToken) { c.ID = access.ID{} },
	} {
		r := wanted(t, "ci")
		change(r)
		w.refused(t, Request{CreateToken: r}, want)
		if err := r.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("before it is asked for: %v, want %q", err, want)
		}
	}
	if page := w.must(t, Request{ListTokens: &ListTokens{}}).Tokens; len(page.Tokens) > 0 {
		t.Errorf("there is %+v", page)
	}
}

func TestRevokeToken(t *testing.T) {
	w := newWorld(t)
	id := func(text string) (id access.ID) {
		if err := id.UnmarshalText([]byte(text + strings.Repeat("0", 64-len(text)))); err != nil {
			t.Fatal(err)
		}
		return id
	}
	for text, name := range map[string]string{"aabbccdd1": "one", "aabbccdd2": "two", "11112222": "twin", "33334444": "twin", "55556666": "aabbccdd1"} {
		w.keep(t, access.Token{ID: id(text), Name: name, Origin: access.ByExchange})
	}
	refused := w.refused(t, Request{RevokeToken: &RevokeToken{"twin"}}, "any of 2 tokens", id("11112222").String(), id("33334444").String())
	if strings.Contains(refused, "aabbccdd") {
		t.Errorf("it says %s", refused)
	}
	w.refused(t, Request{RevokeToken: &RevokeToken{"aabbccdd"}}, "any of 2 tokens")
	w.refused(t, Request{RevokeToken: &RevokeToken{"aabbccdd1"}}, "any of 2 tokens") // a name and an ID
	for _, which := range []string{"1111222", "no such", "", "0", "xx", id("99999999").String(), "aabbccddee"} {
		w.refused(t, Request{RevokeToken: &RevokeToken{which}}, "there is no token", "8 digits")
	}
	for which, want := range map[string]string{"AABBCCDD2": "aabbccdd2", "11112222": "11112222", id("33334444").String(): "33334444", strings.ToUpper(id("55556666").String()): "55556666"} {
		if got := w.must(t, Request{RevokeToken: &RevokeToken{which}}).Token; got.ID != id(want) {
			t.Errorf("%s revoked %s", which, got.ID)
		}
		if _, err := w.store.Token(t.Context(), id(want)); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("%s is still there: %v", want, err)
		}
	}
	if last := w.decisions[len(w.decisions)-1]; !last.Allowed || !strings.HasPrefix(last.What, "revoke token ") {
		t.Errorf("the audit has %+v", last)
	}
}

// If somebody gives the text of a token for its name, no answer and no decision has it.
func TestSecretsAreNotShown(t *testing.T) {
	w := newWorld(t)
	secret, _ := access.NewToken()
	for _, text := range []string{secret, strings.ToLower(secret), "x " + secret, secret[:len(secret)-1]} {
		said := w.refused(t, Request{RevokeToken: &RevokeToken{text}}, "not by its text")
		if shown := fmt.Sprint(said, w.decisions); strings.Contains(strings.ToUpper(shown), strings.ToUpper(secret[8:20])) {
			t.Errorf("of %q the answer is %s", text, shown)
		}
	}
	said := w.refused(t, Request{CreateToken: wanted(t, secret)}, "must not be told")
	if shown := fmt.Sprint(said, w.decisions); strings.Contains(shown, secret[8:20]) {
		t.Errorf("of a name the answer is %s", shown)
	}
	for _, r := range []Request{{RemoveRule: &RemoveRule{secret}}, {RemoveRule: &RemoveRule{"x" + secret}}, {AddRule: &access.Rule{Name: secret}}} {
		says := "that is a token"
		if r.AddRule != nil {
			says = "not a name for a rule"
		}
		said := w.refused(t, r, says)
		if shown := fmt.Sprint(said, w.decisions); strings.Contains(shown, secret[len(secret)-8:]) {
			t.Errorf("of the name of a rule the answer is %s", shown)
		}
	}
	w.must(t, Request{CreateToken: wanted(t, "larder_ci")})
	w.must(t, Request{RevokeToken: &RevokeToken{"larder_ci"}})
}

// A list of tokens comes in pages, each as long as an answer may be.
func TestListTokens(t *testing.T) {
	w := newWorld(t)
	long := make([]string, access.MaxScopes)
	for i := range long {
		long[i] = fmt.Sprintf("read providers:acme/%s%02d", strings.Repeat("w", 300), i)
	}
	many := scopes(t, long...)
	var ids []string
	for range 150 {
		r := wanted(t, fmt.Sprintf("token %d", len(ids)))
		r.Scopes = many
		token, err := r.token(w.now)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID.String())
	}
	slices.Sort(ids)
	var got []string
	pages := 0
	for after := ""; ; pages++ {
		page := w.must(t, Request{ListTokens: &ListTokens{after}}).Tokens
		size := 0
		for _, token := range page.Tokens {
			got = append(got, token.ID.String())
			data, err := json.Marshal(token)
			if err != nil {
				t.Fatal(err)
			}
			size += len(data)
		}
		if size > maxPage || page.Next != "" && size < maxPage*9/10 {
			t.Errorf("a page has %d bytes", size)
		}
		if after = page.Next; after == "" {
			break
		}
	}
	if !slices.Equal(got, ids) || pages < 1 {
		t.Errorf("%d tokens on %d pages, want %d", len(got), pages+1, len(ids))
	}
	w.refused(t, Request{ListTokens: &ListTokens{"x"}}, "not the ID of a token")
	if len(w.decisions) > 0 {
		t.Errorf("nothing is changed, and the audit has %+v", w.decisions)
	}
}

func rule(t *testing.T, name string) *access.Rule {
	return &access.Rule{
		Name: name, Use: access.ForPipelines, Issuer: "https://ci.example", Audience: "https://registry.example",
		Claims: []access.Claim{{Name: "sub", Pattern: "acme/*"}}, Scopes: scopes(t, "read *"), Lifetime: access.Duration(15 * time.Minute),
	}
}

func TestRules(t *testing.T) {
	w := newWorld(t)
	if got := w.must(t, Request{AddRule: rule(t, "ci")}).Rule; !reflect.DeepEqual(got, rule(t, "ci")) {
		t.Errorf("added %+v", got)
	}
	if want := (access.Decision{Who: "operator", What: `add rule "ci": read *`, Allowed: true}); !slices.Equal(w.decisions, []access.Decision{want}) {
		t.Errorf("the audit has %+v, want %+v", w.decisions, want)
	}
	uploads := rule(t, "release")
	uploads.Uploads = []string{"acme", "labs"}
	w.must(t, Request{AddRule: uploads})
	uploads = rule(t, "uploads")
	uploads.Scopes, uploads.Uploads = nil, []string{"acme"}
	w.must(t, Request{AddRule: uploads})
	w.must(t, Request{AddRule: uploads}) // the same again, whose answer was lost
	for i, want := range []string{`add rule "release": read *, upload to acme, labs`, `add rule "uploads": upload to acme`} {
		if got := w.decisions[1+i]; got != (access.Decision{Who: "operator", What: want, Allowed: true}) {
			t.Errorf("the audit has %+v, want %s", got, want)
		}
	}
	w.must(t, Request{RemoveRule: &RemoveRule{"release"}})
	w.must(t, Request{RemoveRule: &RemoveRule{"uploads"}})
	w.must(t, Request{AddRule: rule(t, "ci")}) // the same again, whose answer was lost
	other := rule(t, "ci")
	other.Audience = "https://elsewhere.example"
	w.refused(t, Request{AddRule: other}, "another rule of the name ci")
	strangers := rule(t, "strangers")
	strangers.Claims[0].Pattern = "*"
	w.refused(t, Request{AddRule: strangers}, "everybody")

	if rules := w.must(t, Request{ListRules: &ListRules{}}).Rules.Rules; !reflect.DeepEqual(rules, []access.Rule{*rule(t, "ci")}) {
		t.Errorf("the rules are %+v", rules)
	}
	w.refused(t, Request{RemoveRule: &RemoveRule{"CI"}}, "there is no rule", "larder trust list")
	if removed := w.must(t, Request{RemoveRule: &RemoveRule{"ci"}}).Rule; removed.Name != "ci" {
		t.Errorf("removed %+v", removed)
	}
	w.refused(t, Request{RemoveRule: &RemoveRule{"ci"}}, "there is no rule")
	if rules := w.must(t, Request{ListRules: &ListRules{}}).Rules.Rules; len(rules) > 0 {
		t.Errorf("the rules are %+v", rules)
	}
}

func TestARequestForNothing(t *testing.T) {
	w := newWorld(t)
	w.refused(t, Request{}, "newer one")
	if len(w.decisions) > 0 {
		t.Errorf("the audit has %+v", w.decisions)
	}
}

// A store that fails, fails the request.
func TestStoreFails(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range []Request{
		{CreateToken: wanted(t, "ci")}, {ListTokens: &ListTokens{}}, {RevokeToken: &RevokeToken{"ci"}}, {RevokeToken: &RevokeToken{strings.Repeat("0", 64)}},
		{AddRule: rule(t, "ci")}, {ListRules: &ListRules{}}, {RemoveRule: &RemoveRule{"ci"}},
	} {
		if a := w.Handle(ctx, r); !strings.Contains(a.Error, context.Canceled.Error()) || a.Answers(r) {
			t.Errorf("%+v is answered %+v", r, a)
		}
	}
}
