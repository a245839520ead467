// Package upstream asks other registries, the origins of providers, for versions and
// packages, and downloads the packages. It checks what it can:
//
//   - the list of versions and platforms is not signed: it is believed as it is;
//   - a package's SHA-256 is that in SHA256SUMS. The signature over that must verify with
//     a key that the origin names for the package, and the package's own document must
//     have the same hash;
//   - an archive must have this SHA-256.
//
// An origin that contradicts itself is [Untrusted]. The keys are not verified but come
// over HTTPS, as for a client that installs directly.
//
// An origin decides which addresses are asked, by its documents and by redirects. So
// only HTTPS is used, only public addresses are connected to, requests have nothing that
// identifies or authorizes, and all answers are bounded in size and in time.
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
	// Transport carries the requests. Nil: one that connects only to public
	// addresses. It refuses loopback, private, link-local, shared (CGNAT),
	// multicast, reserved and unspecified addresses, and those in which IPv6 wraps
	// IPv4, such as NAT64. It checks the address of each connection, also after a
	// redirect. It does not use a proxy, since that would resolve names itself.
	Transport http.RoundTripper
}

// Client asks origin registries. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	limits limits
	bases  *ttlcache.Cache[string, *url.URL] // by hostname
}

// New is a client that has not sent a request yet.
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

// Versions is what the provider's origin registry lists, in ascending order of precedence.
// It leaves out versions and platforms that Larder could not publish. Of versions that
// differ in build metadata alone it has the first.
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

	// URL is where the archive is, as the origin says: absolute, and https. It may
	// be good for some minutes only, and may contain the right to download.
	URL string

	// SHA256 is the archive's hash in lower-case hex, from the signed SHA256SUMS.
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

// Download writes the archive of a package to w. It fails unless the archive has the
// signed hash: nothing in w may be used before Download has returned without an error.
//
// Download gives up if the archive comes too slowly; the time that w takes does not count.
// The size is in bytes, at most [MaxArchive].
//
// Errors: *[Untrusted]; those of w; all others mean that the archive could not be
// downloaded.
func (c *Client) Download(ctx context.Context, p Package, w io.Writer) (size int64, err error) {
	size, err = c.download(ctx, p, w)
	if err != nil {
		return size, fmt.Errorf("%s %s %s: %w", p.Address, p.Version, p.Platform, err)
	}
	return size, nil
}
