// Package pullthrough lets a mirror offer what it does not have yet.
//
// If a [Pattern] names a provider, the mirror also answers with what the origin registry
// has of it: versions, and packages with the origin's own URLs and the checksums that the
// origin has signed. A package that a client asks for is then fetched, once for all
// clients, into the inbox of the registry, and published like every upload. So the next
// client gets it from the mirror, with both kinds of hashes, also when the origin is down.
//
// If an origin does not answer, or contradicts itself, the mirror offers only what it has.
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
	// lookupTime is how long an origin may take while a client waits. A client
	// may wait for two answers, and gives up after ten seconds.
	lookupTime = 4 * time.Second

	// versionsFor and packagesFor are how long an origin's answers are kept. The
	// URLs of packages may expire soon.
	versionsFor = 5 * time.Minute
	packagesFor = time.Minute

	// failedFor is how long a failed question is not asked again, and how long an
	// origin that did not answer in time is not asked anything.
	failedFor = 30 * time.Second

	// lookupsAtOnce is how many questions are asked at the same time. To read an
	// answer may take many megabytes.
	lookupsAtOnce = 16
)

// Upstream asks other registries: an [upstream.Client].
type Upstream interface {
	Versions(ctx context.Context, a registry.ProviderAddress) ([]upstream.Version, error)
	Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) ([]upstream.Package, error)
}

// Config is what a [Puller] works with. Every field but Platforms is required.
type Config struct {
	Upstream  Upstream
	Patterns  []Pattern
	Platforms []registry.Platform // to offer and fetch; nil for all

	// Want asks for a package to be fetched, and returns at once. It is called
	// again as long as the mirror does not have the package.
	Want func(ctx context.Context, w Wanted) error

	Logger *slog.Logger
}

// Puller asks origins for what a mirror does not have. It is safe for concurrent
// use.
type Puller struct {
	Config
	versions *cache[[]upstream.Version]
	packages *cache[[]upstream.Package]
	silent   *ttlcache.Cache[string, struct{}] // hosts that did not answer in time
	asking   chan struct{}                     // has room for lookupsAtOnce
}

var _ protocol.Origins = (*Puller)(nil)

// New is a puller that has not asked any origin yet.
func New(c Config) *Puller {
	return &Puller{
		Config:   c,
		versions: newCache[[]upstream.Version](),
		packages: newCache[[]upstream.Package](),
		silent:   ttlcache.New[string, struct{}](len(c.Patterns)), // each names one host
		asking:   make(chan struct{}, lookupsAtOnce),
	}
}

// Wanted is a package that should be fetched.
type Wanted struct {
	Provider registry.ProviderAddress `json:"provider"`
	Version  registry.Version         `json:"version"`
	Platform registry.Platform        `json:"platform"`
}

// String names the package as its key in the inbox does.
func (w Wanted) String() string {
	return w.Provider.String() + "/" + w.Provider.PackageFilename(w.Version, w.Platform)
}

// Versions is the versions that the origin of a provider has. It is empty if the provider is
// not pulled through, or the origin does not answer.
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

// Packages is the packages of a version that the origin has and the mirror lacks. It asks
// for them to be fetched.
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
			p.Logger.ErrorContext(ctx, "a package of another registry is not fetched now; the next client that asks for it tries again", "provider", a.String(), "error", err)
		}
	}
	return offers
}

func (p *Puller) pulls(a registry.ProviderAddress) bool {
	return slices.ContainsFunc(p.Patterns, func(pattern Pattern) bool { return pattern.Matches(a) })
}

// complete says whether the mirror has all platforms that may be offered.
func (p *Puller) complete(has func(registry.Platform) bool) bool {
	return p.Platforms != nil && !slices.ContainsFunc(p.Platforms, func(platform registry.Platform) bool { return !has(platform) })
}

// platforms is the platforms of a version at its origin.
func (p *Puller) platforms(ctx context.Context, a registry.ProviderAddress, v registry.Version) []registry.Platform {
	versions := p.list(ctx, a)
	at := slices.IndexFunc(versions, func(listed upstream.Version) bool { return listed.Version == v })
	if at < 0 {
		return nil
	}
	return versions[at].Platforms
}

// list is the versions at the origin, with the platforms that may be offered.
func (p *Puller) list(ctx context.Context, a registry.ProviderAddress) []upstream.Version {
	return p.versions.get(a.String(), func() (offered []upstream.Version, goodFor time.Duration) {
		err := p.ask(ctx, a, func(ctx context.Context) error {
			versions, err := p.Upstream.Versions(ctx, a)
			offered = p.offered(versions)
			return err
		})
		if err != nil {
			return nil, retryAfter(err)
		}
		return offered, versionsFor
	})
}

// find is the packages of a version at its origin. It asks for all platforms, also those
// that the mirror has, so as to ask only once.
func (p *Puller) find(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) []upstream.Package {
	return p.packages.get(a.String()+" "+v.String(), func() (packages []upstream.Package, goodFor time.Duration) {
		err := p.ask(ctx, a, func(ctx context.Context) (err error) {
			packages, err = p.Upstream.Packages(ctx, a, v, platforms)
			return err
		})
		if err != nil {
			return nil, retryAfter(err)
		}
		return packages, packagesFor
	})
}

// offered is an origin's versions, with the platforms that may be offered.
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

// retryAfter is for how long a failed question is not asked again. errBusy is not a failure
// of the origin: the next caller may ask.
func retryAfter(err error) time.Duration {
	if errors.Is(err, errBusy) {
		return 0
	}
	return failedFor
}

// ask asks an origin, and logs a failure. It goes on when the client has gone: others may
// wait for the answer.
func (p *Puller) ask(ctx context.Context, a registry.ProviderAddress, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
	defer cancel()
	err := p.inTurn(ctx, a.Hostname, question)
	var untrusted *upstream.Untrusted
	switch {
	case err == nil, errors.Is(err, registry.ErrNotFound), errors.Is(err, errSilent):
	case errors.As(err, &untrusted):
		p.Logger.ErrorContext(ctx, "what the origin of a provider says is not to be trusted, and nothing of it is offered", "provider", a.String(), "error", err)
	default:
		p.Logger.WarnContext(ctx, "the origin of a provider does not answer; the mirror offers what it has", "provider", a.String(), "error", err)
	}
	return err
}

// inTurn waits for room for another question, and asks, unless the host did not answer in
// time a moment ago.
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
