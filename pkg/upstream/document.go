package upstream

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// packageDocument is what the operation "Find a Provider Package" answers with.
type packageDocument struct {
	url       *url.URL          // where it was found
	platform  registry.Platform // as written, perhaps not a valid one
	filename  string
	shasum    string // in lower case
	archive   *url.URL
	sums      *url.URL
	signature *url.URL
	keys      []signing.PublicKey // not checked
}

// readPackageDocument reads a document that was found at u.
func readPackageDocument(u *url.URL, body []byte) (packageDocument, error) {
	var raw struct {
		OS           string `json:"os"`
		Arch         string `json:"arch"`
		Filename     string `json:"filename"`
		DownloadURL  string `json:"download_url"`
		SumsURL      string `json:"shasums_url"`
		SignatureURL string `json:"shasums_signature_url"`
		SHASum       string `json:"shasum"`
		SigningKeys  struct {
			GPGPublicKeys []struct {
				KeyID      string `json:"key_id"`
				ASCIIArmor string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return packageDocument{}, err
	}
	d := packageDocument{
		url:      u,
		platform: registry.Platform{OS: raw.OS, Arch: raw.Arch},
		filename: raw.Filename,
		shasum:   strings.ToLower(raw.SHASum),
	}
	for _, key := range raw.SigningKeys.GPGPublicKeys {
		d.keys = append(d.keys, signing.PublicKey{KeyID: key.KeyID, ASCIIArmor: key.ASCIIArmor})
	}
	for _, link := range []struct {
		name, reference string
		to              **url.URL
	}{
		{"download_url", raw.DownloadURL, &d.archive},
		{"shasums_url", raw.SumsURL, &d.sums},
		{"shasums_signature_url", raw.SignatureURL, &d.signature},
	} {
		var err error
		if *link.to, err = resolve(u, link.reference); err != nil {
			return packageDocument{}, fmt.Errorf("its %s: %w", link.name, err)
		}
	}
	return d, nil
}

// describes fails unless the document is about a package. The clients compare the
// platform, too, and find the line in SHA256SUMS by the file name.
func (d packageDocument) describes(p Package) error {
	if d.platform != p.Platform {
		return untrusted(nil, "%s describes the package for %q, and not for %s", where(d.url), d.platform, p.Platform)
	}
	if name := p.Address.PackageFilename(p.Version, p.Platform); d.filename != name {
		return untrusted(nil, "%s calls the package %q, and not %s", where(d.url), d.filename, name)
	}
	return nil
}
