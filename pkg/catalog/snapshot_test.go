package catalog

import (
	"context"
	"errors"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// fixed is a catalog that always answers the same.
type fixed struct {
	version     registry.Version
	read, bytes error // of reading, and of decoding
}

func (f fixed) Listing(context.Context, registry.Address, *access.Lookup) (Snapshot[*registry.Listing], error) {
	return NewSnapshot([]byte("stored"), func(_ []byte, into *registry.Listing) error {
		*into = registry.Listing{{Version: f.version}}
		return f.bytes
	}), f.read
}

func (f fixed) State(context.Context, registry.Subject, *access.Lookup) (Snapshot[registry.State], error) {
	return NewSnapshot([]byte("stored"), func(stored []byte, into registry.State) error {
		if f.bytes != nil {
			return f.bytes
		}
		return onlyVersion(f.version).decode(stored, into)
	}), f.read
}

// Listing and Load read and decode. An error of either is returned, and nothing else.
func TestReadAndDecode(t *testing.T) {
	v, broken := registrytest.Version(t, "1.0.0+b"), errors.New("broken")
	asked := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	for _, c := range []fixed{{version: v}, {version: v, read: registry.ErrNotFound}, {version: v, read: broken}, {version: v, bytes: broken}} {
		want := errors.Join(c.read, c.bytes)
		listing, errListing := Listing(t.Context(), c, asked)
		state := registry.ModuleVersion{Address: asked, Version: registrytest.Version(t, "1.0.0")}
		before := state
		errState := Load(t.Context(), c, &state)
		if want == nil {
			if errListing != nil || errState != nil || len(listing) != 1 || state.Version != v {
				t.Errorf("%v, %v, and %+v, %v", listing, errListing, state, errState)
			}
			continue
		}
		if errListing == nil || !errors.Is(want, errListing) || listing != nil {
			t.Errorf("%v, %v, want %v", listing, errListing, want)
		}
		if errState == nil || !errors.Is(want, errState) || state != before {
			t.Errorf("%+v, %v, want %v", state, errState, want)
		}
	}
}

// A version that cannot be decoded is no version with other build metadata.
func TestReaderTellsDamageApart(t *testing.T) {
	broken := errors.New("broken")
	r := NewReader(ReaderConfig{Catalog: fixed{bytes: broken}})
	for question, err := range questions(r, access.Anyone, registrytest.Version(t, "1.0.0")) {
		if !errors.Is(err, broken) || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", question, err)
		}
	}
}
