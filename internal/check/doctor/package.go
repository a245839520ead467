package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
)

// packageDocument is the document that the clients read.
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

// platformPackage describes a package as OpenTofu's own registry does. OpenTofu refuses a
// package that contradicts it; a registry may also leave all of them out.
type platformPackage struct {
	Hashes      []string
	PackageSize int64 `json:"package_size"`
}

func (v *visit) checkPackageSize(size, stated int64) {
	const check = "provider.size"
	if size != stated {
		v.Fail(check, "say in packages how many bytes the package has, or leave packages out: OpenTofu compares", "package_size is %d, and the package has %d bytes", stated, size)
		return
	}
	v.OK(check, "%d bytes, as packages says", size)
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

// problems says what is wrong with the document's fields, and resolves its URLs.
func (d *packageDocument) problems(at *url.URL, filename string, platform registry.Platform) (wrong []string) {
	require := func(good bool, problem string, args ...any) {
		if !good {
			wrong = append(wrong, fmt.Sprintf(problem, args...))
		}
	}
	require(d.OS == platform.OS && d.Arch == platform.Arch, "it is for %s, not for %s", quote(d.OS+"_"+d.Arch), platform)
	require(d.Filename == filename, "filename is %s, not %s", quote(d.Filename), filename)
	require(hexSHA256.MatchString(d.SHASum), "shasum is %s, not 64 lower-case hexadecimal digits", quote(d.SHASum))
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
		require(err == nil && field.text != "" && u.Scheme == "https", "%s is not an https URL", field.name)
		*field.resolved = u
	}
	return wrong
}

// packageProblems says what OpenTofu refuses in packages, which may be left out.
func (d *packageDocument) packageProblems(platform registry.Platform) (wrong []string) {
	for name, p := range d.Packages {
		os, arch, _ := strings.Cut(name, "_")
		if _, err := registry.ParsePlatform(os, arch); err != nil {
			wrong = append(wrong, fmt.Sprintf("packages has %s, which is not a platform", quote(name)))
		}
		for _, hash := range p.Hashes {
			if scheme, _, ok := strings.Cut(hash, ":"); !ok || scheme == "" {
				wrong = append(wrong, fmt.Sprintf("packages has %s, which is not a hash", quote(hash)))
			}
		}
	}
	of, said := d.Packages[platform.String()]
	switch {
	case len(d.Packages) == 0:
	case !said:
		wrong = append(wrong, fmt.Sprintf("packages has no %s", platform))
	case of.PackageSize <= 0:
		wrong = append(wrong, fmt.Sprintf("package_size of %s is %d", platform, of.PackageSize))
	case !slices.Contains(of.Hashes, "zh:"+d.SHASum):
		wrong = append(wrong, fmt.Sprintf("packages has no zh: hash of %s that equals the shasum", platform))
	}
	return wrong
}

// usableProtocols says whether today's clients can run the provider. They accept an empty list.
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
