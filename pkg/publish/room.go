package publish

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/versionlog"
)

// What is accepted has to be signed, listed and answered. If there is no room for it, it
// would block everything that is published. So it is rejected.
//
// The room is checked once, in the catalog's listing, before an upload is accepted. Several
// uploads at once may find the same room. That does not matter: the limits are far below
// what the catalog can hold.

// room checks the room in the listings of a catalog.
type room struct {
	index                  catalog.Index
	maxAnswered, maxStored int // of a listing, in bytes
}

// checkModule rejects a version if the listing of its module has no room for it.
func (r room) checkModule(ctx context.Context, m *registry.ModuleVersion, source string) error {
	listing, err := catalog.Listing(ctx, r.index, m.Address)
	return r.check("module "+m.Address.String(), listing, err, registry.Listed{Version: m.Version, Source: source})
}

// checkPackage rejects a package if the listing of its provider has no room for it.
func (r room) checkPackage(ctx context.Context, s *registry.ProviderVersion, v registry.Version, pkg registry.Package) error {
	entry := registry.Listed{Version: v, Standing: s.Standing, Protocols: s.Protocols(pkg)}
	for _, pkg := range append(slices.Clone(s.Packages), pkg) {
		entry.Platforms = append(entry.Platforms, pkg.Platform)
	}
	listing, err := catalog.Listing(ctx, r.index, s.Address)
	return r.check("provider "+s.Address.String(), listing, err, entry)
}

func (r room) check(subject string, listing registry.Listing, err error, entry registry.Listed) error {
	if err != nil && !errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("catalog: %w", err)
	}
	entry.Revision = math.MaxInt // it takes the place of the one that is there
	grown, _ := listing.With(entry)
	if answered, stored := grown.Sizes(); answered > r.maxAnswered || stored > r.maxStored {
		return inbox.Reject("%s has %d versions, and its list has no room for more: published versions stay in it, also withdrawn ones, so go on under another name", subject, len(listing))
	}
	return nil
}

// checkSignable rejects a package if its version could not be signed with it. By today's
// limits that cannot be, but an older larder may have accepted more packages.
func checkSignable(s *registry.ProviderVersion, pkg registry.Package) error {
	if s.Address.Mirrored() || servesAuthors(s) {
		return nil
	}
	grown := *s
	grown.Packages = append(slices.Clone(s.Packages), pkg)
	if _, err := versionlog.Sums(&grown); err != nil {
		return inbox.Reject("%v", err)
	}
	return nil
}
