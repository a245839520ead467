// Package pullthrough lets a mirror offer what it does not have yet.
//
// A client that asks for a provider which a [Pattern] names is told, beside what
// the mirror has, what the origin registry has: versions, and packages by the
// origin's own URLs and the checksums that the origin has signed. What was asked
// for is fetched then, once however many ask, into the inbox of the registry,
// from where it goes the way of every upload. So the next client gets it from
// the mirror, with both kinds of hashes, and gets it when the origin is down.
//
// An origin that does not answer, or that is not to be believed, has nothing:
// then the mirror offers what it has.
package pullthrough

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

const (
	// lookupTime is how long an origin is asked while a client waits, which
	// gives up after ten seconds itself.
	lookupTime = 6 * time.Second

	// freshFor is how long an origin's answer is good for.
	freshFor = 5 * time.Minute

	// failedFor is how long an origin is not asked again that did not answer.
	failedFor = 30 * time.Second
)

// Origins are other registries: an [upstream.Client].
type Origins interface {
	Versions(ctx context.Context, a registry.ProviderAddress) ([]upstream.Version, error)
	Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) ([]upstream.Package, error)
}

// Config is what a [Puller] works with. Every field but Platforms is required.
type Config struct {
	Origins   Origins
	Patterns  []Pattern
	Platforms []registry.Platform // that are offered and fetched; nil for all

	// Want asks for a package to be fetched. It is asked again while the
	// mirror does not have the package, and returns at once.
	Want func(ctx context.Context, w Wanted) error

	Log *slog.Logger
}

// Puller asks origins for what a mirror does not have. It is safe for concurrent
// use.
type Puller struct {
	Config
	versions cache[[]upstream.Version]
	packages cache[[]upstream.Package]
}

var _ protocol.Origins = (*Puller)(nil)

// New is a puller.
func New(c Config) *Puller { return &Puller{Config: c} }

// Wanted is a package that is to be fetched.
type Wanted struct {
	Provider registry.ProviderAddress `json:"provider"`
	Version  registry.Version         `json:"version"`
	Platform registry.Platform        `json:"platform"`
}

// String names the package as its key in the inbox does.
func (w Wanted) String() string {
	return w.Provider.String() + "/" + w.Provider.PackageFilename(w.Version, w.Platform)
}

// Versions is what the origin of a provider has, and nothing where it is not
// pulled through or does not answer.
func (p *Puller) Versions(ctx context.Context, a registry.ProviderAddress) []registry.Version {
	if !p.pulls(a) {
		return nil
	}
	var versions []registry.Version
	for _, v := range p.ask(ctx, a) {
		if len(p.chosen(v.Platforms)) > 0 {
			versions = append(versions, v.Version)
		}
	}
	return versions
}

// Packages is what the origin has of a version beside what the mirror has. It
// asks for that to be fetched.
func (p *Puller) Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, has func(registry.Platform) bool) []protocol.Offer {
	if !p.pulls(a) {
		return nil
	}
	missing := slices.DeleteFunc(p.platforms(ctx, a, v), has)
	if len(missing) == 0 {
		return nil
	}
	key := fmt.Sprint(a, v, missing)
	packages, err := p.packages.get(key, func() ([]upstream.Package, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		return p.Origins.Packages(ctx, a, v, missing)
	})
	if err != nil {
		p.explain(ctx, a, err)
		return nil
	}
	offers := make([]protocol.Offer, len(packages))
	for i, pkg := range packages {
		offers[i] = protocol.Offer{Platform: pkg.Platform, URL: pkg.URL, SHA256: pkg.SHA256}
		if err := p.Want(ctx, Wanted{pkg.Address, pkg.Version, pkg.Platform}); err != nil {
			p.Log.ErrorContext(ctx, "a package of another registry is not fetched now; the next client that asks for it tries again", "provider", a.String(), "error", err)
		}
	}
	return offers
}

func (p *Puller) pulls(a registry.ProviderAddress) bool {
	return a.Mirrored() && slices.ContainsFunc(p.Patterns, func(pattern Pattern) bool { return pattern.Matches(a) })
}

// ask is what the origin lists.
func (p *Puller) ask(ctx context.Context, a registry.ProviderAddress) []upstream.Version {
	versions, err := p.versions.get(a.String(), func() ([]upstream.Version, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		return p.Origins.Versions(ctx, a)
	})
	if err != nil {
		p.explain(ctx, a, err)
	}
	return versions
}

// platforms is those of a version that are to be had from its origin.
func (p *Puller) platforms(ctx context.Context, a registry.ProviderAddress, v registry.Version) []registry.Platform {
	versions := p.ask(ctx, a)
	at := slices.IndexFunc(versions, func(known upstream.Version) bool { return known.Version == v })
	if at < 0 {
		return nil
	}
	return p.chosen(versions[at].Platforms)
}

// chosen is those of an origin's platforms that are offered.
func (p *Puller) chosen(platforms []registry.Platform) (chosen []registry.Platform) {
	for _, platform := range platforms {
		if p.Platforms == nil || slices.Contains(p.Platforms, platform) {
			chosen = append(chosen, platform)
		}
	}
	return chosen
}

// explain logs why an origin has nothing, unless that is all there is to say.
func (p *Puller) explain(ctx context.Context, a registry.ProviderAddress, err error) {
	var untrusted *upstream.Untrusted
	switch {
	case errors.Is(err, registry.ErrNotFound), errors.Is(err, errAsked):
	case errors.As(err, &untrusted):
		p.Log.ErrorContext(ctx, "what the origin of a provider says is not to be trusted, and nothing of it is offered", "provider", a.String(), "error", err)
	default:
		p.Log.WarnContext(ctx, "the origin of a provider does not answer; the mirror offers what it has", "provider", a.String(), "error", err)
	}
}
