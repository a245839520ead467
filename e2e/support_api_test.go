package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// answer is an answer of the registry.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask sends a request whose path and query go over the wire exactly as written.
func (r *registry) ask(t testing.TB, method, path string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+r.host, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + r.host + path
	return r.do(t, req)
}

// fetch gets an URL that the registry gave.
func (r *registry) fetch(t testing.TB, url string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.do(t, req)
}

func (r *registry) do(t testing.TB, req *http.Request) answer {
	t.Helper()
	resp, err := r.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// decode reads the answer's JSON into v and fails on any status but 200.
func (a answer) decode(t testing.TB, v any) {
	t.Helper()
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

// moduleVersions returns the listed versions of a module in their order, or nothing if the module is not found.
func (r *registry) moduleVersions(t testing.TB, address string) []string {
	t.Helper()
	a := r.ask(t, http.MethodGet, "/v1/modules/"+address+"/versions")
	if a.status == http.StatusNotFound {
		return nil
	}
	var doc struct {
		Modules []struct {
			Versions []struct{ Version string }
		}
	}
	a.decode(t, &doc)
	if len(doc.Modules) != 1 {
		t.Fatalf("%d modules in the answer for %s, want 1", len(doc.Modules), address)
	}
	var versions []string
	for _, v := range doc.Modules[0].Versions {
		versions = append(versions, v.Version)
	}
	return versions
}

// providerVersion is one entry of a provider's versions document.
type providerVersion struct {
	Version   string
	Protocols []string
	Platforms []struct{ OS, Arch string }
}

// platforms returns the entry's platforms as os_arch, sorted.
func (v providerVersion) platforms() []string {
	var names []string
	for _, p := range v.Platforms {
		names = append(names, p.OS+"_"+p.Arch)
	}
	slices.Sort(names)
	return names
}

// providerVersions returns the listed versions of a provider by version, or nothing if the provider is not found.
func (r *registry) providerVersions(t testing.TB, address string) map[string]providerVersion {
	t.Helper()
	a := r.ask(t, http.MethodGet, "/v1/providers/"+address+"/versions")
	if a.status == http.StatusNotFound {
		return nil
	}
	var doc struct{ Versions []providerVersion }
	a.decode(t, &doc)
	versions := map[string]providerVersion{}
	for _, v := range doc.Versions {
		versions[v.Version] = v
	}
	return versions
}

// packageDocument is the answer to a provider's download request.
type packageDocument struct {
	Protocols           []string
	OS, Arch            string
	Filename            string
	DownloadURL         string `json:"download_url"`
	SHASumsURL          string `json:"shasums_url"`
	SHASumsSignatureURL string `json:"shasums_signature_url"`
	SHASum              string
	Packages            map[string]struct {
		Hashes      []string
		PackageSize int64 `json:"package_size"`
	}
	SigningKeys struct {
		GPGPublicKeys []struct {
			KeyID      string `json:"key_id"`
			ASCIIArmor string `json:"ascii_armor"`
		} `json:"gpg_public_keys"`
	} `json:"signing_keys"`
}

// packageDocument returns the document of namespace/type/version and a platform such as linux/amd64.
func (r *registry) packageDocument(t testing.TB, version, platform string) packageDocument {
	t.Helper()
	var doc packageDocument
	r.ask(t, http.MethodGet, "/v1/providers/"+version+"/download/"+platform).decode(t, &doc)
	return doc
}

// moduleLocation returns where the registry tells the clients that a module version's archive is:
// namespace/name/system/version.
func (r *registry) moduleLocation(t testing.TB, version string) *url.URL {
	t.Helper()
	return r.moduleLocationFor(t, "1.12.6", version)
}

// moduleLocationFor returns the location of a module version's archive, as the registry answers a client with this
// X-Terraform-Version.
func (r *registry) moduleLocationFor(t testing.TB, client, version string) *url.URL {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.host+"/v1/modules/"+version+"/download", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Terraform-Version", client)
	a := r.do(t, req)
	if a.status != http.StatusNoContent {
		t.Fatalf("download of %s: status %d: %s", version, a.status, a.body)
	}
	location, err := url.Parse(a.header.Get("X-Terraform-Get"))
	if err != nil || !location.IsAbs() {
		t.Fatalf("download of %s: X-Terraform-Get is %q", version, a.header.Get("X-Terraform-Get"))
	}
	return location
}

// moduleArchive fetches a module version's archive as the clients do: they remove the arguments that are only for
// them.
func (r *registry) moduleArchive(t testing.TB, version string) []byte {
	t.Helper()
	location := r.moduleLocation(t, version)
	query := location.Query()
	query.Del("archive")
	query.Del("checksum")
	location.RawQuery = query.Encode()
	return r.fetch(t, location.String()).body
}
