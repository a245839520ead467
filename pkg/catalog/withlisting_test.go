package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// two asks for a version of acme/widget with its listing, and says how the catalog was asked.
func (g *gate) two(t *testing.T, caller access.Caller, v registry.Version) (asked string, err error) {
	t.Helper()
	g.asked = nil
	found, err := g.Reader.ProviderWithListing(t.Context(), caller, registry.ProviderAddress{Namespace: "acme", Type: "widget"}, v)
	if err == nil {
		var p registry.ProviderVersion
		var l registry.Listing
		if err := errors.Join(found.Version.Decode(&p), found.Listing.Decode(&l)); err != nil || p.Version != g.version {
			t.Errorf("%v, %v", p, err)
		}
	} else if len(found.Version.Stored())+len(found.Listing.Stored()) > 0 {
		t.Errorf("with %v: %q and %q", err, found.Version.Stored(), found.Listing.Stored())
	}
	return strings.Join(g.asked, ", "), err
}

// A version with its listing is one decision and two reads. Who may not read it costs one read,
// as with all other questions.
func TestWithListing(t *testing.T) {
	const refused, read = "beside", "beside, alone, use 2026-11-21"
	for name, v := range map[string]registry.Version{"one version": registrytest.Version(t, "1.0.0"), "the newest": {}} {
		g := newGate(t, 0)
		_, unknown := access.NewToken()
		good, other := access.Bearer(g.issue(t, "read providers:acme/*")), access.Bearer(g.issue(t, "read modules:*"))
		for _, tt := range []struct {
			who    string
			caller access.Caller
			err    error
			asked  string
		}{
			{"anyone", access.Anyone, nil, "alone, alone"},
			{"nobody", access.Caller{}, ErrUnauthorized, ""},
			{"unknown", access.Bearer(unknown), ErrUnauthorized, refused},
			{"out of scope", other, ErrDenied, refused},
			{"as it should be", good, nil, read},
		} {
			g.log.Reset()
			asked, err := g.two(t, tt.caller, v)
			if !errors.Is(err, tt.err) || asked != tt.asked {
				t.Errorf("%s, %s: %v, asked %q, want %v, %q", name, tt.who, err, asked, tt.err, tt.asked)
			}
			if lines := strings.Count(g.log.String(), "\n"); lines != 1 && tt.who != "anyone" {
				t.Errorf("%s, %s: logged %s", name, tt.who, g.log.String())
			}
		}
		g.missing = true
		if asked, err := g.two(t, other, v); !errors.Is(err, ErrDenied) || asked != refused {
			t.Errorf("%s: what is not there, out of scope: %v, asked %q", name, err, asked)
		}
		if _, err := g.two(t, good, v); !errors.Is(err, registry.ErrNotFound) || errors.Is(err, ErrDenied) {
			t.Errorf("%s: what is not there: %v", name, err)
		}
		g.missing = false
	}
	g := newGate(t, time.Minute)
	good := access.Bearer(g.issue(t, "read *"))
	for _, want := range []string{read, "alone, alone"} {
		if asked, err := g.two(t, good, g.version); err != nil || asked != want {
			t.Errorf("%v, asked %q, want %q", err, asked, want)
		}
	}
}

// pieces is a catalog whose answers the test sets.
type pieces struct {
	listing                registry.Listing
	listingErr, stateErr   error
	undecodable            bool
	listingReads, verReads int
}

func (p *pieces) Listing(context.Context, registry.Address, *access.Lookup) (Snapshot[*registry.Listing], error) {
	p.listingReads++
	return NewSnapshot([]byte("listing"), func(_ []byte, into *registry.Listing) error {
		if p.undecodable {
			return errBroken
		}
		if len(p.listing) == 0 {
			return registry.ErrNotFound
		}
		*into = p.listing
		return nil
	}), p.listingErr
}

func (p *pieces) State(_ context.Context, s registry.Subject, _ *access.Lookup) (Snapshot[registry.State], error) {
	p.verReads++
	return onlyVersion(s.Version), p.stateErr
}

var errBroken = errors.New("broken")

// Each of the two reads fails in turn, and finds nothing in turn.
func TestWithListingFails(t *testing.T) {
	one := registrytest.Version(t, "1.0.0")
	newest := registry.Version{}
	listing := registry.Listing{{Version: one, Revision: 1}}
	for name, tt := range map[string]struct {
		catalog pieces
		asked   registry.Version
		err     error
	}{
		"there":                           {pieces{listing: listing}, one, nil},
		"there, the newest":               {pieces{listing: listing}, newest, nil},
		"no state":                        {pieces{listing: listing, stateErr: registry.ErrNotFound}, one, registry.ErrNotFound},
		"no state of the newest":          {pieces{listing: listing, stateErr: registry.ErrNotFound}, newest, registry.ErrNotFound},
		"no listing":                      {pieces{listingErr: registry.ErrNotFound}, one, nil},
		"no listing, the newest":          {pieces{listingErr: registry.ErrNotFound}, newest, registry.ErrNotFound},
		"an empty listing, the newest":    {pieces{}, newest, registry.ErrNotFound},
		"all withdrawn, the newest":       {pieces{listing: registry.Listing{{Version: one, Standing: registry.Standing{State: registry.Withdrawn}}}}, newest, registry.ErrNotFound},
		"the state fails":                 {pieces{listing: listing, stateErr: errBroken}, one, errBroken},
		"the state of the newest fails":   {pieces{listing: listing, stateErr: errBroken}, newest, errBroken},
		"the listing fails":               {pieces{listing: listing, listingErr: errBroken}, one, errBroken},
		"the listing fails, the newest":   {pieces{listing: listing, listingErr: errBroken}, newest, errBroken},
		"a damaged listing of the newest": {pieces{undecodable: true}, newest, errBroken},
	} {
		found, err := NewReader(ReaderConfig{Catalog: &tt.catalog}).ModuleWithListing(t.Context(), access.Anyone, registry.ModuleAddress{}, tt.asked)
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		}
		if tt.catalog.listingReads > 1 || tt.catalog.verReads > 1 {
			t.Errorf("%s: %d and %d reads", name, tt.catalog.listingReads, tt.catalog.verReads)
		}
		if err != nil {
			continue
		}
		m, l := registry.ModuleVersion{}, registry.Listing{}
		if err := errors.Join(found.Version.Decode(&m), found.Listing.Decode(&l)); err != nil || m.Version != one || len(l) != len(tt.catalog.listing) {
			t.Errorf("%s: %+v, %+v, %v", name, m, l, err)
		}
	}
}
