package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
)

// providerVersionsDocument is the document that the clients read, and the platforms.
type providerVersionsDocument struct {
	Versions []*providerVersion
	Warnings []string
}

type providerVersion struct {
	Version   string
	Protocols []string
	Platforms []*struct{ OS, Arch string }
}

// checkProvider installs a provider.
func (v *visit) checkProvider(ctx context.Context, p Provider) {
	if v.providers == nil {
		v.Fail("provider.versions", "name providers.v1 in the discovery document", "the registry offers no providers")
		return
	}
	listed, documents := v.checkProviderVersions(ctx, p)
	if listed == nil {
		return
	}
	version, ok := v.choose("provider", p.Address, p.Version, listed)
	if !ok {
		return
	}
	platform, ok := v.choosePlatform(p, documents[version.Key()])
	if !ok {
		return
	}
	document, ok := v.checkPackageDocument(ctx, p.Address, version, platform)
	if !ok {
		return
	}
	v.checkTrust(ctx, document)
	if got := v.checkArchive(ctx, "provider", document.download, strings.ToLower(document.SHASum)); got != nil && len(document.Packages) > 0 {
		v.checkPackageSize(got.size, document.Packages[platform.String()].PackageSize)
	}
}

// checkProviderVersions lists the versions of a provider, and their entries by version key.
func (v *visit) checkProviderVersions(ctx context.Context, p Provider) ([]registry.Version, map[string]*providerVersion) {
	body, ok := v.list(ctx, "provider", v.providers, p.Address)
	if !ok {
		return nil, nil
	}
	const check, advice = "provider.document", `answer {"versions":[{"version":"1.2.3","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}]}; the clients crash over a null among versions`
	var document providerVersionsDocument
	if err := json.Unmarshal(body, &document); err != nil {
		v.Fail(check, advice, "%s", jsonProblem(err))
		return nil, nil
	}
	var texts []string
	byKey := map[string]*providerVersion{}
	for _, entry := range document.Versions {
		if entry == nil || slices.Contains(entry.Platforms, nil) {
			v.Fail(check, advice, "one of the versions or platforms is null")
			return nil, nil
		}
		texts = append(texts, entry.Version)
		key, _, _ := strings.Cut(entry.Version, "+")
		byKey[key] = entry
	}
	v.OK(check, "%s", size.Count(len(texts), "version"))
	return v.checkNumbers("provider", texts), byKey
}

// choosePlatform chooses the platform to install for: the given one, else this machine's, else
// any.
func (v *visit) choosePlatform(p Provider, listed *providerVersion) (registry.Platform, bool) {
	want := thisPlatform()
	if p.Platform != nil {
		want = *p.Platform
	}
	var all []string
	for _, platform := range listed.Platforms {
		if platform.OS == want.OS && platform.Arch == want.Arch {
			return want, true
		}
		all = append(all, platform.OS+"_"+platform.Arch)
	}
	if p.Platform != nil || len(all) == 0 {
		v.Fail("provider.platform", "publish a package for it, or name another with --platform",
			"version %s has none for %s, but for %s", listed.Version, want, quote(strings.Join(all, ", ")))
		return registry.Platform{}, false
	}
	v.Warn("provider.platform", "name another with --platform", "version %s has none for %s: %s instead", listed.Version, want, quote(all[0]))
	return registry.Platform{OS: listed.Platforms[0].OS, Arch: listed.Platforms[0].Arch}, true
}
