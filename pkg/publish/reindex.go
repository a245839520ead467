package publish

import (
	"context"
	"fmt"
	"iter"

	"github.com/larder-registry/larder/pkg/registry"
)

// Reindexed is a version that [Publisher.Reindex] came to.
type Reindexed struct {
	Subject string // such as "module acme/vpc/aws 1.2.3"
	Changed bool   // the catalog did not have it, or an older state of it

	// Unsigned are the platforms whose packages are accepted, but not served
	// before a publisher signs a SHA256SUMS over them.
	Unsigned []registry.Platform
}

// Reindex brings the catalog up to the records, as [Publisher.Recover] does,
// but signs nothing and writes nothing to the bucket: it needs no Signer. A
// version of which not all packages are signed is listed with those that are.
//
// It yields every version, in the order of the records. With a version that it
// could not bring up it yields the error, too, and goes on to the next one;
// with an error of the whole it yields no subject, and ends. What was brought
// up is found so by whoever begins again.
func (p *Publisher) Reindex(ctx context.Context) iter.Seq2[Reindexed, error] {
	return func(yield func(Reindexed, error) bool) {
		listings := listings{catalog: p.index}
		for last, err := range p.lastRecords(ctx, "") {
			if err != nil {
				yield(Reindexed{}, fmt.Errorf("list the records: %w", err))
				return
			}
			if !yield(p.reindexVersion(ctx, last, &listings)) {
				return
			}
		}
	}
}

func (p *Publisher) reindexVersion(ctx context.Context, last registry.ParsedRecordKey, listings *listings) (r Reindexed, err error) {
	if last.Module != nil {
		r.Subject = fmt.Sprintf("module %s %s", last.Module, last.Version)
		r.Changed, err = p.recoverVersion(ctx, last, listings) // of a module, nothing is signed
		return r, err
	}
	r.Subject = fmt.Sprintf("provider %s %s", last.Provider, last.Version)
	s, err := p.index.ProviderVersion(ctx, *last.Provider, last.Version)
	if err != nil || s.Revision < last.Sequence || !listings.has(ctx, last, s) {
		loaded, err := p.loadProvider(ctx, *last.Provider, last.Version)
		if err != nil {
			return r, err
		}
		if err := p.index.PutProviderVersion(ctx, *loaded); err != nil {
			return r, fmt.Errorf("catalog: %w", err)
		}
		s, r.Changed = *loaded, true
	}
	for _, pkg := range s.Packages {
		if _, served := s.Package(pkg.Platform); !served {
			r.Unsigned = append(r.Unsigned, pkg.Platform)
		}
	}
	return r, nil
}

// has says whether a provider version is listed as its state says.
func (l *listings) has(ctx context.Context, version registry.ParsedRecordKey, s registry.ProviderVersion) bool {
	return len(s.Listed().Platforms) == 0 || l.revision(ctx, version) >= s.Revision
}
