package layout_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// TestListing checks the stored form. That of a version without standing and source has no
// such fields, as in listings that are older than these.
func TestListing(t *testing.T) {
	linux := []registry.Platform{{OS: "linux", Arch: "amd64"}}
	listing := registry.Listing{
		{Version: registrytest.Version(t, "1.0.0"), Revision: 3, Protocols: []string{"5.0"}, Platforms: linux},
		{Version: registrytest.Version(t, "1.1.0+b"), Revision: 4, Protocols: []string{"5.0"}, Platforms: linux, Standing: registry.Standing{State: registry.Deprecated, Message: "use 2.0.0"}, Source: "https://example.com/b"},
		{Version: registrytest.Version(t, "1.2.0"), Revision: 1, Standing: registry.Standing{State: registry.Withdrawn}, Source: "https://example.com/a"},
		{Version: registrytest.Version(t, "1.3.0"), Revision: 1, Source: "https://example.com/b"},
	}
	const want = `{"sets":[{"protocols":["5.0"],"platforms":["linux_amd64"]},{}],"sources":["https://example.com/b","https://example.com/a"],"versions":[` +
		`{"version":"1.0.0","revision":3,"set":0},` +
		`{"version":"1.1.0+b","revision":4,"set":0,"standing":{"state":"deprecated","message":"use 2.0.0"},"source":1},` +
		`{"version":"1.2.0","revision":1,"set":1,"standing":{"state":"withdrawn"},"source":2},` +
		`{"version":"1.3.0","revision":1,"set":1,"source":1}]}`
	stored, err := layout.EncodeListing(listing)
	if err != nil || string(stored) != want {
		t.Errorf("stored as %s, %v, want %s", stored, err, want)
	}
	if got, err := layout.DecodeListing([]byte(want)); err != nil || !reflect.DeepEqual(got, listing) {
		t.Errorf("read as %+v, %v, want %+v", got, err, listing)
	}
	for _, number := range []string{"-1", "1", "2"} {
		damaged := `{"sets":[{}],"versions":[{"version":"1.0.0","revision":1,"set":0,"source":` + number + `}]}`
		if number == "2" {
			damaged = strings.Replace(damaged, `"versions"`, `"sources":["https://example.com/a"],"versions"`, 1)
		}
		if got, err := layout.DecodeListing([]byte(damaged)); err == nil {
			t.Errorf("%s is read as %+v", damaged, got)
		}
	}
}

// TestListingSizes checks that a listing is stored in no more bytes than it says it
// takes, and in not much less.
func TestListingSizes(t *testing.T) {
	for _, c := range []struct{ versions, platforms, sets, standing, sources int }{
		{1, 1, 1, 1, 0}, {1000, 15, 1, 0, 0}, {1000, 15, 30, 5, 0}, {300, 100, 300, 2, 0}, {500, 0, 1, 0, 0},
		{1, 0, 1, 0, 1}, {500, 0, 1, 0, 1}, {500, 0, 1, 0, 500}, {500, 0, 1, 3, 20},
	} {
		var listing registry.Listing
		for n := range c.versions {
			entry := registry.Listed{Version: registrytest.Version(t, fmt.Sprintf("1.%d.0-x", n)), Revision: 100 + n, Protocols: []string{"5.0", "6.0"}}
			for p := range c.platforms {
				entry.Platforms = append(entry.Platforms, registry.Platform{OS: fmt.Sprint("os", n%c.sets), Arch: fmt.Sprint("arch", p)})
			}
			if c.standing > 0 && n%c.standing == 0 {
				entry.Standing = registry.Standing{State: registry.Deprecated, Message: "use 2.0.0"}
			}
			if c.sources > 0 {
				entry.Source = fmt.Sprintf("https://git.example.com/acme/%d", n%c.sources)
			}
			listing = append(listing, entry)
		}
		data, err := layout.EncodeListing(listing)
		if err != nil {
			t.Fatal(err)
		}
		if answered, stored := listing.Sizes(); len(data) > stored || stored > 2*len(data) || c.platforms > 0 && c.sets < c.versions && answered < 2*stored {
			t.Errorf("%+v: stored in %d bytes, and the listing says %d, and %d in an answer", c, len(data), stored, answered)
		}
	}
}

// TestEntries checks the entries of a partition whose states and listing may each lack a
// version that the other has.
func TestEntries(t *testing.T) {
	listing := registry.Listing{{Version: registrytest.Version(t, "1.0.0"), Revision: 2}, {Version: registrytest.Version(t, "1.2.0+b"), Revision: 1}, {Version: registrytest.Version(t, "1.10.0"), Revision: 7}}
	damage := errors.New("damaged")
	states := map[string]layout.State{
		"V#1.0.0": {Revision: 2}, "V#1.1.0": {Revision: 1}, "V#1.10.0": {Revision: 8}, "V#1.3.0": {Err: damage},
		"LIST": {Revision: 5}, "LIST#1": {Revision: 5}, "V#1.0": {Revision: 1}, "V#1.0.0+b": {Revision: 1}, "1.0.0": {Revision: 1}, "X": {Revision: 1},
	}
	all := []string{"1.0.0 {2 2}", "1.1.0 {1 0}", "1.10.0 {8 7}", "1.2.0 {0 1}", "1.3.0 {0 0} damaged"}
	for _, c := range []struct {
		partition, after string
		err              error
		want             []string
	}{
		{partition: "M#acme/vpc/aws", want: all},
		{partition: "P#acme/widget", want: all},
		{partition: "P#acme/widget", after: "LIST", want: all},
		{partition: "P#acme/widget", after: "V#1.1.0", want: all[2:]},
		{partition: "P#acme/widget", after: "V#1.11.0", want: all[3:]},
		{partition: "P#acme/widget", after: "V#1.3.0"},
		{partition: "P#acme/widget", err: damage, want: []string{" {0 0} damaged"}},
		{partition: "A"}, {partition: "T"}, {partition: "C#00"}, {partition: "A#token"}, {partition: "M#acme/vpc"}, {partition: "P#acme/Widget"}, {partition: "P#acme/widget/x"}, {partition: "M"}, {partition: ""},
		{partition: "A#token", err: damage},
	} {
		var got []string
		for entry, err := range (layout.Contents{Partition: c.partition, After: c.after, States: states, Listing: listing, Err: c.err}).Entries() {
			told := fmt.Sprint(entry.Subject.Version, " ", entry.Seen)
			if err != nil {
				told += " " + err.Error()
			}
			got = append(got, told)
			cursor, err := layout.ParseCursor(entry.Cursor)
			if err != nil || cursor.Partition != c.partition || cursor.AtEnd() != (c.err != nil) || layout.Partition(entry.Subject.Address) != c.partition {
				t.Errorf("%s: %+v, whose cursor is %+v, %v", c.partition, entry, cursor, err)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s after %q: %q, want %q", c.partition, c.after, got, c.want)
		}
	}
}

func TestParseCursor(t *testing.T) {
	for _, text := range []string{" ", "x", "LIST", "M#acme/vpc/aws", "M#acme/vpc/aws ", "A#token V#1.0.0", "A 00", "P#acme V#1.0.0", "P#acme/Widget V#1.0.0"} {
		if got, err := layout.ParseCursor(text); err == nil {
			t.Errorf("%q is the cursor %+v", text, got)
		}
	}
	if got, err := layout.ParseCursor(""); err != nil || got != (layout.Cursor{}) {
		t.Errorf("the empty cursor is %+v, %v", got, err)
	}
}
