package dynamocatalog_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// wrong is the listing of a version that has no state, and of one at a higher
// revision than its state.
func wrong(states []registry.ProviderVersion) registry.Listing {
	ahead, alone := states[0].Listed(), states[1].Listed()
	ahead.Revision, alone.Revision = 9, 5
	return registry.Listing{ahead, alone}
}

// corrections put a listing right in which two versions are as in wrong. Each
// takes two requests.
var corrections = map[string]func(*testing.T, *dynamocatalog.Catalog, []registry.ProviderVersion) error{
	"replace": func(t *testing.T, c *dynamocatalog.Catalog, states []registry.ProviderVersion) error {
		return catalogtest.Replace(t.Context(), c, states[0], catalog.Seen{State: states[0].Revision, Listed: 9})
	},
	"remove": func(t *testing.T, c *dynamocatalog.Catalog, states []registry.ProviderVersion) error {
		return c.Remove(t.Context(), registry.Subject{Address: widget, Version: states[1].Version}, catalog.Seen{Listed: 5})
	},
}

const requestsPerCorrection = 2

// corrected is the listing after a correction.
func corrected(name string, listing registry.Listing, states []registry.ProviderVersion) registry.Listing {
	if name == "remove" {
		without, _ := listing.Without(states[1].Version)
		return without
	}
	without, _ := listing.Without(states[0].Version)
	with, _ := without.With(states[0].Listed())
	return with
}

// mistaken is a table in which two versions are as in wrong.
func mistaken(t *testing.T, states []registry.ProviderVersion) table {
	t.Helper()
	b := newTable(t)
	c := b.open(t, nil)
	if err := errors.Join(catalogtest.Put(t.Context(), c, states[0]), c.Fill(t.Context(), widget, 1, wrong(states))); err != nil {
		t.Fatal(err)
	}
	return b
}

func wantListed(t *testing.T, b table, want registry.Listing) {
	t.Helper()
	if got, err := catalog.Listing(t.Context(), b.open(t, nil), widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d versions are listed: %.500s, %v; want %d: %.500s", len(got), fmt.Sprint(got), err, len(want), fmt.Sprint(want))
	}
}

// TestCorrectDespiteFaults fails each request of a correction once, in a way
// after which it is sent again: the caller does not notice, nor take what they
// did themselves for another's change.
func TestCorrectDespiteFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	states := catalogtest.Provider(widget, 2, 3)
	for name, correct := range corrections {
		for _, f := range passing {
			for at := 1; at <= requestsPerCorrection; at++ {
				t.Run(fmt.Sprintf("%s: %s, request %d", name, f.name, at), func(t *testing.T) {
					b := mistaken(t, states)
					if err := correct(t, b.open(t, &transport{pick: f.only(at)}), states); err != nil {
						t.Fatal(err)
					}
					wantListed(t, b, corrected(name, wrong(states), states))
				})
			}
		}
	}
}

// TestCorrectAgainAfterFault fails each request of a correction for good. The correction
// returns an error, and all of it is done or nothing. The same correction again succeeds, or
// finds it done.
func TestCorrectAgainAfterFault(t *testing.T) {
	states := catalogtest.Provider(widget, 2, 3)
	for name, correct := range corrections {
		for _, f := range final {
			for at := 1; at <= requestsPerCorrection; at++ {
				t.Run(fmt.Sprintf("%s: %s, request %d", name, f.name, at), func(t *testing.T) {
					b := mistaken(t, states)
					err := correct(t, b.open(t, &transport{pick: f.only(at)}), states)
					if codeOf(err) != f.code {
						t.Errorf("the correction that failed = %v, want %s", err, f.code)
					}
					written := f.done && at == requestsPerCorrection
					if err := correct(t, b.open(t, nil), states); errors.Is(err, catalog.ErrChanged) != written || err != nil && !written {
						t.Errorf("again: %v, and it was written: %t", err, written)
					}
					wantListed(t, b, corrected(name, wrong(states), states))
				})
			}
		}
	}
}

// TestCorrectMeanwhile has others write between a correction's two requests.
func TestCorrectMeanwhile(t *testing.T) {
	states := catalogtest.Provider(widget, 3, 3)
	newer := func(p registry.ProviderVersion) registry.ProviderVersion { p.Revision = 20; return p }
	for name, correct := range corrections {
		touched := map[string]int{"replace": 0, "remove": 1}[name]
		for _, c := range []struct {
			meanwhile string
			state     registry.ProviderVersion
			want      error
		}{
			{"another version", states[2], nil},
			{"the other one of the two", newer(states[1-touched]), nil},
			{"the same version", newer(states[touched]), catalog.ErrChanged},
		} {
			t.Run(name+", meanwhile "+c.meanwhile, func(t *testing.T) {
				b := mistaken(t, states)
				carry := &transport{}
				carry.pick = func(number int) (fault, bool) {
					if number == requestsPerCorrection {
						if err := catalogtest.Put(t.Context(), b.open(t, nil), c.state); err != nil {
							t.Error(err)
						}
					}
					return fault{}, false
				}
				if err := correct(t, b.open(t, carry), states); !errors.Is(err, c.want) {
					t.Errorf("the correction = %v, want %v", err, c.want)
				}
				want, _ := wrong(states).With(c.state.Listed())
				if c.want == nil {
					want = corrected(name, want, states)
				}
				wantListed(t, b, want)
			})
		}
	}
}

// TestStateMeanwhile has the writer of a newer state die, between a correction's
// two requests, before it came to the listing: nothing is unlisted over it.
func TestStateMeanwhile(t *testing.T) {
	states := catalogtest.Provider(widget, 2, 3)
	for name, correct := range corrections {
		t.Run(name, func(t *testing.T) {
			b := mistaken(t, states)
			newer := states[map[string]int{"replace": 0, "remove": 1}[name]]
			newer.Revision = 20
			dying := fault{code: "AccessDeniedException", status: http.StatusBadRequest}
			carry := &transport{pick: func(number int) (fault, bool) {
				if number == requestsPerCorrection {
					if err := catalogtest.Put(t.Context(), b.open(t, &transport{pick: dying.only(2)}), newer); err == nil {
						t.Error("the writer did not die")
					}
				}
				return fault{}, false
			}}
			if err := correct(t, b.open(t, carry), states); !errors.Is(err, catalog.ErrChanged) {
				t.Errorf("the correction = %v, want ErrChanged", err)
			}
			wantListed(t, b, wrong(states))
			if p, err := catalogtest.ProviderVersion(t.Context(), b.open(t, nil), widget, newer.Version); err != nil || p.Revision != 20 {
				t.Errorf("the state is of revision %d, %v", p.Revision, err)
			}
		})
	}
}

// TestCorrectChunks corrects versions of a listing in several chunks, which
// grows and shrinks over it.
func TestCorrectChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	states := catalogtest.Provider(widget, 2, 3)
	b := mistaken(t, states)
	want := long(t, 5000)
	for _, entry := range wrong(states) {
		want, _ = want.With(entry)
	}
	count := &transport{}
	c := b.open(t, count)
	if err := c.Fill(t.Context(), widget, 2, want); err != nil {
		t.Fatal(err)
	}
	for name, correct := range corrections {
		count.take()
		if err := correct(t, c, states); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := count.take(); !slices.Equal(got, []string{"Query, consistent", "TransactWriteItems"}) {
			t.Errorf("%s took %q", name, got)
		}
		want = corrected(name, want, states)
		wantListed(t, b, want)
	}
}

// TestEmptyListing checks that an empty listing goes on to count its revisions: a writer that
// read an earlier listing must not replace a later one.
func TestEmptyListing(t *testing.T) {
	b := newTable(t)
	c := b.open(t, nil)
	p := catalogtest.Provider(widget, 1, 3)[0]
	for round := range 2 {
		if err := catalogtest.Put(t.Context(), c, p); err != nil {
			t.Fatal(err)
		}
		if err := c.Remove(t.Context(), registry.Subject{Address: widget, Version: p.Version}, catalog.Seen{State: p.Revision, Listed: p.Revision}); err != nil {
			t.Fatal(err)
		}
		items := b.items(t, "P#"+widget.String())
		if revision := items["LIST"]["revision"].(*types.AttributeValueMemberN).Value; len(items) != 1 || revision != fmt.Sprint(2*round+2) {
			t.Errorf("%d items, the listing's revision is %s", len(items), revision)
		}
	}
}
