package catalogtest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// LookupDriver is what a driver of a catalog with tokens brings to its suite.
type LookupDriver struct {
	Index catalog.Index
	Store access.Tokens
}

// Lookups runs the suite of lookups. With one, a catalog answers every question as it does
// without, and finds the token whether or not there is an answer, or it is wanted.
func Lookups(t *testing.T, driver LookupDriver) {
	s := &suite{driver.Index}
	m := moduleVersion("beside/it/aws", "1.0.0", 2)
	p := providerVersion("beside/it", "1.0.0", "linux_amd64", "release")
	s.putModule(t, m)
	s.putProvider(t, p)
	unlisted := providerVersion("beside/unlisted", "1.0.0", "linux_amd64")
	s.putProvider(t, unlisted)
	for name, lookup := range lookups(t, driver) {
		t.Run(name, func(t *testing.T) {
			for what, ask := range questions(m, p, unlisted) {
				want, wantErr := ask(t.Context(), driver.Index, nil)
				found := lookup.start()
				got, err := ask(t.Context(), driver.Index, &found)
				if !reflect.DeepEqual(got, want) || !sameErr(err, wantErr) {
					t.Errorf("%s: %+v, %v, want %+v, %v", what, got, err, want, wantErr)
				}
				if found.ID != lookup.id || !reflect.DeepEqual(found.Token, lookup.want) {
					t.Errorf("%s: found %+v, want %+v", what, found.Token, lookup.want)
				}
			}
		})
	}
	t.Run("unwanted", func(t *testing.T) {
		for what, ask := range questions(m, p, unlisted) {
			want := token("unwanted " + what)
			if err := driver.Store.CreateToken(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			found := access.Lookup{ID: want.ID, Wanted: func(t *access.Token) bool { return !reflect.DeepEqual(t, &want) }}
			if _, err := ask(t.Context(), driver.Index, &found); !errors.Is(err, registry.ErrNotFound) || !reflect.DeepEqual(found.Token, &want) {
				t.Errorf("%s: %v, found %+v", what, err, found.Token)
			}
		}
	})
	t.Run("use", func(t *testing.T) { noteUse(t, driver) })
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for what, ask := range questions(m, p, unlisted) {
			if _, err := ask(ctx, driver.Index, &access.Lookup{ID: token("any").ID}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s = %v, want context.Canceled", what, err)
			}
		}
	})
}

// sameErr says whether two errors are the same for callers.
func sameErr(err, want error) bool {
	return (err == nil) == (want == nil) && errors.Is(err, registry.ErrNotFound) == errors.Is(want, registry.ErrNotFound)
}

// lookup is what is looked up, and what is found.
type lookup struct {
	id    access.ID
	known *access.Token // in the lookup before
	want  *access.Token
}

func (l lookup) start() access.Lookup { return access.Lookup{ID: l.id, Token: l.known} }

func lookups(t *testing.T, driver LookupDriver) map[string]lookup {
	t.Helper()
	good, expired, revoked := token("good"), token("expired"), token("revoked")
	expired.Created = time.Now().Add(-time.Hour).UTC().Round(0)
	expired.Expires = expired.Created.Add(time.Minute)
	good.Expires, good.Used = time.Time{}, "2026-11-21"
	for _, token := range []access.Token{good, expired, revoked} {
		if err := driver.Store.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	if err := driver.Store.RevokeToken(t.Context(), revoked.ID); err != nil {
		t.Fatal(err)
	}
	return map[string]lookup{
		"good":    {id: good.ID, want: &good},
		"expired": {id: expired.ID, want: &expired},
		"revoked": {id: revoked.ID, known: &revoked},
		"absent":  {id: token("absent").ID},
		"none":    {},
	}
}

type question = func(context.Context, catalog.Catalog, *access.Lookup) (any, error)

func questions(m registry.ModuleVersion, p, unlisted registry.ProviderVersion) map[string]question {
	listing := func(a registry.Address) question {
		return func(ctx context.Context, c catalog.Catalog, lookup *access.Lookup) (any, error) {
			return Listing(ctx, c, a, lookup)
		}
	}
	load := func(a registry.Address, v registry.Version) question {
		return func(ctx context.Context, c catalog.Catalog, lookup *access.Lookup) (any, error) {
			s := a.New(v)
			snapshot, err := c.State(ctx, s.Subject(), lookup)
			if err == nil {
				err = snapshot.Decode(s)
			}
			return s, err
		}
	}
	return map[string]question{
		"module":                    listing(m.Address),
		"provider":                  listing(p.Address),
		"module version":            load(m.Address, m.Version),
		"provider version":          load(p.Address, p.Version),
		"unlisted provider":         listing(unlisted.Address),
		"unlisted provider version": load(unlisted.Address, unlisted.Version),
		"unknown module":            listing(module("beside/unknown/aws")),
		"unknown provider":          listing(provider("beside/unknown")),
		"unknown module version":    load(m.Address, version("9.9.9")),
		"unknown provider version":  load(p.Address, version("9.9.9")),
	}
}

// noteUse checks that a use is noted where tokens are kept.
func noteUse(t *testing.T, driver LookupDriver) {
	want := token("noted")
	if err := driver.Store.CreateToken(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if err := driver.Store.NoteUse(t.Context(), want.ID, "2026-11-21"); err != nil {
		t.Fatal(err)
	}
	want.Used = "2026-11-21"
	if got, err := driver.Store.Token(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the token is %+v, %v, want %+v", got, err, want)
	}
	if err := driver.Store.NoteUse(t.Context(), token("absent").ID, "2026-11-21"); err != nil {
		t.Errorf("the use of a token that is not there: %v", err)
	}
}
