package publish

import (
	"context"
	"fmt"

	"github.com/larder-registry/larder/pkg/registry"
)

// SetModuleStanding deprecates, withdraws or restores a version of a module, and
// returns it as it is then, and whether that is a change.
//
// Errors: [registry.ErrNotFound] when it is not published, and a [*Refusal].
// After any other one it is not known what holds; the same call finds out.
func (p *Publisher) SetModuleStanding(ctx context.Context, a registry.ModuleAddress, v registry.Version, to registry.Standing) (registry.ModuleVersion, bool, error) {
	m, err := p.loadModule(ctx, a, v)
	if err == nil && m.Revision == 0 {
		err = registry.ErrNotFound
	}
	if err != nil {
		return registry.ModuleVersion{}, false, err
	}
	changed := false
	err = p.extend(ctx, m, func() (r *registry.Record, err error) {
		r, err = standingRecord(m.Version, m.Standing, to)
		changed = r != nil
		return r, err
	})
	if err == nil {
		err = p.index.PutModuleVersion(ctx, *m)
	}
	p.logStanding(ctx, fmt.Sprintf("module %s %s", a, m.Version), to, changed, err)
	return *m, changed, err
}

// SetProviderStanding does for a version of a provider what
// [Publisher.SetModuleStanding] does for one of a module.
func (p *Publisher) SetProviderStanding(ctx context.Context, a registry.ProviderAddress, v registry.Version, to registry.Standing) (registry.ProviderVersion, bool, error) {
	s, err := p.loadProvider(ctx, a, v)
	if err == nil && len(s.Packages) == 0 {
		err = registry.ErrNotFound
	}
	if err != nil {
		return registry.ProviderVersion{}, false, err
	}
	changed := false
	err = p.extend(ctx, s, func() (r *registry.Record, err error) {
		r, err = standingRecord(s.Version, s.Standing, to)
		changed = r != nil
		return r, err
	})
	if err == nil {
		err = p.index.PutProviderVersion(ctx, *s)
	}
	p.logStanding(ctx, fmt.Sprintf("provider %s %s", a, s.Version), to, changed, err)
	return *s, changed, err
}

func (p *Publisher) logStanding(ctx context.Context, subject string, to registry.Standing, changed bool, err error) {
	if changed && err == nil {
		p.log.InfoContext(ctx, "version "+string(to.State), "subject", subject, "message", to.Message)
	}
}

// Refusal says why a version cannot stand as it was asked for.
type Refusal struct{ reason string }

func (r *Refusal) Error() string { return r.reason }

// standingRecord is the record that makes a version stand otherwise, or nil
// where it stands so already.
func standingRecord(v registry.Version, now, to registry.Standing) (*registry.Record, error) {
	restored := to.State == registry.Restored
	switch {
	case now == to, restored && now == registry.Standing{}:
		return nil, nil
	case now.State == registry.Withdrawn && to.State == registry.Deprecated:
		return nil, &Refusal{fmt.Sprintf("version %s is withdrawn: restore it first, and then deprecate it", v)}
	}
	return &registry.Record{Kind: registry.KindStanding, Version: v, Standing: &to}, nil
}
