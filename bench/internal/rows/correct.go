package rows

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/load"
	"github.com/larder-registry/larder/pkg/registry"
)

// correct says what is wrong with an answer.
type correct = func(path string, a load.Answer, peer bool) error

func decode[T any](a load.Answer) (document T, err error) {
	if err = json.Unmarshal(a.Body, &document); err != nil {
		err = fmt.Errorf("%w in %.100q", err, a.Body)
	}
	return document, err
}

func discovery(_ string, a load.Answer, _ bool) error {
	document, err := decode[map[string]any](a)
	if err == nil && (document["modules.v1"] != "/v1/modules/" || document["providers.v1"] != "/v1/providers/") {
		err = fmt.Errorf("the services are %v", document)
	}
	return err
}

// says is for answers that have a text under a name.
func says(name, text string) correct {
	return func(_ string, a load.Answer, _ bool) error {
		document, err := decode[map[string]any](a)
		if err == nil && document[name] != text {
			err = fmt.Errorf("%s is %v, and must be %q", name, document[name], text)
		}
		return err
	}
}

func listsProvider(p dataset.Provider) correct {
	return func(_ string, a load.Answer, peer bool) error {
		document, err := decode[struct {
			Versions []struct {
				Version   string
				Protocols []string
				Platforms []struct{ OS, Arch string }
			}
		}](a)
		if err != nil {
			return err
		}
		listed := map[string]bool{}
		for _, v := range document.Versions {
			listed[v.Version] = true
			for n := range p.Platforms {
				if !slices.Contains(v.Platforms, struct{ OS, Arch string }(dataset.Platform(n))) {
					return fmt.Errorf("version %s is not for %s", v.Version, dataset.Platform(n))
				}
			}
			if !peer && !slices.Equal(v.Protocols, []string{"5.0"}) || len(v.Platforms) != p.Platforms {
				return fmt.Errorf("version %s has the protocols %v, and %d platforms", v.Version, v.Protocols, len(v.Platforms))
			}
		}
		return hasVersions(listed, p.Versions)
	}
}

// hasVersions says if some versions are not exactly the first n.
func hasVersions[V any](listed map[string]V, n int) error {
	if len(listed) != n {
		return fmt.Errorf("there are %d versions, and there must be %d", len(listed), n)
	}
	for version := range n {
		if _, ok := listed[dataset.Version(version).String()]; !ok {
			return fmt.Errorf("version %s is missing", dataset.Version(version))
		}
	}
	return nil
}

func listsModule(m dataset.Module) correct {
	return func(_ string, a load.Answer, _ bool) error {
		document, err := decode[struct {
			Modules []struct{ Versions []struct{ Version string } }
		}](a)
		if err != nil {
			return err
		}
		if len(document.Modules) != 1 {
			return fmt.Errorf("there are %d modules", len(document.Modules))
		}
		listed := map[string]bool{}
		for _, v := range document.Modules[0].Versions {
			listed[v.Version] = true
		}
		return hasVersions(listed, m.Versions)
	}
}

func listsMirror(p dataset.Provider) correct {
	return func(_ string, a load.Answer, _ bool) error {
		document, err := decode[struct{ Versions map[string]struct{} }](a)
		if err != nil {
			return err
		}
		return hasVersions(document.Versions, p.Versions)
	}
}

// leads says if a URL is not a presigned one of an object. The peer keeps it under another key.
func leads(text, key string, peer bool) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if peer {
		key = key[strings.LastIndexByte(key, '/')+1:]
	}
	if u.Host == "" || !peer && (!strings.HasSuffix(u.Path, "/"+key) || !u.Query().Has("X-Amz-Signature")) || !strings.Contains(u.Path, key) {
		return fmt.Errorf("the URL %q is not one of %s", text, key)
	}
	return nil
}

func downloadsProvider(all []dataset.Provider, version int) correct {
	states := map[string]*registry.ProviderVersion{}
	return func(path string, a load.Answer, peer bool) error {
		if len(states) == 0 { // they are not made for rows that are not chosen
			for _, p := range all {
				states[downloadPath(p, version)] = p.State(version)
			}
		}
		return describes(a, states[path], peer)
	}
}

// describes says if an answer is not that of a version's package for the first platform.
func describes(a load.Answer, s *registry.ProviderVersion, peer bool) error {
	document, err := decode[struct {
		OS, Arch, Filename, SHASum string
		DownloadURL                string `json:"download_url"`
		SHASumsURL                 string `json:"shasums_url"`
		SHASumsSignatureURL        string `json:"shasums_signature_url"`
		SigningKeys                struct {
			GPGPublicKeys []struct {
				KeyID      string `json:"key_id"`
				ASCIIArmor string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
		Packages map[string]struct{ Hashes []string }
	}](a)
	if err != nil {
		return err
	}
	platform := dataset.Platform(0)
	pkg, _ := s.Package(platform)
	keys := document.SigningKeys.GPGPublicKeys
	switch {
	case registry.Platform{OS: document.OS, Arch: document.Arch} != platform:
		return fmt.Errorf("it is for %s_%s", document.OS, document.Arch)
	case document.Filename != s.Address.PackageFilename(s.Version, platform) || document.SHASum != pkg.SHA256:
		return fmt.Errorf("it is %s with the sha256 %s", document.Filename, document.SHASum)
	case len(keys) != 1 || keys[0].KeyID != dataset.SigningKey.KeyID || keys[0].ASCIIArmor != dataset.SigningKey.ASCIIArmor:
		return fmt.Errorf("the signing keys are %v", keys)
	case !peer && !slices.Equal(document.Packages[platform.String()].Hashes, []string{pkg.H1, "zh:" + pkg.SHA256}):
		return fmt.Errorf("the packages are %v", document.Packages)
	case !peer && len(document.Packages) != len(s.Packages):
		return fmt.Errorf("there are %d packages", len(document.Packages))
	}
	packageKey, sums, signature := s.Address.PackageKey(s.Version, pkg), s.Address.SHA256SUMSKey(s.Version, *s.Release), s.Address.SignatureKey(s.Version, *s.Release)
	if peer {
		packageKey, sums, signature = document.Filename, s.Address.SHA256SUMSFilename(s.Version), s.Address.SignatureFilename(s.Version)
	}
	for key, text := range map[string]string{packageKey: document.DownloadURL, sums: document.SHASumsURL, signature: document.SHASumsSignatureURL} {
		if err := leads(text, key, peer); err != nil {
			return err
		}
	}
	return nil
}

func downloadsModule(m dataset.Module, version int) correct {
	s := m.State(version)
	return func(_ string, a load.Answer, peer bool) error {
		text := a.Header.Get("X-Terraform-Get")
		if peer {
			if !strings.Contains(text, dataset.Version(version).String()) {
				return fmt.Errorf("the archive is %q", text)
			}
			return nil
		}
		if !strings.Contains(text, s.Archive.SHA256) {
			return fmt.Errorf("the archive is %q", text)
		}
		return leads(text, m.Address.ArchiveKey(s.Version, s.Archive), false)
	}
}

func leadsToNewest(m dataset.Module) correct {
	return func(_ string, a load.Answer, _ bool) error {
		newest := dataset.Version(m.Versions - 1).String()
		if location := a.Header.Get("Location"); !strings.HasSuffix(location, "/"+newest+"/download") {
			return fmt.Errorf("it leads to %q", location)
		}
		return nil
	}
}

func offersArchives(p dataset.Provider, version int) correct {
	return func(_ string, a load.Answer, peer bool) error {
		document, err := decode[struct {
			Archives map[string]struct {
				URL    string
				Hashes []string
			}
		}](a)
		if err != nil {
			return err
		}
		s := p.State(version)
		for _, pkg := range s.Packages {
			archive := document.Archives[pkg.Platform.String()]
			key := p.Address.PackageKey(s.Version, pkg)
			if peer {
				key = p.Address.PackageFilename(s.Version, pkg.Platform)
			}
			if err := leads(archive.URL, key, peer); err != nil {
				return err
			}
			if !slices.Contains(archive.Hashes, "zh:"+pkg.SHA256) || !peer && !slices.Contains(archive.Hashes, pkg.H1) {
				return fmt.Errorf("the hashes for %s are %v", pkg.Platform, archive.Hashes)
			}
		}
		if len(document.Archives) != len(s.Packages) {
			return fmt.Errorf("there are archives for %v", slices.Sorted(maps.Keys(document.Archives)))
		}
		return nil
	}
}
