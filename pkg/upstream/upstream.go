// Package upstream asks other registries, the origins of providers, what they
// have of a provider, and brings its packages. It believes them as far as their
// signed checksums reach:
//
//   - which versions and platforms there are is the origin's word alone;
//   - a package's SHA-256 is that of its line in SHA256SUMS, once the signature
//     over that verifies with a key that the origin names for the package, and
//     the origin says the same hash in the package's own document;
//   - an archive is what it should be if its every byte went into that hash.
//
// Whatever contradicts itself is [Untrusted]. The keys are the origin's word,
// over HTTPS: that is what the clients go by when they install directly, too.
//
// An origin decides which addresses are asked, in its documents and by
// redirects. So only HTTPS is spoken, only public addresses are connected to,
// nothing is sent that identifies or authorizes, and all that comes back is
// bounded in size and in time.
package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/larder-registry/larder/internal/ttlcache"
	"github.com/larder-registry/larder/pkg/registry"
)

// Config is what a [Client] needs.
type Config struct {
	// Transport carries the requests. If it is nil, they go by one that
	// connects to public addresses alone: neither to loopback, private,
	// link-local, shared (CGNAT), multicast, reserved and unspecified addresses
	// nor to those in which IPv6 wraps IPv4, NAT64 among them. What counts is
	// the address that a connection is opened to, after every redirect again.
	// It uses no proxy, which would resolve names out of its sight.
	Transport http.RoundTripper
}

// Client asks origin registries. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	limits limits
	bases  *ttlcache.Cache[string, *url.URL] // by hostname
}

// New is a client that has asked nobody yet.
func New(c Config) *Client {
	transport := c.Transport
	if transport == nil {
		transport = newTransport()
	}
	return &Client{
		http:   &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		limits: productionLimits,
		bases:  ttlcache.New[string, *url.URL](maxBases),
	}
}

// Version is a version of a provider that its origin lists.
type Version struct {
	Version   registry.Version
	Platforms []registry.Platform // as the origin lists them; it may list none
}

// Versions is what the provider's origin registry lists, in ascending order of
// precedence. Versions and platforms that Larder could not publish are passed
// over, and of versions that differ in build metadata alone, all but the first.
//
// Errors: [registry.ErrNotFound] when the origin says that it has no such
// provider; all others mean that it could not be asked.
func (c *Client) Versions(ctx context.Context, a registry.ProviderAddress) ([]Version, error) {
	versions, err := c.versions(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	return versions, nil
}

// Package is a provider's package for one platform, as its origin signed it.
type Package struct {
	Address  registry.ProviderAddress
	Version  registry.Version
	Platform registry.Platform

	// URL is where the origin says that the archive is: absolute, and https. It
	// may be good for some minutes only, and may carry the right to download.
	URL string

	// SHA256 is the archive's, in lower-case hex, from the SHA256SUMS that the
	// origin's key has signed.
	SHA256 string
}

// Packages finds the packages of a version, in the order of platforms. A
// platform that the origin does not have is left out.
//
// A signing key that has expired since it signed is accepted, as Terraform and
// OpenTofu do.
//
// Errors: [registry.ErrNotFound] when the origin says that it has no such
// provider or version; *[Untrusted]; all others mean that it could not be asked.
func (c *Client) Packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) ([]Package, error) {
	packages, err := c.packages(ctx, a, v, platforms)
	if err == nil && len(packages) == 0 {
		// The protocol has one answer for a missing platform and a missing version.
		err = c.checkListed(ctx, a, v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", a, v, err)
	}
	return packages, nil
}

// Download writes the archive of a package to w. It fails unless the archive is,
// to the last byte, what was signed: until Download has returned without an
// error, nothing that w got may be believed.
//
// An archive that comes too slowly is given up; the time that w takes does not
// count. The size is in bytes, at most [MaxArchive].
//
// Errors: *[Untrusted]; those of w; all others mean that the archive could not
// be had.
func (c *Client) Download(ctx context.Context, p Package, w io.Writer) (size int64, err error) {
	size, err = c.download(ctx, p, w)
	if err != nil {
		return size, fmt.Errorf("%s %s %s: %w", p.Address, p.Version, p.Platform, err)
	}
	return size, nil
}
