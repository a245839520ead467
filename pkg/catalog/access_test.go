package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// withTokens is a catalog that has tokens, too, and notes how it is asked.
type withTokens struct {
	version registry.Version
	missing bool // nothing is published
	issued  map[access.ID]access.Token
	asked   []string // "beside" or "alone", and "use"
	during  func()   // a question
	noting  context.Context

	// What fails. DynamoDB has token and data in one request: if it fails, it returns
	// neither. Of bbolt's two files the token's is read first.
	failsWhole, failsData, failsUse error
}

func (w *withTokens) Listing(_ context.Context, _ registry.Address, lookup *access.Lookup) (s Snapshot[*registry.Listing], err error) {
	if err := w.answer(lookup); err != nil {
		return s, err
	}
	return oneListed(w.version), nil
}

func (w *withTokens) State(_ context.Context, _ registry.Subject, lookup *access.Lookup) (s Snapshot[registry.State], err error) {
	if err := w.answer(lookup); err != nil {
		return s, err
	}
	return onlyVersion(w.version), nil
}

// answer is one request, with a lookup or without. The lookup has its token by the time
// of the answer, and not before.
func (w *withTokens) answer(lookup *access.Lookup) error {
	how := "alone"
	if lookup != nil {
		how = "beside"
	}
	w.asked = append(w.asked, how)
	if w.during != nil {
		w.during()
	}
	if w.failsWhole != nil {
		return w.failsWhole
	}
	if lookup != nil {
		var token *access.Token
		if t, ok := w.issued[lookup.ID]; ok {
			token = &t
		}
		if !lookup.Found(token) {
			return registry.ErrNotFound
		}
	}
	switch {
	case w.missing:
		return fmt.Errorf("read it: %w", registry.ErrNotFound)
	case w.failsData != nil:
		return w.failsData
	}
	return nil
}

func (w *withTokens) NoteUse(ctx context.Context, id access.ID, day access.Day) error {
	w.asked, w.noting = append(w.asked, "use "+string(day)), ctx
	if w.failsUse != nil {
		return w.failsUse
	}
	t := w.issued[id]
	t.Used = day
	w.issued[id] = t
	return nil
}

// gate is a reader with a clock that the test sets, and what it reads and logs.
type gate struct {
	*withTokens
	*Reader
	at  time.Time
	log bytes.Buffer
}

func newGate(t *testing.T, remember time.Duration) *gate {
	t.Helper()
	g := &gate{withTokens: &withTokens{issued: map[access.ID]access.Token{}}, at: time.Date(2026, 11, 21, 23, 59, 0, 0, time.UTC)}
	g.version = registrytest.Version(t, "1.0.0")
	g.Reader = NewReader(ReaderConfig{Catalog: g.withTokens, TokenUses: g.withTokens, Remember: remember, Logger: logtest.Timeless(&g.log)})
	g.Reader.now = func() time.Time { return g.at }
	return g
}

// issue makes a token for an hour.
func (g *gate) issue(t *testing.T, scopes ...string) access.ID {
	t.Helper()
	parsed, err := access.ParseScopes(scopes)
	if err != nil {
		t.Fatal(err)
	}
	_, id := access.NewToken()
	g.issued[id] = access.Token{ID: id, Name: "ci", Owner: "alice", Scopes: parsed, Created: g.at, Expires: g.at.Add(time.Hour)}
	return id
}

// ask asks for acme/widget, and says how the catalog was asked for that.
func (g *gate) ask(t *testing.T, caller access.Caller) (asked string, err error) {
	t.Helper()
	g.asked = nil
	found, err := g.Reader.Listing(t.Context(), caller, registry.ProviderAddress{Namespace: "acme", Type: "widget"})
	if (len(found.Stored()) == 0) != (err != nil) {
		t.Errorf("%q, %v", found.Stored(), err)
	}
	return strings.Join(g.asked, ", "), err
}

func TestEveryCaller(t *testing.T) {
	g := newGate(t, time.Minute)
	stale := g.issue(t, "read *")
	expired := g.issued[stale]
	expired.Expires = g.at
	g.issued[stale] = expired
	_, unknown := access.NewToken()
	good, other := g.issue(t, "read providers:acme/*"), g.issue(t, "read modules:*")
	for name, tt := range map[string]struct {
		caller access.Caller
		err    error
		asked  string
		log    string // who, whether, why
	}{
		"anyone":          {access.Anyone, nil, "alone", ""},
		"nobody":          {access.Caller{}, ErrUnauthorized, "", `who=nobody what="read providers:acme/widget" allowed=false why="there is no token"`},
		"no token":        {access.Authenticate([]string{"Basic x"}), ErrUnauthorized, "", `who=nobody what="read providers:acme/widget" allowed=false why="the Authorization header has no bearer token"`},
		"unknown":         {access.Bearer(unknown), ErrUnauthorized, "beside", `who="unknown token (` + unknown.Short() + `)" what="read providers:acme/widget" allowed=false why="the token that was sent is unknown here, or was revoked"`},
		"expired":         {access.Bearer(stale), ErrUnauthorized, "beside", `who="token \"ci\" of alice (` + stale.Short() + `)" what="read providers:acme/widget" allowed=false why="the token that was sent has expired"`},
		"out of scope":    {access.Bearer(other), ErrDenied, "beside", `who="token \"ci\" of alice (` + other.Short() + `)" what="read providers:acme/widget" allowed=false why="it has no scope for that"`},
		"as it should be": {access.Bearer(good), nil, "beside, use 2026-11-21", `who="token \"ci\" of alice (` + good.Short() + `)" what="read providers:acme/widget" allowed=true why=""`},
	} {
		g.log.Reset()
		asked, err := g.ask(t, tt.caller)
		if !errors.Is(err, tt.err) || asked != tt.asked {
			t.Errorf("%s: %v, asked %q, want %v, %q", name, err, asked, tt.err, tt.asked)
		}
		want := ""
		if tt.log != "" {
			want = "level=INFO msg=access " + tt.log + "\n"
		}
		if g.log.String() != want {
			t.Errorf("%s: logged %s, want %s", name, g.log.String(), want)
		}
	}
	g.missing = true
	if asked, err := g.ask(t, access.Bearer(g.issue(t, "read *"))); !errors.Is(err, registry.ErrNotFound) || errors.Is(err, ErrDenied) || asked != "beside, use 2026-11-21" {
		t.Errorf("what is not there, with a good token: %v, asked %q", err, asked)
	}
	if deadline, ok := g.noting.Deadline(); !ok || time.Until(deadline) > noteUseTimeout || g.noting.Err() == nil {
		t.Errorf("a note had until %v, and its context has ended with %v", deadline, g.noting.Err())
	}
	if !errors.Is(ErrDenied, registry.ErrNotFound) || errors.Is(ErrDenied, ErrUnauthorized) {
		t.Error("a denied read and a missing version differ")
	}
}

// All refusals are alike: nobody learns by one what is published, or that something is
// broken.
func TestRefusedWhateverIsThere(t *testing.T) {
	g := newGate(t, 0) // each time it is looked up
	_, unknown := access.NewToken()
	other := g.issue(t, "read modules:*")
	for name, set := range map[string]func(){
		"there":   func() { g.missing, g.failsData = false, nil },
		"missing": func() { g.missing, g.failsData = true, nil },
		"broken":  func() { g.missing, g.failsData = false, errors.New("broken") },
	} {
		set()
		if _, err := g.ask(t, access.Bearer(unknown)); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("%s: an unknown token is refused with %v", name, err)
		}
		if _, err := g.ask(t, access.Bearer(other)); !errors.Is(err, ErrDenied) {
			t.Errorf("%s: a token without scope is refused with %v", name, err)
		}
	}
}

func TestRemembers(t *testing.T) {
	g := newGate(t, time.Hour) // which is too long
	id := g.issue(t, "read providers:*")
	for _, tt := range []struct {
		after time.Duration
		asked string
	}{{0, "beside, use 2026-11-21"}, {59 * time.Second, "alone"}, {time.Second, "beside, use 2026-11-22"}, {0, "alone"}, {MaxRemember, "beside"}} {
		g.at = g.at.Add(tt.after)
		if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != tt.asked {
			t.Errorf("at %v: asked %q, %v, want %q", g.at, asked, err, tt.asked)
		}
	}
	g.at = g.at.Add(-time.Second) // the clock was set back
	if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != "beside" {
		t.Errorf("after the clock was set back: asked %q, %v", asked, err)
	}
	g.at, g.during = g.at.Add(MaxRemember), func() { g.at = g.at.Add(10 * time.Second) }
	for i, want := range []string{"beside", "alone", "beside"} { // the age of an answer counts from its question
		if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != want {
			t.Errorf("slowly: asked %q, %v, want %q", asked, err, want)
		}
		if i == 1 {
			g.at = g.at.Add(50 * time.Second)
		}
	}
	g.during = nil
	delete(g.issued, id) // revoked
	if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != "alone" {
		t.Errorf("within the minute: asked %q, %v", asked, err)
	}
	g.at = g.at.Add(MaxRemember)
	if asked, err := g.ask(t, access.Bearer(id)); !errors.Is(err, ErrUnauthorized) || asked != "beside" {
		t.Errorf("after it: asked %q, %v", asked, err)
	}
}

// A remembered token expires, and has the same scopes.
func TestRemembersNoMoreThanThereIs(t *testing.T) {
	g := newGate(t, time.Minute)
	id := g.issue(t, "read modules:*")
	for range 2 {
		if _, err := g.ask(t, access.Bearer(id)); !errors.Is(err, ErrDenied) {
			t.Errorf("%v, want ErrDenied", err)
		}
	}
	short := g.issued[g.issue(t, "read *")]
	short.Expires = g.at.Add(time.Second)
	g.issued[short.ID] = short
	if _, err := g.ask(t, access.Bearer(short.ID)); err != nil {
		t.Error(err)
	}
	g.at = g.at.Add(time.Second)
	if asked, err := g.ask(t, access.Bearer(short.ID)); !errors.Is(err, ErrUnauthorized) || asked != "" {
		t.Errorf("asked %q, %v", asked, err)
	}
}

func TestRemembersNothing(t *testing.T) {
	g := newGate(t, 0)
	id := g.issue(t, "read *")
	for _, want := range []string{"beside, use 2026-11-21", "beside"} {
		if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != want {
			t.Errorf("asked %q, %v, want %q", asked, err, want)
		}
	}
}

// When a note of a use fails, the read succeeds. The note is tried again when the token is
// looked up again.
func TestNoteThatFails(t *testing.T) {
	g := newGate(t, 0)
	id := g.issue(t, "read *")
	g.failsUse = errors.New("full")
	for range 2 {
		g.log.Reset()
		if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != "beside, use 2026-11-21" {
			t.Errorf("asked %q, %v", asked, err)
		}
		want := `level=INFO msg=access who="token \"ci\" of alice (` + id.Short() + `)" what="read providers:acme/widget" allowed=true why=""` + "\n" +
			`level=WARN msg="cannot note the use of a token" token=` + id.Short() + ` error=full` + "\n"
		if log := g.log.String(); log != want {
			t.Errorf("logged %s, want %s", log, want)
		}
	}
	g.failsUse = nil
	for _, want := range []string{"beside, use 2026-11-21", "beside"} {
		if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != want {
			t.Errorf("asked %q, %v, want %q", asked, err, want)
		}
	}
}

// An outage is not a refusal, whatever is asked, wherever it happens, and however much of
// the lookup is done by then. It is not remembered, and no decision is logged.
func TestCatalogThatFails(t *testing.T) {
	broken := errors.New("broken")
	for point, fail := range map[string]func(*gate, error){
		"the whole request":     func(g *gate, err error) { g.failsWhole = err },
		"the data, after token": func(g *gate, err error) { g.failsData = err },
	} {
		for question := range questions(newGate(t, 0).Reader, access.Anyone, registry.Version{}) {
			g := newGate(t, time.Minute)
			id := g.issue(t, "read *")
			fail(g, broken)
			err := questions(g.Reader, access.Bearer(id), g.version)[question]
			if !errors.Is(err, broken) || errors.Is(err, ErrUnauthorized) || errors.Is(err, registry.ErrNotFound) {
				t.Errorf("%s fails: %s: %v", point, question, err)
			}
			if g.log.Len() > 0 {
				t.Errorf("%s fails: %s logs %s", point, question, g.log.String())
			}
			fail(g, nil)
			if asked, err := g.ask(t, access.Bearer(id)); err != nil || asked != "beside, use 2026-11-21" {
				t.Errorf("%s failed: afterwards asked %q, %v", point, asked, err)
			}
			fail(g, broken) // the token is remembered
			if asked, err := g.ask(t, access.Bearer(id)); !errors.Is(err, broken) || asked != "alone" {
				t.Errorf("%s fails again: asked %q, %v", point, asked, err)
			}
			if _, err := g.ask(t, access.Anyone); !errors.Is(err, broken) {
				t.Errorf("%s fails: anyone is answered %v", point, err)
			}
		}
	}
}

// A reader without tokens refuses every token, and says so.
func TestNoTokens(t *testing.T) {
	g := newGate(t, time.Minute)
	id := g.issue(t, "read *")
	g.Reader.uses = nil
	for question, err := range questions(g.Reader, access.Bearer(id), g.version) {
		var unauthorized *UnauthorizedError
		if !errors.As(err, &unauthorized) || unauthorized.Why != "the token that was sent is unknown here, or was revoked" {
			t.Errorf("%s: %v", question, err)
		}
	}
	if lines := strings.Count(g.log.String(), `who="unknown token (`+id.Short()+`)"`); lines != 4 || len(g.asked) > 0 {
		t.Errorf("logged %s, asked %q", g.log.String(), g.asked)
	}
}

// As many tokens are remembered as maxRemembered says, and no more.
func TestRemembersABoundedNumber(t *testing.T) {
	for _, count := range []int{maxRemembered, maxRemembered + 1} {
		g := newGate(t, time.Minute)
		var ids []access.ID
		for range count {
			ids = append(ids, g.issue(t, "read *"))
		}
		for _, lookups := range []bool{true, false} {
			found := 0
			for _, id := range ids {
				asked, err := g.ask(t, access.Bearer(id))
				if err != nil {
					t.Fatal(err)
				}
				if asked == "alone" {
					found++
				}
			}
			if lookups && found > 0 || !lookups && (found < count) != (count > maxRemembered) {
				t.Errorf("of %d tokens, %d are remembered", count, found)
			}
		}
	}
}

// Addresses have the kinds that scopes name.
func TestResources(t *testing.T) {
	module, err := registry.ParseModuleAddress("acme", "vpc", "aws")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := registry.ParseProviderAddress("acme", "widget")
	if err != nil {
		t.Fatal(err)
	}
	mirrored, err := registry.ParseMirroredAddress("registry.terraform.io", "hashicorp", "time")
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]access.Resource{
		"read modules:acme/vpc/aws":                        resource(module),
		"read providers:acme/widget":                       resource(provider),
		"read mirror:registry.terraform.io/hashicorp/time": resource(mirrored),
	} {
		if scope, err := access.ParseScope(got.String()); got.String() != want || err != nil || !(access.Scopes{scope}).Allow(got) {
			t.Errorf("%s, want %s; %v", got, want, err)
		}
	}
}
