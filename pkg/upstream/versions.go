package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"

	"github.com/larder-registry/larder/pkg/registry"
)

// versions gets the list of a provider's versions.
func (c *Client) versions(ctx context.Context, a registry.ProviderAddress) ([]Version, error) {
	base, err := c.base(ctx, a)
	if err != nil {
		return nil, err
	}
	u := base.ResolveReference(&url.URL{Path: a.Namespace + "/" + a.Type + "/versions"})
	found, err := c.get(ctx, u, typeJSON, maxVersions)
	if errors.Is(err, errMissing) {
		return nil, registry.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	versions, err := readVersions(found.body)
	if err != nil {
		return nil, newFault(where(u)+" is no list of versions", err)
	}
	return versions, nil
}

// checkListed returns registry.ErrNotFound unless the origin lists a version.
func (c *Client) checkListed(ctx context.Context, a registry.ProviderAddress, v registry.Version) error {
	versions, err := c.versions(ctx, a)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(versions, func(l Version) bool { return l.Version == v }) {
		return registry.ErrNotFound
	}
	return nil
}

// readVersions reads the document of the operation "List Available Versions".
func readVersions(body []byte) ([]Version, error) {
	var list struct {
		Versions []struct {
			Version   string `json:"version"`
			Platforms []struct {
				OS   string `json:"os"`
				Arch string `json:"arch"`
			} `json:"platforms"`
		} `json:"versions"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var versions []Version
	for _, listed := range list.Versions {
		v, err := registry.ParseVersion(listed.Version)
		if err != nil {
			continue
		}
		version := Version{Version: v}
		for _, p := range listed.Platforms {
			if len(version.Platforms) == registry.MaxPackages {
				break
			}
			if platform, err := registry.ParsePlatform(p.OS, p.Arch); err == nil && !slices.Contains(version.Platforms, platform) {
				version.Platforms = append(version.Platforms, platform)
			}
		}
		versions = append(versions, version)
	}
	slices.SortStableFunc(versions, compare)
	return slices.CompactFunc(versions, func(v, w Version) bool { return compare(v, w) == 0 }), nil
}

func compare(v, w Version) int { return v.Version.Compare(w.Version) }
