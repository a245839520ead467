package upstream

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/larder-registry/larder/pkg/registry"
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
	signed := signedSums{client: c}
	for i, platform := range platforms {
		group.Go(func() error {
			p := Package{Address: a, Version: v, Platform: platform}
			has, err := c.find(ctx, base, &signed, &p)
			if has {
				found[i] = &p
			}
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

// find finds one package, and reports whether the origin has it.
func (c *Client) find(ctx context.Context, base *url.URL, signed *signedSums, p *Package) (bool, error) {
	path := []string{p.Address.Namespace, p.Address.Type, p.Version.String(), "download", p.Platform.OS, p.Platform.Arch}
	u := base.ResolveReference(&url.URL{Path: strings.Join(path, "/")})
	found, err := c.get(ctx, u, typeJSON, maxDownloadDocument)
	if errors.Is(err, errMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	d, err := readPackageDocument(found.url, found.body)
	if err != nil {
		return false, newFault(where(u)+" describes no package", err)
	}
	if err := d.describes(*p); err != nil {
		return false, err
	}
	s, err := signed.get(ctx, d.sums, d.signature)
	if err != nil {
		return false, err
	}
	p.URL = d.archive.String()
	p.SHA256, err = s.sha256(d)
	return err == nil, err
}
