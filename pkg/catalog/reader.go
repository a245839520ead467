package catalog

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// TokenUses is where the use of tokens is noted.
type TokenUses interface {
	// NoteUse notes the last day on which a token was used. Of one that is not
	// there it notes nothing, and returns nil.
	NoteUse(ctx context.Context, id access.ID, day access.Day) error
}

// Reader is the only way from a request to a catalog: it takes no question
// without a caller, and answers none that the caller has no scope for.
type Reader struct {
	catalog Catalog
	tokens  TokenUses
	known   *ttlcache.Cache[access.ID, *access.Token]
	keep    time.Duration // for which a token is known
	log     *slog.Logger
	audit   access.Audit
	now     func() time.Time
}

// ReaderConfig is what a reader works with.
type ReaderConfig struct {
	// Catalog is what is read, and finds the tokens of callers. Required.
	Catalog Catalog

	// Tokens are told of the use of those. Nil: there are none, and nobody may
	// read but [access.Anyone].
	Tokens TokenUses

	// Remember is how long a token is not looked up again, and so how long one
	// that was revoked goes on being good: at most [MaxRemember]. Zero: every
	// question looks it up.
	Remember time.Duration

	// Logger gets a line for every decision but those on [access.Anyone].
	// Required.
	Logger *slog.Logger
}

// MaxRemember is how long a token may be known without being looked up.
const MaxRemember = time.Minute

// maxRemembered is how many tokens are known at a time.
const maxRemembered = 1000

// NewReader reads from a catalog.
func NewReader(c ReaderConfig) *Reader {
	return &Reader{
		catalog: c.Catalog, tokens: c.Tokens, log: c.Logger, audit: access.LogTo(c.Logger),
		known: ttlcache.New[access.ID, *access.Token](maxRemembered), keep: min(c.Remember, MaxRemember), now: time.Now,
	}
}

// Listing is every version of a module or provider that is listed.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], as which [ErrDenied] counts.
func (r *Reader) Listing(ctx context.Context, caller access.Caller, a registry.Address) (listing registry.Listing, err error) {
	err = r.read(ctx, caller, a, func(lookup *access.Lookup) (err error) {
		listing, err = r.catalog.Listing(ctx, a, lookup)
		return err
	})
	if err != nil {
		return nil, err
	}
	return listing, nil
}

// ModuleVersion is one version of a module.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], as which [ErrDenied] and
// [ErrOtherBuild] count.
func (r *Reader) ModuleVersion(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return load(ctx, r, caller, registry.ModuleVersion{Address: a, Version: v})
}

// ProviderVersion is one version of a provider.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], as which [ErrDenied] and
// [ErrOtherBuild] count.
func (r *Reader) ProviderVersion(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return load(ctx, r, caller, registry.ProviderVersion{Address: a, Version: v})
}

// load reads the state of a version, of which nothing is known but that. With an error
// it returns nothing of it.
func load[T any, S interface {
	*T
	registry.State
}](ctx context.Context, r *Reader, caller access.Caller, state T) (T, error) {
	var nothing T
	s := S(&state)
	asked := s.Subject()
	err := r.read(ctx, caller, asked.Address, func(lookup *access.Lookup) error { return r.catalog.Load(ctx, s, lookup) })
	switch {
	case err != nil:
		return nothing, err
	case s.Subject().Version != asked.Version:
		return nothing, ErrOtherBuild
	}
	return state, nil
}

// kinds are what scopes call the folders of addresses.
var kinds = map[registry.Folder]access.Kind{
	registry.Modules: access.Modules, registry.Providers: access.Providers, registry.Mirror: access.Mirror,
}

// resource is what a scope must match to read what an address names.
func resource(a registry.Address) access.Resource {
	return access.Resource{Kind: kinds[a.Folder()], Path: a.String()}
}

// read asks for a caller who may. A token that is not known is looked up in the same
// request; then what was read is given to nobody who may not: an error says so.
func (r *Reader) read(ctx context.Context, caller access.Caller, a registry.Address, ask func(*access.Lookup) error) error {
	if caller.IsAnyone() {
		return ask(nil)
	}
	about := resource(a)
	id, ok := caller.Token()
	if !ok {
		return r.tell(ctx, "nobody", about, &UnauthorizedError{caller.Why()})
	}
	if r.tokens == nil {
		return r.decide(ctx, id, nil, about)
	}
	if token, ok := r.known.Get(id, r.now()); ok {
		if err := r.decide(ctx, id, token, about); err != nil {
			return err
		}
		return ask(nil)
	}
	lookup := access.Lookup{ID: id, Wanted: func(t *access.Token) bool { return r.verdict(t, about) == nil }}
	asked := r.now() // what was read may be as old
	err := ask(&lookup)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return err
	}
	if lookup.Token != nil {
		r.known.Put(id, lookup.Token, asked, r.keep)
	}
	if err := r.decide(ctx, id, lookup.Token, about); err != nil {
		return err
	}
	r.noteUse(ctx, *lookup.Token)
	return err
}

// verdict is nil if a token is good, and good for something. A token that does
// not exist is nil.
func (r *Reader) verdict(token *access.Token, about access.Resource) error {
	switch {
	case token == nil:
		return &UnauthorizedError{"the token that was sent is unknown here, or was revoked"}
	case token.Expired(r.now()):
		return &UnauthorizedError{"the token that was sent has expired"}
	case !token.Scopes.Allow(about):
		return ErrDenied
	}
	return nil
}

// decide is the verdict, of which the audit is told.
func (r *Reader) decide(ctx context.Context, id access.ID, token *access.Token, about access.Resource) error {
	who := "unknown token (" + id.Short() + ")"
	if token != nil {
		who = token.Who()
	}
	return r.tell(ctx, who, about, r.verdict(token, about))
}

// tell tells the audit of a decision, and returns it.
func (r *Reader) tell(ctx context.Context, who string, about access.Resource, verdict error) error {
	d := access.Decision{Who: who, What: about.String(), Allowed: verdict == nil}
	if unauthorized, ok := errors.AsType[*UnauthorizedError](verdict); ok {
		d.Why = unauthorized.Why
	} else if verdict != nil {
		d.Why = "it has no scope for that"
	}
	r.audit(ctx, d)
	return verdict
}

// noteUseTimeout bounds how long an answer waits for a note.
const noteUseTimeout = time.Second

// noteUse notes the first use of a token on a day. A note that fails is lost,
// and the next use tries again.
func (r *Reader) noteUse(ctx context.Context, t access.Token) {
	today := access.DayOf(r.now())
	if t.Used >= today {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteUseTimeout)
	defer cancel()
	if err := r.tokens.NoteUse(ctx, t.ID, today); err != nil {
		r.log.WarnContext(ctx, "cannot note the use of a token", "token", t.ID.Short(), "error", err)
	}
}
