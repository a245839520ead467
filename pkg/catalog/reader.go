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
	// NoteUse notes the last day on which a token was used. If there is no such
	// token, it does nothing and returns nil.
	NoteUse(ctx context.Context, id access.ID, day access.Day) error
}

// Reader is the only way from a request to a catalog. Every read has a caller, and
// succeeds only if a scope of the caller allows it.
type Reader struct {
	catalog    Catalog
	directory  Directory
	uses       TokenUses
	remembered *ttlcache.Cache[access.ID, *access.Token]
	remember   time.Duration
	log        *slog.Logger
	audit      access.Audit
	now        func() time.Time
}

// ReaderConfig is what a reader works with.
type ReaderConfig struct {
	// Catalog is read, and has the callers' tokens. Required.
	Catalog Catalog

	// Directory is an index over all addresses, with the same tokens. Nil: there is none,
	// and [Reader.Directory] fails.
	Directory Directory

	// TokenUses is called when a token is used. Nil: there are no tokens, and only
	// [access.Anyone] may read.
	TokenUses TokenUses

	// Remember is how long a token is not looked up again, and so how long a
	// revoked one stays good: at most [MaxRemember]. Zero: every read looks it up.
	Remember time.Duration

	// Logger gets a line for every decision but those on [access.Anyone].
	// Required.
	Logger *slog.Logger
}

// MaxRemember is the longest time for which a token is not looked up again.
const MaxRemember = time.Minute

// maxRemembered is how many tokens are remembered at a time.
const maxRemembered = 1000

// NewReader reads from a catalog.
func NewReader(c ReaderConfig) *Reader {
	return &Reader{
		catalog: c.Catalog, directory: c.Directory, uses: c.TokenUses, log: c.Logger, audit: access.LogTo(c.Logger),
		remembered: ttlcache.New[access.ID, *access.Token](maxRemembered), remember: min(c.Remember, MaxRemember), now: time.Now,
	}
}

// Listing is every version of a module or provider that is listed.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], [ErrDenied].
func (r *Reader) Listing(ctx context.Context, caller access.Caller, a registry.Address) (found Snapshot[*registry.Listing], err error) {
	err = r.read(ctx, caller, a, func(lookup *access.Lookup) (err error) {
		found, err = r.catalog.Listing(ctx, a, lookup)
		return err
	})
	if err != nil {
		return Snapshot[*registry.Listing]{}, err
	}
	return found, nil
}

// ModuleVersion is one version of a module.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], [ErrDenied].
func (r *Reader) ModuleVersion(ctx context.Context, caller access.Caller, a registry.ModuleAddress, v registry.Version) (Snapshot[*registry.ModuleVersion], error) {
	return version[*registry.ModuleVersion](ctx, r, caller, registry.Subject{Address: a, Version: v})
}

// ProviderVersion is one version of a provider.
//
// Errors: [ErrUnauthorized], [registry.ErrNotFound], [ErrDenied].
func (r *Reader) ProviderVersion(ctx context.Context, caller access.Caller, a registry.ProviderAddress, v registry.Version) (Snapshot[*registry.ProviderVersion], error) {
	return version[*registry.ProviderVersion](ctx, r, caller, registry.Subject{Address: a, Version: v})
}

// version is one version, whose state is an S. When it is decoded, its build metadata must
// be those that were asked for.
func version[S registry.State](ctx context.Context, r *Reader, caller access.Caller, asked registry.Subject) (Snapshot[S], error) {
	var found Snapshot[registry.State]
	err := r.read(ctx, caller, asked.Address, func(lookup *access.Lookup) (err error) {
		found, err = r.catalog.State(ctx, asked, lookup)
		return err
	})
	if err != nil {
		return Snapshot[S]{}, err
	}
	return onlyBuild[S](asked.Version, found), nil
}

// kinds are the kinds of scopes for the folders of addresses.
var kinds = map[registry.Folder]access.Kind{
	registry.Modules: access.Modules, registry.Providers: access.Providers, registry.Mirror: access.Mirror,
}

// resource is what a scope must match for an address to be read.
func resource(a registry.Address) access.Resource {
	return access.Resource{Kind: kinds[a.Folder()], Path: a.String()}
}

// question is what a caller wants to do: to read one address, or to see what there is.
type question struct {
	access.Resource
	list bool // what is listed is then chosen by the scopes
}

// String is the question as a [access.Decision] has it.
func (q question) String() string {
	if q.list {
		return "list"
	}
	return q.Resource.String()
}

func (q question) allowed(scopes access.Scopes) bool { return q.list || scopes.Allow(q.Resource) }

// read calls ask if the caller may read an address.
func (r *Reader) read(ctx context.Context, caller access.Caller, a registry.Address, ask func(*access.Lookup) error) error {
	_, err := r.admit(ctx, caller, question{Resource: resource(a)}, ask)
	return err
}

// admit calls ask if the caller may do what a question says. A token that is not remembered is
// looked up in the same request. If it does not allow that, admit returns an error, whatever
// ask has read. Without an error, it returns the token, or nil for [access.Anyone].
func (r *Reader) admit(ctx context.Context, caller access.Caller, about question, ask func(*access.Lookup) error) (*access.Token, error) {
	if caller.IsAnyone() {
		return nil, ask(nil)
	}
	id, ok := caller.Token()
	if !ok {
		return nil, r.record(ctx, "nobody", about, &UnauthorizedError{caller.Why()})
	}
	if r.uses == nil {
		return nil, r.decide(ctx, id, nil, about)
	}
	if token, ok := r.remembered.Get(id, r.now()); ok {
		if err := r.decide(ctx, id, token, about); err != nil {
			return nil, err
		}
		return token, ask(nil)
	}
	return r.lookUp(ctx, id, about, ask)
}

// lookUp is admit for a token that is not remembered.
func (r *Reader) lookUp(ctx context.Context, id access.ID, about question, ask func(*access.Lookup) error) (*access.Token, error) {
	lookup := access.Lookup{ID: id, Wanted: func(t *access.Token) bool { return r.verdict(t, about) == nil }}
	asked := r.now() // what was read may be as old
	err := ask(&lookup)
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return nil, err
	}
	if lookup.Token != nil {
		r.remembered.Put(id, lookup.Token, asked, r.remember)
	}
	if err := r.decide(ctx, id, lookup.Token, about); err != nil {
		return nil, err
	}
	r.noteUse(ctx, *lookup.Token)
	return lookup.Token, err
}

// verdict is nil if a token is good and allows what a question is about. The token is nil if
// it does not exist.
func (r *Reader) verdict(token *access.Token, about question) error {
	switch {
	case token == nil:
		return &UnauthorizedError{"the token that was sent is unknown here, or was revoked"}
	case token.Expired(r.now()):
		return &UnauthorizedError{"the token that was sent has expired"}
	case !about.allowed(token.Scopes):
		return ErrDenied
	}
	return nil
}

// decide is the verdict, which it also reports to the audit.
func (r *Reader) decide(ctx context.Context, id access.ID, token *access.Token, about question) error {
	who := "unknown token (" + id.Short() + ")"
	if token != nil {
		who = token.Who()
	}
	return r.record(ctx, who, about, r.verdict(token, about))
}

// record reports a verdict to the audit, and returns it.
func (r *Reader) record(ctx context.Context, who string, about question, verdict error) error {
	d := access.Decision{Who: who, What: about.String(), Allowed: verdict == nil}
	if unauthorized, ok := errors.AsType[*UnauthorizedError](verdict); ok {
		d.Why = unauthorized.Why
	} else if verdict != nil {
		d.Why = "it has no scope for that"
	}
	r.audit(ctx, d)
	return verdict
}

// noteUseTimeout is how long an answer waits at most for a note.
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
	if err := r.uses.NoteUse(ctx, t.ID, today); err != nil {
		r.log.WarnContext(ctx, "cannot note the use of a token", "token", t.ID.Short(), "error", err)
	}
}
