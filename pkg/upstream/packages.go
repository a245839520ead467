package upstream

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
	"golang.org/x/sync/errgroup"
)

// packages finds the packages that the origin has.
func (c *Client) packages(ctx context.Context, a registry.ProviderAddress, v registry.Version, platforms []registry.Platform) ([]Package, error) {
	base, err := c.base(ctx, a)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxAtOnce)
	found := make([]*Package, len(platforms))
	signed := newSignedSums(c)
	for i, platform := range platforms {
		group.Go(func() (err error) {
			found[i], err = c.find(ctx, base, signed, Package{Address: a, Version: v, Platform: platform})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var packages []Package
	for _, p := range found {
		if p != nil {
			packages = append(packages, *p)
		}
	}
	return packages, nil
}

// find finds one package. It returns nil if the origin does not have it.
func (c *Client) find(ctx context.Context, base *url.URL, signed *signedSums, p Package) (*Package, error) {
	path := []string{p.Address.Namespace, p.Address.Type, p.Version.String(), "download", p.Platform.OS, p.Platform.Arch}
	u := base.ResolveReference(&url.URL{Path: strings.Join(path, "/")})
	found, err := c.get(ctx, u, typeJSON, maxDownloadDocument)
	if errors.Is(err, errMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := readPackageDocument(found.url, found.body)
	if err != nil {
		return nil, newFault(where(u)+" describes no package", err)
	}
	if err := d.describes(p); err != nil {
		return nil, err
	}
	s, err := signed.get(ctx, d.sums, d.signature)
	if err != nil {
		return nil, err
	}
	p.URL = d.archive.String()
	if p.SHA256, err = s.sha256(d); err != nil {
		return nil, err
	}
	return &p, nil
}
