package versionlog

import (
	"context"
	"fmt"

	"github.com/larder-registry/larder/pkg/registry"
)

// SetStanding deprecates, withdraws or restores a version. It returns the new entry of the
// version, and whether it changed.
//
// Errors: [registry.ErrNotFound] if the version is not published, and [*Refusal]. After
// any other error the change may have been made; call it again.
func (l *Log) SetStanding(ctx context.Context, version registry.Subject, to registry.Standing) (registry.Listed, bool, error) {
	s := version.New()
	err := l.Load(ctx, s)
	if err == nil && !isPublished(s) {
		err = registry.ErrNotFound
	}
	if err != nil {
		return registry.Listed{}, false, err
	}
	changed := false
	err = l.Extend(ctx, s, func() (r *registry.Record, err error) {
		r, err = standingRecord(s.Listed(), to)
		changed = r != nil
		return r, err
	})
	if err == nil {
		err = l.Put(ctx, s)
	}
	if changed && err == nil {
		l.logger.InfoContext(ctx, "version "+string(to.State), "subject", s.Subject().String(), "message", to.Message)
	}
	return s.Listed(), changed, err
}

// isPublished says whether a version has anything to install.
func isPublished(s registry.State) bool {
	if s, ok := s.(*registry.ProviderVersion); ok {
		return len(s.Packages) > 0
	}
	return s.Listed().Revision > 0
}

// Refusal says why a version cannot get a standing.
type Refusal struct{ reason string }

func (r *Refusal) Error() string { return r.reason }

// standingRecord returns the record that changes the standing of a version, or nil if the
// version has that standing already.
func standingRecord(version registry.Listed, to registry.Standing) (*registry.Record, error) {
	now, restored := version.Standing, to.State == registry.Restored
	switch {
	case now == to, restored && now == registry.Standing{}:
		return nil, nil
	case now.State == registry.Withdrawn && to.State == registry.Deprecated:
		return nil, &Refusal{fmt.Sprintf("version %s is withdrawn: restore it first, and then deprecate it", version.Version)}
	}
	return &registry.Record{Kind: registry.KindStanding, Version: version.Version, Standing: &to}, nil
}
