package dynamocatalog_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

var made = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func token(t testing.TB) access.Token {
	t.Helper()
	scopes, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		t.Fatal(err)
	}
	_, id := access.NewToken()
	return access.Token{ID: id, Name: "ci", Owner: "alice", Origin: access.ByOperator, Scopes: scopes, Created: made}
}

func TestAccess(t *testing.T) {
	a := newTable(t).openAccess(t, nil)
	catalogtest.Access(t, catalogtest.AccessDriver{Store: a, SetPage: a.SetPage, SetClock: a.SetClock})
}

func TestLookups(t *testing.T) {
	c := newTable(t).open(t, nil)
	catalogtest.Lookups(t, catalogtest.LookupDriver{Index: c, Store: c.Access()})
}

// TestAccessItems checks what is stored, and when it may be deleted.
func TestAccessItems(t *testing.T) {
	b := newTable(t)
	a := b.openAccess(t, nil)
	eternal, expiring, ofJob := token(t), token(t), token(t)
	expiring.Expires = made.Add(time.Hour)
	ofJob.Expires, ofJob.Origin = made.Add(time.Hour), access.ByExchange
	ticket := token(t).ID
	err := errors.Join(
		a.CreateToken(t.Context(), eternal), a.CreateToken(t.Context(), expiring), a.CreateToken(t.Context(), ofJob), a.NoteUse(t.Context(), expiring.ID, "2026-11-21"),
		a.AddRule(t.Context(), access.Rule{Name: "ci", Scopes: eternal.Scopes}),
		a.KeepTicket(t.Context(), ticket, []byte("data"), made.Add(time.Minute+time.Millisecond)),
	)
	if err != nil {
		t.Fatal(err)
	}
	tokens, rules, tickets := b.items(t, "A"), b.items(t, "T"), b.items(t, "C#"+ticket.String())
	for name, tt := range map[string]struct {
		item       map[string]types.AttributeValue
		attributes []string
		expires    time.Time
	}{
		"token":          {tokens[eternal.ID.String()], []string{"PK", "SK", "data", "request"}, time.Time{}},
		"expiring token": {tokens[expiring.ID.String()], []string{"PK", "SK", "data", "expires", "request", "used"}, expiring.Expires.Add(access.KeepExpired)},
		"job's token":    {tokens[ofJob.ID.String()], []string{"PK", "SK", "data", "expires", "request"}, ofJob.Expires.Add(24 * time.Hour)},
		"rule":           {rules["ci"], []string{"PK", "SK", "data", "request"}, time.Time{}},
		"ticket":         {tickets["C"], []string{"PK", "SK", "data", "expires", "until"}, made.Add(time.Minute)},
	} {
		if got := slices.Sorted(maps.Keys(tt.item)); !slices.Equal(got, tt.attributes) {
			t.Errorf("%s has %q, want %q", name, got, tt.attributes)
		}
		if expires, ok := tt.item[dynamocatalog.ExpiresAttribute].(*types.AttributeValueMemberN); ok && expires.Value != fmt.Sprint(tt.expires.Unix()+1) {
			t.Errorf("%s expires at %s, want just after %v", name, expires.Value, tt.expires)
		}
	}
}

// TestAccessRequests checks the requests of each step.
func TestAccessRequests(t *testing.T) {
	count := &transport{}
	a := newTable(t).openAccess(t, count)
	token := token(t)
	for _, step := range accessSteps(token) {
		count.take()
		if err := step.do(t, a); err != nil {
			t.Fatal(err)
		}
		if got := count.take(); !slices.Equal(got, step.requests) {
			t.Errorf("%s took %q, want %q", step.name, got, step.requests)
		}
	}
	for name, read := range map[string]func() error{
		"Query, consistent":   func() error { _, _, err := a.Tokens(t.Context(), ""); return err },
		"GetItem, consistent": func() error { _, err := a.Token(t.Context(), token.ID); return ignore(err, access.ErrNotFound) },
	} {
		if err := read(); err != nil {
			t.Error(err)
		}
		if got := count.take(); !slices.Equal(got, []string{name}) {
			t.Errorf("it took %q, want %q", got, name)
		}
	}
	if _, err := a.Rules(t.Context()); err != nil || !slices.Equal(count.take(), []string{"Query, consistent"}) {
		t.Errorf("Rules: %v", err)
	}
}

func ignore(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// accessStep is one write, of those that follow each other.
type accessStep struct {
	name     string
	requests []string
	do       func(*testing.T, *dynamocatalog.Access) error
	again    error // of the same once more, after it was done
}

// accessSteps begin and end with nothing; all of them are about one name.
func accessSteps(token access.Token) []accessStep {
	rule := access.Rule{Name: "r-" + token.ID.Short(), Scopes: token.Scopes}
	return []accessStep{
		{"create token", []string{"PutItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.CreateToken(t.Context(), token)
		}, access.ErrExists},
		{"note use", []string{"UpdateItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.NoteUse(t.Context(), token.ID, "2026-11-21")
		}, nil},
		{"revoke token", []string{"GetItem, consistent", "DeleteItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.RevokeToken(t.Context(), token.ID)
		}, access.ErrNotFound},
		{"add rule", []string{"Query, consistent", "PutItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.AddRule(t.Context(), rule)
		}, access.ErrExists},
		{"remove rule", []string{"GetItem, consistent", "DeleteItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.RemoveRule(t.Context(), rule.Name)
		}, access.ErrNotFound},
		{"keep ticket", []string{"PutItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			return a.KeepTicket(t.Context(), token.ID, []byte("data"), time.Now().Add(time.Hour))
		}, nil},
		{"take ticket", []string{"DeleteItem"}, func(t *testing.T, a *dynamocatalog.Access) error {
			_, err := a.TakeTicket(t.Context(), token.ID)
			return err
		}, access.ErrNotFound},
	}
}

// TestAccessDespiteFaults fails each request of each write once, in a way after
// which it is sent again: the caller does not notice, but for a ticket that was
// taken without an answer, which is lost.
func TestAccessDespiteFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	a := b.openAccess(t, nil)
	for _, f := range passing {
		for at := 1; at <= 2; at++ {
			for _, step := range accessSteps(token(t)) {
				what := fmt.Sprintf("%s, %s, request %d", step.name, f.name, at)
				if at > len(step.requests) {
					if err := step.do(t, a); err != nil {
						t.Fatal(err)
					}
					continue
				}
				var want error
				if step.name == "take ticket" && f.done {
					want = access.ErrNotFound
				}
				err := step.do(t, b.openAccess(t, &transport{pick: f.only(at)}))
				if !errors.Is(err, want) || want == nil && err != nil {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
				if again := step.do(t, a); !errors.Is(again, step.again) || step.again == nil && again != nil {
					t.Errorf("%s, and again: %v, want %v", what, again, step.again)
				}
			}
		}
	}
}

// TestAccessAgainAfterFault fails each request of each write for good. The write returns an
// error. The same write again behaves as if the first had succeeded, or had not happened.
func TestAccessAgainAfterFault(t *testing.T) {
	b := newTable(t)
	a := b.openAccess(t, nil)
	for _, f := range final {
		for at := 1; at <= 2; at++ {
			for _, step := range accessSteps(token(t)) {
				if at > len(step.requests) {
					if err := step.do(t, a); err != nil {
						t.Fatal(err)
					}
					continue
				}
				what := fmt.Sprintf("%s, %s, request %d", step.name, f.name, at)
				err := step.do(t, b.openAccess(t, &transport{pick: f.only(at)}))
				if codeOf(err) != f.code || errors.Is(err, access.ErrNotFound) {
					t.Errorf("%s: %v, want %s", what, err, f.code)
				}
				var want error
				if f.done && at == len(step.requests) {
					want = step.again
				}
				if again := step.do(t, a); !errors.Is(again, want) || want == nil && again != nil {
					t.Errorf("%s, and again: %v, want %v", what, again, want)
				}
			}
		}
	}
}

// TestForeignAccess checks that what cannot be read is an error, also for those
// who ask beside it, and can be revoked and removed nonetheless.
func TestForeignAccess(t *testing.T) {
	b := newTable(t)
	catalog := b.open(t, nil)
	a := catalog.Access()
	data := func(text string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"data": &types.AttributeValueMemberS{Value: text}}
	}
	for name, item := range map[string]map[string]types.AttributeValue{
		"no data": {}, "no JSON": data("{"), "another's ID": data(`{"id":"` + token(t).ID.String() + `"}`), "no scope": data(`{"scopes":["write *"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			id := token(t).ID
			b.put(t, "A", id.String(), item)
			lookup := access.Lookup{ID: id}
			_, tokenErr := a.Token(t.Context(), id)
			_, _, tokensErr := a.Tokens(t.Context(), "")
			_, listErr := catalogtest.Listing(t.Context(), catalog, vpc, &lookup)
			_, stateErr := catalogtest.Load(t.Context(), catalog, registry.ModuleVersion{Address: vpc, Version: registrytest.Version(t, "1.0.0")}, &lookup)
			for call, err := range map[string]error{"Token": tokenErr, "Tokens": tokensErr, "listing": listErr, "version": stateErr} {
				if err == nil || !strings.Contains(err.Error(), "upgrade larder") || !strings.Contains(err.Error(), id.Short()) {
					t.Errorf("%s: %v, want advice", call, err)
				}
			}
			if err := a.RevokeToken(t.Context(), id); err != nil || lookup.Token != nil {
				t.Errorf("revoke: %v; found %v", err, lookup.Token)
			}
		})
	}
	b.put(t, "T", "bad", data(`{"lifetime":"long"}`))
	if _, err := a.Rules(t.Context()); err == nil || !strings.Contains(err.Error(), `rule "bad"`) {
		t.Errorf("Rules: %v", err)
	}
	if err := a.RemoveRule(t.Context(), "bad"); err != nil {
		t.Error(err)
	}
}

// TestAccessNoTable checks that the error for a wrong name says so.
func TestAccessNoTable(t *testing.T) {
	b := newTable(t)
	b.name += "-another"
	a := b.openAccess(t, nil)
	_, err := catalogtest.Listing(t.Context(), b.open(t, nil), vpc, &access.Lookup{ID: token(t).ID})
	for name, err := range map[string]error{"beside": err, "create": a.CreateToken(t.Context(), token(t)), "revoke": a.RevokeToken(t.Context(), token(t).ID)} {
		if err == nil || !strings.Contains(err.Error(), "there is no table") || errors.Is(err, access.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantToken checks what a lookup has found.
func wantToken(t *testing.T, what string, lookup access.Lookup, want access.Token) {
	t.Helper()
	if lookup.Token == nil || !reflect.DeepEqual(*lookup.Token, want) {
		t.Errorf("%s: found %+v, want %+v", what, lookup.Token, want)
	}
}
