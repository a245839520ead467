package catalogtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// AccessDriver is what a driver of [access.Store] brings to its suite.
type AccessDriver struct {
	Store    access.Store // empty
	SetPage  func(size int)
	SetClock func(now func() time.Time)
}

// Access runs the suite of [access.Store].
func Access(t *testing.T, driver AccessDriver) {
	s := &accessSuite{driver, driver.Store}
	t.Run("pages", s.pages)
	t.Run("tokens", s.tokens)
	t.Run("use", s.use)
	t.Run("rules", s.rules)
	t.Run("too many rules", s.tooManyRules)
	t.Run("tickets", s.tickets)
	t.Run("ticket at once", s.ticketAtOnce)
	t.Run("ticket expires", s.ticketExpires)
	t.Run("cancelled", s.cancelled)
}

type accessSuite struct {
	driver AccessDriver
	store  access.Store
}

var made = time.Date(2026, 11, 21, 10, 11, 12, 345678901, time.UTC)

// token is a new token with everything in it but a use.
func token(name string) access.Token {
	_, id := access.NewToken()
	return access.Token{
		ID: id, Name: name, Owner: `Zoë <zoë@example.org> & "co"`, Origin: access.ByLogin,
		Scopes:  must(access.ParseScopes([]string{"read providers:acme/widget", "read mirror:*", "read *"})),
		Created: made, Expires: made.Add(90 * 24 * time.Hour),
	}
}

// pages checks that every token is listed once, in the order of their IDs, whatever is
// revoked meanwhile.
func (s *accessSuite) pages(t *testing.T) {
	const size, number = 7, 23
	s.driver.SetPage(size)
	defer s.driver.SetPage(1000)
	if page, next, err := s.store.Tokens(t.Context(), ""); err != nil || len(page) != 0 || next != "" {
		t.Fatalf("an empty store has %v, %q, %v", page, next, err)
	}
	var want []access.Token
	for n := range number {
		want = append(want, token(fmt.Sprint("page ", n)))
		s.create(t, want[n])
	}
	slices.SortFunc(want, func(a, b access.Token) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	var got []access.Token
	for next := ""; ; {
		page, after, err := s.store.Tokens(t.Context(), next)
		if err != nil || len(page) > size {
			t.Fatalf("after %q: %d tokens, %v", next, len(page), err)
		}
		if got = append(got, page...); after == "" {
			break
		}
		if next = after; next != got[len(got)-1].ID.String() {
			t.Errorf("the next of a page is %q, and its last is %s", next, got[len(got)-1].ID)
		}
		if len(got) == size {
			s.revoke(t, got[size-1].ID)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d tokens are listed, want %d: %v", len(got), len(want), got)
	}
	for _, after := range []string{"x", "A", want[0].ID.Short(), want[0].ID.String() + " "} {
		if _, _, err := s.store.Tokens(t.Context(), after); err == nil {
			t.Errorf("a page after %q is listed", after)
		}
	}
}

// tokens checks that a token comes back with all that is in it, until it is
// revoked.
func (s *accessSuite) tokens(t *testing.T) {
	eternal, used := token("eternal"), token("used")
	eternal.Expires = time.Time{}
	used.Used = "2026-11-20"
	longest := token(strings.Repeat("ä", access.MaxName))
	longest.Scopes = nil
	for n := range access.MaxScopes {
		longest.Scopes = append(longest.Scopes, must(access.ParseScope(fmt.Sprintf("read modules:%s%d/*", strings.Repeat("x", 300), n))))
	}
	expired := token("expired")
	expired.Created, expired.Expires = time.Now().Add(-2*time.Hour).UTC().Round(0), time.Now().Add(-time.Hour).UTC().Round(0)
	for _, want := range []access.Token{token("plain"), eternal, used, longest, expired} {
		if _, err := s.store.Token(t.Context(), want.ID); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("before it is made: %v, want ErrNotFound", err)
		}
		s.create(t, want)
		other := token("other")
		other.ID = want.ID
		for _, again := range []access.Token{want, other} {
			if err := s.store.CreateToken(t.Context(), again); !errors.Is(err, access.ErrExists) {
				t.Errorf("a second token of one ID: %v, want ErrExists", err)
			}
		}
		s.wantToken(t, want)
		s.revoke(t, want.ID)
		if _, err := s.store.Token(t.Context(), want.ID); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("after it was revoked: %v, want ErrNotFound", err)
		}
		if err := s.store.RevokeToken(t.Context(), want.ID); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("revoked again: %v, want ErrNotFound", err)
		}
	}
}

// use checks that the latest of many noted days is kept, and that a revoked token stays
// revoked.
func (s *accessSuite) use(t *testing.T) {
	want := token("used")
	s.create(t, want)
	for _, day := range []access.Day{"2026-11-21", "2026-11-20", "2026-11-21", "2027-01-01", "2026-12-31"} {
		if err := s.store.NoteUse(t.Context(), want.ID, day); err != nil {
			t.Fatal(err)
		}
		want.Used = max(want.Used, day)
		s.wantToken(t, want)
	}
	var wg sync.WaitGroup
	for n := range 20 {
		wg.Go(func() {
			if err := s.store.NoteUse(t.Context(), want.ID, access.DayOf(made.AddDate(1, 0, n))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want.Used = "2027-12-10"
	s.wantToken(t, want)
	if page, _, err := s.store.Tokens(t.Context(), ""); err != nil || !slices.ContainsFunc(page, func(one access.Token) bool { return reflect.DeepEqual(one, want) }) {
		t.Errorf("the tokens are %+v, %v, want one that was last used on %s", page, err, want.Used)
	}
	s.revoke(t, want.ID)
	if err := s.store.NoteUse(t.Context(), want.ID, "2028-01-01"); err != nil {
		t.Errorf("the use of a revoked token: %v", err)
	}
	if got, err := s.store.Token(t.Context(), want.ID); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a revoked token is %+v, %v after it was used", got, err)
	}
}

func rule(name string) access.Rule {
	return access.Rule{
		Name: name, Use: access.ForPipelines, Issuer: "https://token.actions.githubusercontent.com", Audience: "https://registry.example.org",
		Claims:   []access.Claim{{Name: "repository_owner", Pattern: "acme"}, {Name: "sub", Pattern: "repo:acme/*"}},
		Scopes:   must(access.ParseScopes([]string{"read providers:acme/*", "read modules:acme/*"})),
		Lifetime: access.Duration(90 * time.Minute),
	}
}

// rules checks that a rule comes back with all that is in it, in the order of
// the names, until it is removed.
func (s *accessSuite) rules(t *testing.T) {
	s.wantRules(t)
	people := rule("b")
	people.Use, people.Issuer, people.Audience = access.ForPeople, "", ""
	all := []access.Rule{rule("a"), rule("a-b"), rule("a1"), people}
	for _, i := range []int{2, 3, 0, 1} {
		if err := s.store.AddRule(t.Context(), all[i]); err != nil {
			t.Fatal(err)
		}
	}
	other := rule("a")
	other.Audience = "another"
	for _, again := range []access.Rule{all[0], other} {
		if err := s.store.AddRule(t.Context(), again); !errors.Is(err, access.ErrExists) {
			t.Errorf("a second rule of one name: %v, want ErrExists", err)
		}
	}
	s.wantRules(t, all...)
	for _, name := range []string{"c", "A", "", strings.Repeat("a", 3000)} {
		if err := s.store.RemoveRule(t.Context(), name); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("remove rule %q: %v, want ErrNotFound", name, err)
		}
	}
	for _, i := range []int{1, 0, 3, 2} {
		err := s.store.RemoveRule(t.Context(), all[i].Name)
		if again := s.store.RemoveRule(t.Context(), all[i].Name); err != nil || !errors.Is(again, access.ErrNotFound) {
			t.Errorf("remove rule %s: %v, and again: %v", all[i].Name, err, again)
		}
	}
	s.wantRules(t)
}

func (s *accessSuite) tooManyRules(t *testing.T) {
	var all []access.Rule
	for n := range access.MaxRules {
		all = append(all, rule(fmt.Sprintf("rule-%03d", n)))
		if err := s.store.AddRule(t.Context(), all[n]); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.store.AddRule(t.Context(), rule("more")); err == nil || !strings.Contains(err.Error(), "there are 200 rules") {
		t.Errorf("one rule more: %v", err)
	}
	if err := s.store.AddRule(t.Context(), all[0]); !errors.Is(err, access.ErrExists) {
		t.Errorf("one that exists: %v, want ErrExists", err)
	}
	s.wantRules(t, all...)
	if err := s.store.RemoveRule(t.Context(), all[0].Name); err != nil {
		t.Error(err)
	}
	if err := s.store.AddRule(t.Context(), rule("more")); err != nil {
		t.Errorf("one in the place of another: %v", err)
	}
}

// tickets checks that the data of a ticket is returned once, to the byte.
func (s *accessSuite) tickets(t *testing.T) {
	s.driver.SetClock(func() time.Time { return made })
	largest := bytes.Repeat([]byte("\x00\xff{\""), access.MaxTicket/4)
	for _, want := range [][]byte{nil, {}, {0}, []byte(`{"state":"x"}`), largest} {
		_, id := access.NewToken()
		if err := s.store.KeepTicket(t.Context(), id, want, made.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got, err := s.store.TakeTicket(t.Context(), id); err != nil || !bytes.Equal(got, want) {
			t.Errorf("a ticket of %d bytes has %d, %v", len(want), len(got), err)
		}
		if got, err := s.store.TakeTicket(t.Context(), id); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("a ticket is taken twice: %d bytes, %v", len(got), err)
		}
	}
	_, id := access.NewToken()
	if err := s.store.KeepTicket(t.Context(), id, append(largest, 0), made.Add(time.Minute)); err == nil || !strings.Contains(err.Error(), "16384") {
		t.Errorf("a ticket that is too large: %v", err)
	}
	if _, err := s.store.TakeTicket(t.Context(), id); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a ticket that was refused: %v, want ErrNotFound", err)
	}
}

// ticketAtOnce checks that only one of many callers gets a ticket.
func (s *accessSuite) ticketAtOnce(t *testing.T) {
	s.driver.SetClock(func() time.Time { return made })
	for range 3 {
		_, id := access.NewToken()
		if err := s.store.KeepTicket(t.Context(), id, []byte("data"), made.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		var taken atomic.Int32
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				data, err := s.store.TakeTicket(t.Context(), id)
				switch {
				case err == nil && string(data) == "data":
					taken.Add(1)
				case !errors.Is(err, access.ErrNotFound) || data != nil:
					t.Errorf("TakeTicket = %q, %v", data, err)
				}
			})
		}
		wg.Wait()
		if taken.Load() != 1 {
			t.Errorf("the ticket was taken %d times", taken.Load())
		}
	}
}

func (s *accessSuite) ticketExpires(t *testing.T) {
	now := made
	s.driver.SetClock(func() time.Time { return now })
	expires := made.Truncate(time.Millisecond).Add(time.Minute)
	for _, tt := range []struct {
		at   time.Time
		good bool
	}{
		{expires.Add(-time.Millisecond), true}, {expires, false}, {expires.Add(time.Millisecond), false}, {expires.Add(24 * time.Hour), false},
	} {
		now = made
		_, id := access.NewToken()
		if err := s.store.KeepTicket(t.Context(), id, []byte("data"), expires); err != nil {
			t.Fatal(err)
		}
		now = tt.at
		data, err := s.store.TakeTicket(t.Context(), id)
		if tt.good != (err == nil) || !tt.good && !errors.Is(err, access.ErrNotFound) || (data == nil) == tt.good {
			t.Errorf("%v before it expires: %q, %v", expires.Sub(tt.at), data, err)
		}
	}
}

// cancelled checks that nothing is done for a cancelled context.
func (s *accessSuite) cancelled(t *testing.T) {
	s.driver.SetClock(func() time.Time { return made })
	want := token("cancelled")
	s.create(t, want)
	_, ticket := access.NewToken()
	if err := s.store.KeepTicket(t.Context(), ticket, []byte("data"), made.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, tokenErr := s.store.Token(ctx, want.ID)
	_, _, tokensErr := s.store.Tokens(ctx, "")
	_, rulesErr := s.store.Rules(ctx)
	_, ticketErr := s.store.TakeTicket(ctx, ticket)
	for call, err := range map[string]error{
		"Token": tokenErr, "Tokens": tokensErr, "Rules": rulesErr, "TakeTicket": ticketErr,
		"CreateToken": s.store.CreateToken(ctx, token("another")),
		"RevokeToken": s.store.RevokeToken(ctx, want.ID),
		"NoteUse":     s.store.NoteUse(ctx, want.ID, "2026-11-21"),
		"AddRule":     s.store.AddRule(ctx, rule("another")),
		"RemoveRule":  s.store.RemoveRule(ctx, "another"),
		"KeepTicket":  s.store.KeepTicket(ctx, ticket, nil, made.Add(time.Minute)),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s = %v, want context.Canceled", call, err)
		}
	}
	s.wantToken(t, want)
	if data, err := s.store.TakeTicket(t.Context(), ticket); err != nil || string(data) != "data" {
		t.Errorf("the ticket has %q, %v", data, err)
	}
}

func (s *accessSuite) create(t *testing.T, token access.Token) {
	t.Helper()
	if err := s.store.CreateToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
}

func (s *accessSuite) revoke(t *testing.T, id access.ID) {
	t.Helper()
	if err := s.store.RevokeToken(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func (s *accessSuite) wantToken(t *testing.T, want access.Token) {
	t.Helper()
	if got, err := s.store.Token(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the token is %+v, %v, want %+v", got, err, want)
	}
}

func (s *accessSuite) wantRules(t *testing.T, want ...access.Rule) {
	t.Helper()
	if got, err := s.store.Rules(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d rules are %+v, %v, want %d", len(got), got, err, len(want))
	}
}
