package boltcatalog_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
)

// walked is what a walk yields after a cursor, and its errors.
func walked(t *testing.T, c *boltcatalog.Catalog, after string) (all []string, errs []error, cursors []string) {
	t.Helper()
	for entry, err := range c.Entries(t.Context(), after) {
		all = append(all, fmt.Sprint(entry.Subject.Version, " ", entry.Seen))
		errs = append(errs, err)
		cursors = append(cursors, entry.Cursor)
	}
	return all, errs, cursors
}

func put(t *testing.T, path string, items map[string]string) {
	t.Helper()
	edit(t, path, func(tx *bbolt.Tx) error {
		var errs []error
		for key, value := range items {
			errs = append(errs, tx.Bucket([]byte("items")).Put([]byte(key), []byte(value)))
		}
		return errors.Join(errs...)
	})
}

// TestOneSided checks that a version is found and corrected that only the listing has, or
// that it has at a higher revision than the state.
func TestOneSided(t *testing.T) {
	path := filled(t, 2, 2)
	put(t, path, map[string]string{
		"P#acme/widget LIST": `{"sets":[{}],"versions":[{"version":"0.0.0","revision":9,"set":0},{"version":"0.7.0","revision":5,"set":0}]}`,
		"A#token X":          `{}`,
		"P#acme/widget NEW":  `{}`,
	})
	c := open(t, path)
	if got, _, _ := walked(t, c, ""); !slices.Equal(got, []string{"0.0.0 {3 9}", "0.1.0 {3 0}", "0.7.0 {0 5}"}) {
		t.Fatalf("the walk meets %q", got)
	}
	states := catalogtest.Provider(widget, 8, 2)
	for i, seen := range map[int]catalog.Seen{0: {State: 3, Listed: 9}, 1: {State: 3}} {
		if err := catalogtest.Replace(t.Context(), c, states[i], seen); err != nil {
			t.Error(err)
		}
	}
	if err := c.Remove(t.Context(), registry.Subject{Address: widget, Version: states[7].Version}, catalog.Seen{Listed: 5}); err != nil {
		t.Error(err)
	}
	want := registry.Listing{states[0].Listed(), states[1].Listed()}
	if got, err := catalog.Listing(t.Context(), c, widget); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("listed as %+v, %v, want %+v", got, err, want)
	}
}

// TestWalkDespiteDamage checks that a walk yields an error for what cannot be read, and
// goes on after it; and that a new walk can begin there.
func TestWalkDespiteDamage(t *testing.T) {
	path := filled(t, 3, 2)
	put(t, path, map[string]string{
		"P#acme/widget V#0.1.0": `[]`,
		"P#acme/broken LIST":    `"x"`,
		"P#acme/broken V#1.0.0": `{}`,
	})
	c := open(t, path)
	got, errs, cursors := walked(t, c, "")
	if want := []string{" {0 0}", "0.0.0 {3 3}", "0.1.0 {0 3}", "0.2.0 {3 3}"}; !slices.Equal(got, want) {
		t.Fatalf("the walk meets %q, want %q", got, want)
	}
	for i, err := range errs {
		if failed := i == 0 || i == 2; failed != (err != nil && strings.Contains(err.Error(), "remove the file")) {
			t.Errorf("%s: %v, want advice: %t", got[i], err, failed)
		}
		if rest, _, _ := walked(t, c, cursors[i]); !slices.Equal(rest, got[i+1:]) {
			t.Errorf("after %s comes %q, want %q", got[i], rest, got[i+1:])
		}
	}
	state := catalogtest.Provider(widget, 2, 2)[1]
	for _, err := range []error{
		catalogtest.Replace(t.Context(), c, state, catalog.Seen{Listed: 3}),
		c.Remove(t.Context(), registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "broken"}, Version: state.Version}, catalog.Seen{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "remove the file") {
			t.Errorf("a correction of what cannot be read: %v, want advice", err)
		}
	}
}
