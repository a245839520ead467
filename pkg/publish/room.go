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

// What is accepted has to be signed, listed and answered, or it would stand in
// the way of everything that is. So there is room for it, or it is rejected.
//
// Whether there is room in a listing is judged by the catalog's, once, before an
// upload is accepted: of several at once, each finds the room that is there for
// one. The limits are so far below what the catalog can hold that this does not
// matter.

// room is the room in the listings of a catalog.
type room struct {
	index                  catalog.Index
	maxAnswered, maxStored int // of a listing, in bytes
}

// checkModule rejects a version, of a source, that its module has no room for.
func (r room) checkModule(ctx context.Context, m *registry.ModuleVersion, source string) error {
	listing, err := r.index.Listing(ctx, m.Address, nil)
	return r.check("module "+m.Address.String(), listing, err, registry.Listed{Version: m.Version, Source: source})
}

// checkPackage rejects a package that its provider's listing has no room for.
func (r room) checkPackage(ctx context.Context, s *registry.ProviderVersion, v registry.Version, pkg registry.Package) error {
	entry := registry.Listed{Version: v, Standing: s.Standing, Protocols: s.Protocols(pkg)}
	for _, pkg := range append(slices.Clone(s.Packages), pkg) {
		entry.Platforms = append(entry.Platforms, pkg.Platform)
	}
	listing, err := r.index.Listing(ctx, s.Address, nil)
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

// checkSignable rejects a package with which its version could not be signed any
// more. There is none by the limits of today, but a larder without them may have
// accepted others of the version.
func checkSignable(s *registry.ProviderVersion, pkg registry.Package) error {
	if s.Address.Mirrored() || s.Release != nil && s.Release.Author {
		return nil
	}
	grown := *s
	grown.Packages = append(slices.Clone(s.Packages), pkg)
	if _, err := versionlog.Sums(&grown); err != nil {
		return inbox.Reject("%v", err)
	}
	return nil
}
