package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// providerVersionsDocument is what the clients read, and the platforms.
type providerVersionsDocument struct {
	Versions []*providerVersion
	Warnings []string
}

type providerVersion struct {
	Version   string
	Protocols []string
	Platforms []*struct{ OS, Arch string }
}

// packageDocument is what the clients read.
type packageDocument struct {
	Protocols           []string
	OS, Arch, Filename  string
	DownloadURL         string `json:"download_url"`
	SHASumsURL          string `json:"shasums_url"`
	SHASumsSignatureURL string `json:"shasums_signature_url"`
	SHASum              string
	SigningKeys         struct {
		GPGPublicKeys []*struct {
			KeyID          string `json:"key_id"`
			ASCIIArmor     string `json:"ascii_armor"`
			TrustSignature string `json:"trust_signature"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	Packages map[string]platformPackage

	download, shasums, signature *url.URL // resolved
}

// platformPackage is what OpenTofu's own registry says of a package. OpenTofu
// installs nothing that contradicts it, and where a registry says nothing of any
// package it asks for nothing.
type platformPackage struct {
	Hashes      []string
	PackageSize int64 `json:"package_size"`
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

func (v *visit) checkPackageSize(size, stated int64) {
	const check = "provider.size"
	if size != stated {
		v.Fail(check, "say in packages how many bytes the package has, or leave packages out: OpenTofu compares", "package_size is %d, and the package has %d bytes", stated, size)
		return
	}
	v.OK(check, "%d bytes, as packages says", size)
}

// checkProviderVersions lists a provider. The documents are by version key.
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

// choosePlatform picks the platform to install for: the one that is asked for,
// else this machine's, else any.
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

// checkPackageDocument asks for a package.
func (v *visit) checkPackageDocument(ctx context.Context, a registry.ProviderAddress, version registry.Version, platform registry.Platform) (*packageDocument, bool) {
	got, err := v.api(ctx, http.MethodGet, v.providers.JoinPath(a.String(), version.String(), "download", platform.OS, platform.Arch))
	const check, advice = "provider.download", "look into the registry's log"
	switch {
	case err != nil:
		v.Fail(check, advice, "%v", err)
		return nil, false
	case got.status != http.StatusOK:
		v.Fail(check, advice, "%d: %s", got.status, quote(string(got.body)))
		return nil, false
	}
	document := new(packageDocument)
	if err := json.Unmarshal(got.body, document); err != nil {
		v.Fail(check, "answer the document of the provider registry protocol", "%s", jsonProblem(err))
		return nil, false
	}
	v.OK(check, "%s %s for %s", a, version, platform)
	wrong := document.problems(got.url, a.PackageFilename(version, platform), platform)
	v.verdict("provider.fields", wrong, document.Filename, "mend the document: the clients compare or use each of these")
	return document, len(wrong) == 0
}

var (
	hexSHA256       = regexp.MustCompile(`^[0-9a-f]{64}$`)
	protocolVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)
)

// problems says what is wrong with the document's fields, and resolves its
// URLs.
func (d *packageDocument) problems(at *url.URL, filename string, platform registry.Platform) (wrong []string) {
	require := func(good bool, problem string, args ...any) {
		if !good {
			wrong = append(wrong, fmt.Sprintf(problem, args...))
		}
	}
	require(d.OS == platform.OS && d.Arch == platform.Arch, "it is for %s and not for %s", quote(d.OS+"_"+d.Arch), platform)
	require(d.Filename == filename, "filename is %s and not %s", quote(d.Filename), filename)
	require(hexSHA256.MatchString(d.SHASum), "shasum is %s, and not 64 lower-case hexadecimal digits", quote(d.SHASum))
	require(usableProtocols(d.Protocols), "protocols are %s: there must be one of 5.0 to 6.x", quote(strings.Join(d.Protocols, ", ")))
	wrong = append(wrong, d.packageProblems(platform)...)
	for _, field := range []struct {
		name, text string
		resolved   **url.URL
	}{
		{"download_url", d.DownloadURL, &d.download},
		{"shasums_url", d.SHASumsURL, &d.shasums},
		{"shasums_signature_url", d.SHASumsSignatureURL, &d.signature},
	} {
		u, err := at.Parse(field.text)
		require(err == nil && field.text != "" && u.Scheme == "https", "%s is no https URL", field.name)
		*field.resolved = u
	}
	return wrong
}

// packageProblems says what OpenTofu refuses in packages, which may be left out.
func (d *packageDocument) packageProblems(platform registry.Platform) (wrong []string) {
	for name, p := range d.Packages {
		os, arch, _ := strings.Cut(name, "_")
		if _, err := registry.ParsePlatform(os, arch); err != nil {
			wrong = append(wrong, fmt.Sprintf("packages has %s, which is no platform", quote(name)))
		}
		for _, hash := range p.Hashes {
			if scheme, _, ok := strings.Cut(hash, ":"); !ok || scheme == "" {
				wrong = append(wrong, fmt.Sprintf("packages has %s, which is no hash", quote(hash)))
			}
		}
	}
	of, said := d.Packages[platform.String()]
	switch {
	case len(d.Packages) == 0:
	case !said:
		wrong = append(wrong, fmt.Sprintf("packages has nothing of %s", platform))
	case of.PackageSize <= 0:
		wrong = append(wrong, fmt.Sprintf("package_size of %s is %d", platform, of.PackageSize))
	case !slices.Contains(of.Hashes, "zh:"+d.SHASum):
		wrong = append(wrong, fmt.Sprintf("packages has no zh: of %s that is the shasum", platform))
	}
	return wrong
}

// usableProtocols says whether today's clients can run the provider. An empty
// list is not looked at by them.
func usableProtocols(protocols []string) bool {
	usable := len(protocols) == 0
	for _, p := range protocols {
		if !protocolVersion.MatchString(p) {
			return false
		}
		usable = usable || strings.HasPrefix(p, "5.") || strings.HasPrefix(p, "6.")
	}
	return usable
}

// checkTrust walks from the signing keys over the signature and SHA256SUMS to
// the package's checksum.
func (v *visit) checkTrust(ctx context.Context, d *packageDocument) {
	keys, ok := v.checkKeys(d)
	if !ok {
		return
	}
	sums, ok := v.checkSums(ctx, d)
	if !ok {
		return
	}
	const check = "provider.signature"
	var by signing.PublicKey
	signature, err := v.fetch(ctx, d.signature)
	if err == nil {
		by, err = signing.Verify(keys, sums, signature)
	}
	switch {
	case errors.Is(err, signing.ErrKeyExpired):
		v.Warn(check, "extend the key for what is published from now on", "%v; the clients install with it, but for OpenTofu with OPENTOFU_ENFORCE_GPG_EXPIRATION", err)
	case err != nil:
		v.Fail(check, v.adviceOnBucket(d.signature, err, "find out who changed SHA256SUMS, its signature or the key: they must be as they were published"), "%v", err)
	default:
		v.OK(check, "valid, by key %s", by.KeyID)
	}
}

const armorBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"

func (v *visit) checkKeys(d *packageDocument) (keys []signing.PublicKey, ok bool) {
	var wrong []string
	for i, key := range d.SigningKeys.GPGPublicKeys {
		switch {
		case key == nil:
			wrong = append(wrong, fmt.Sprintf("key %d is null, over which the clients crash", i+1))
			continue
		case key.TrustSignature != "":
			wrong = append(wrong, fmt.Sprintf("key %d has a trust_signature, which Terraform refuses unless it is HashiCorp's", i+1))
		}
		if !strings.HasPrefix(key.ASCIIArmor, armorBegin) {
			wrong = append(wrong, fmt.Sprintf("key %d is no armored public key, after which the clients try no other", i+1))
		}
		keys = append(keys, signing.PublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor})
	}
	if len(d.SigningKeys.GPGPublicKeys) == 0 {
		wrong = append(wrong, "there are none")
	}
	v.verdict("provider.keys", wrong, size.Count(len(keys), "signing key"), "serve the armored public key that signed, and nothing else beside it")
	return keys, len(wrong) == 0
}

// checkSums reads SHA256SUMS, which the clients forgive nothing.
func (v *visit) checkSums(ctx context.Context, d *packageDocument) (document []byte, ok bool) {
	const check = "provider.shasums"
	document, err := v.fetch(ctx, d.shasums)
	var sums shasums.Sums
	if err == nil {
		sums, err = shasums.Parse(document)
	}
	if err != nil {
		v.Fail(check, v.adviceOnBucket(d.shasums, err, "one line per package: 64 lower-case hexadecimal digits, two spaces, the file name, a line feed"), "%v", err)
		return nil, false
	}
	v.OK(check, "%s", size.Count(sums.Len(), "line"))
	switch listed, ok := sums.SHA256(d.Filename); {
	case !ok:
		v.Fail("provider.shasum", "list every package in SHA256SUMS", "SHA256SUMS does not list %s", d.Filename)
	case listed != d.SHASum:
		v.Fail("provider.shasum", "serve one checksum of a package everywhere", "shasum is %s, and SHA256SUMS lists %s", d.SHASum, listed)
	default:
		v.OK("provider.shasum", "SHA256SUMS lists it")
	}
	return document, true
}

// fetch gets a document from an address that the registry gave.
func (v *visit) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	got, err := v.client.follow(ctx, u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place(u), err)
	}
	if got.status != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d", place(u), got.status)
	}
	return got.body, nil
}
