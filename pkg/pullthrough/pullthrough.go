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
	"log/slog"
	"slices"
	"time"

	"github.com/larder-registry/larder/internal/ttlcache"
	"github.com/larder-registry/larder/pkg/protocol"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/upstream"
)

const (
	// lookupTime is how long an origin is asked while a client waits. A client
	// may wait for two such questions, and gives up after ten seconds.
	lookupTime = 4 * time.Second

	// versionsFor and packagesFor are how long an origin's answers are good
	// for: the URLs in those about packages may soon be no good any more.
	versionsFor = 5 * time.Minute
	packagesFor = time.Minute

	// failedFor is how long nobody asks again for what an origin did not
	// answer, and for anything of one that did not answer in time.
	failedFor = 30 * time.Second

	// lookupsAtOnce is how many questions are open at the same time. An answer
	// may take many megabytes until it is read.
	lookupsAtOnce = 16
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
	versions *cache[[]upstream.Version]
	packages *cache[[]upstream.Package]
	silent   *ttlcache.Cache[string, struct{}] // the hosts that did not answer in time
	asking   chan struct{}                     // has room for lookupsAtOnce
}

var _ protocol.Origins = (*Puller)(nil)

// New is a puller.
func New(c Config) *Puller {
	return &Puller{
		Config:   c,
		versions: newCache[[]upstream.Version](),
		packages: newCache[[]upstream.Package](),
		silent:   ttlcache.New[string, struct{}](len(c.Patterns)), // each names one host
		asking:   make(chan struct{}, lookupsAtOnce),
	}
}

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
	for _, v := range p.list(ctx, a) {
		versions = append(versions, v.Version)
	}
	return versions
}

// Packages is what the origin has of a version beside what the mirror has. It
// asks for that to be fetched.
func (p *Puller) Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, has func(registry.Platform) bool) []protocol.Offer {
	if !p.pulls(a) || p.complete(has) {
		return nil
	}
	platforms := p.platforms(ctx, a, v)
	if !slices.ContainsFunc(platforms, func(platform registry.Platform) bool { return !has(platform) }) {
		return nil
	}
	var offers []protocol.Offer
	for _, pkg := range p.find(ctx, a, v, platforms) {
		if has(pkg.Platform) {
			continue
		}
		offers = append(offers, protocol.Offer{Platform: pkg.Platform, URL: pkg.URL, SHA256: pkg.SHA256})
		if err := p.Want(ctx, Wanted{pkg.Address, pkg.Version, pkg.Platform}); err != nil {
			p.Log.ErrorContext(ctx, "a package of another registry is not fetched now; the next client that asks for it tries again", "provider", a.String(), "error", err)
		}
	}
	return offers
}

func (p *Puller) pulls(a registry.ProviderAddress) bool {
	return slices.ContainsFunc(p.Patterns, func(pattern Pattern) bool { return pattern.Matches(a) })
}

// complete says that the mirror has all that could be wanted, whatever the
// origin has.
func (p *Puller) complete(has func(registry.Platform) bool) bool {
	return p.Platforms != nil && !slices.ContainsFunc(p.Platforms, func(platform registry.Platform) bool { return !has(platform) })
}

// platforms is those of a version that are to be had from its origin.
func (p *Puller) platforms(ctx context.Context, a registry.ProviderAddress, v registry.Version) []registry.Platform {
	versions := p.list(ctx, a)
	at := slices.IndexFunc(versions, func(known upstream.Version) bool { return known.Version == v })
	if at < 0 {
		return nil
	}
	return versions[at].Platforms
}

// list is what the origin lists, of the platforms that are offered alone.
func (p *Puller) list(ctx context.Context, a registry.ProviderAddress) []upstream.Version {
	return p.versions.get(a.String(), func() (offered []upstream.Version, goodFor time.Duration) {
		err := p.ask(ctx, a, func(ctx context.Context) error {
			versions, err := p.Origins.Versions(ctx, a)
			offered = p.offered(versions)
			return err
		})
		if err != nil {
			return nil, rememberedFor(err)
		}
		return offered, versionsFor
	})
}

// find is the packages of a version at its origin. It asks for all platforms at
// once, whichever the mirror has meanwhile, so as to ask once.
func (p *Puller) find(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) []upstream.Package {
	return p.packages.get(a.String()+" "+v.String(), func() (packages []upstream.Package, goodFor time.Duration) {
		err := p.ask(ctx, a, func(ctx context.Context) (err error) {
			packages, err = p.Origins.Packages(ctx, a, v, platforms)
			return err
		})
		if err != nil {
			return nil, rememberedFor(err)
		}
		return packages, packagesFor
	})
}

// offered is an origin's versions with those of their platforms that are offered.
func (p *Puller) offered(versions []upstream.Version) (offered []upstream.Version) {
	for _, v := range versions {
		var platforms []registry.Platform
		for _, platform := range v.Platforms {
			if p.Platforms == nil || slices.Contains(p.Platforms, platform) {
				platforms = append(platforms, platform)
			}
		}
		if len(platforms) > 0 {
			offered = append(offered, upstream.Version{Version: v.Version, Platforms: platforms})
		}
	}
	return offered
}

var (
	errSilent = errors.New("the origin did not answer in time a moment ago")
	errBusy   = errors.New("too many questions are open")
)

// rememberedFor is how long nobody asks again for what was not answered. That too
// many asked at once says nothing of the origin: the next one may ask.
func rememberedFor(err error) time.Duration {
	if errors.Is(err, errBusy) {
		return 0
	}
	return failedFor
}

// ask asks an origin, and logs why it has nothing. That the client whose question
// it was is gone ends nothing: others may wait for the answer.
func (p *Puller) ask(ctx context.Context, a registry.ProviderAddress, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	err := p.inTurn(ctx, a.Hostname, question)
	var untrusted *upstream.Untrusted
	switch {
	case err == nil, errors.Is(err, registry.ErrNotFound), errors.Is(err, errSilent):
	case errors.As(err, &untrusted):
		p.Log.ErrorContext(ctx, "what the origin of a provider says is not to be trusted, and nothing of it is offered", "provider", a.String(), "error", err)
	default:
		p.Log.WarnContext(ctx, "the origin of a provider does not answer; the mirror offers what it has", "provider", a.String(), "error", err)
	}
	return err
}

// inTurn asks when there is room for another question, unless the host did not
// answer in time a moment ago.
func (p *Puller) inTurn(ctx context.Context, hostname string, question func(context.Context) error) error {
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return errBusy
	}
	if _, silent := p.silent.Get(hostname, time.Now()); silent {
		return errSilent
	}
	err := question(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		p.silent.Put(hostname, struct{}{}, time.Now(), failedFor)
	}
	return err
}
