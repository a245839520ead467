package catalogtest

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// snapshots checks that the bytes of two reads are equal while nothing changes, that each
// change makes other bytes, and that a snapshot is decoded to what it was when it was read,
// whatever became of the catalog and of what was decoded earlier.
func (s *suite) snapshots(t *testing.T) {
	type moment struct {
		listing catalog.Snapshot[*registry.Listing]
		state   catalog.Snapshot[registry.State]
		stored  [2][]byte // copies
		want    registry.ProviderVersion
	}
	read := func(want registry.ProviderVersion) moment {
		listing, errListing := s.index.Listing(t.Context(), want.Address, nil)
		state, errState := s.index.State(t.Context(), want.Subject(), nil)
		if errListing != nil || errState != nil {
			t.Fatal(errListing, errState)
		}
		return moment{listing, state, [2][]byte{bytes.Clone(listing.Stored()), bytes.Clone(state.Stored())}, want}
	}
	p := providerVersion("some/snapshots", "1.0.0+b", "linux_amd64", "release")
	release := *p.Release
	var moments []moment
	for _, change := range []func(){
		func() {},
		func() { p.Standing = registry.Standing{State: registry.Deprecated, Message: "use 2.0.0"} },
		func() { p.Standing.Message = "use 2.0.1" },
		func() { p.Standing = registry.Standing{} },
		func() { p.Standing.State = registry.Withdrawn },
		func() {
			p.Manifest = &registry.Manifest{SHA256: "m", Protocols: []string{"6.0"}}
		},
		func() {
			release.Signature = "another"
			p.Release = &release
		},
	} {
		change()
		p.Revision++
		s.putProvider(t, p)
		now := read(p)
		if again := read(p); !reflect.DeepEqual(now.stored, again.stored) {
			t.Errorf("two reads of revision %d have the bytes %q and %q", p.Revision, now.stored, again.stored)
		}
		for _, earlier := range moments {
			if bytes.Equal(earlier.stored[0], now.stored[0]) || bytes.Equal(earlier.stored[1], now.stored[1]) {
				t.Errorf("the revisions %d and %d have the same bytes", earlier.want.Revision, p.Revision)
			}
		}
		moments = append(moments, now)
	}
	s.putProvider(t, providerVersion("some/snapshots", "1.1.0", "linux_amd64", "release"))
	if after := read(p); bytes.Equal(after.stored[0], moments[len(moments)-1].stored[0]) || !bytes.Equal(after.stored[1], moments[len(moments)-1].stored[1]) {
		t.Error("another version changes the listing, and no other version")
	}
	for range 2 {
		for _, m := range slices.Backward(moments) {
			var listing registry.Listing
			state := registry.ProviderVersion{Address: p.Address}
			if err := m.listing.Decode(&listing); err != nil || !reflect.DeepEqual(listing, registry.Listing{m.want.Listed()}) {
				t.Errorf("the listing of revision %d is read as %+v, %v", m.want.Revision, listing, err)
				continue
			}
			if err := m.state.Decode(&state); err != nil || !reflect.DeepEqual(state, m.want) {
				t.Errorf("the state of revision %d is read as %+v, %v", m.want.Revision, state, err)
				continue
			}
			listing[0].Platforms[0], listing[0].Protocols[0], state.Packages[0].SHA256 = registry.Platform{}, "", ""
			if stored := [2][]byte{m.listing.Stored(), m.state.Stored()}; !reflect.DeepEqual(stored, m.stored) {
				t.Errorf("the bytes of revision %d have become %q", m.want.Revision, stored)
			}
		}
	}
}
