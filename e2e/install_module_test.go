package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// networkReleases are the versions of the module and how each is packed.
var networkReleases = map[string]func(t testing.TB, version string) (suffix string, archive []byte){
	"0.9.0":         asTarGz,
	"1.0.0":         asZip,
	"1.0.1":         asGitHubTarball,
	"1.1.0":         asTgz,
	"1.1.1":         asZip,
	"1.2.0":         asTarGz,
	"1.2.1+build.5": asTarGz,
	"1.9.0":         asZip,
	"1.10.0":        asGitHubTarball,
	"2.0.0-rc.1":    asTarGz,
	"2.0.0":         asTgz,
	"2.1.0-beta.2":  asGitHubTarball,
}

// network returns the module's files, each name with prefix before it.
func network(t testing.TB, version, prefix string) []entry {
	t.Helper()
	return append(folder(t, "testdata/network", prefix), entry{name: prefix + "VERSION", body: []byte(version + "\n")})
}

func asZip(t testing.TB, version string) (string, []byte) {
	return ".zip", zipOf(t, network(t, version, "")...)
}

func asTgz(t testing.TB, version string) (string, []byte) {
	return ".tgz", tarGzOf(t, network(t, version, "")...)
}

// asTarGz packs as `tar -C module -czf module.tar.gz .` does.
func asTarGz(t testing.TB, version string) (string, []byte) {
	root := entry{name: "./", kind: tar.TypeDir, mode: 0o755}
	return ".tar.gz", tarGzOf(t, append([]entry{root}, network(t, version, "./")...)...)
}

// asGitHubTarball packs as GitHub does: everything in a folder named for the commit, after a pax header that names
// the commit.
func asGitHubTarball(t testing.TB, version string) (string, []byte) {
	const wrapper = "acme-terraform-aws-network-0123456/"
	head := []entry{{kind: tar.TypeXGlobalHeader}, {name: wrapper, kind: tar.TypeDir, mode: 0o755}}
	return ".tar.gz", tarGzOf(t, append(head, network(t, version, wrapper)...)...)
}

// A real module in twelve versions and every form of archive is resolved, installed and applied by every client.
func TestModuleIsResolvedAndApplied(t *testing.T) {
	r := sharedRegistry(t)
	publishNetwork(t, r, "acme")

	listed := r.moduleVersions(t, "acme/network/aws")
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(networkReleases)); !slices.Equal(listed, want) {
		t.Fatalf("listed: %v, want %v", listed, want)
	}
	forEachClient(t, func(t *testing.T, c client) { applyNetwork(t, c, r) })
}

// publishNetwork uploads all releases of the module under namespace with one `aws s3 sync`.
func publishNetwork(t testing.TB, r *registry, namespace string) {
	t.Helper()
	dist := t.TempDir()
	prefix := "modules/" + namespace + "/network/aws/"
	var keys []string
	for version, pack := range networkReleases {
		suffix, archive := pack(t, version)
		if err := os.WriteFile(filepath.Join(dist, version+suffix), archive, 0o600); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, prefix+version+suffix)
	}
	r.aws(t, "s3", "sync", "--only-show-errors", dist, "s3://"+r.bucket+"/"+prefix)
	for _, key := range keys {
		r.expect(t, r.latest(t, key), published)
	}
}

// networkChoices are the constraints that are tried, and the release that each must choose, of the module itself or of
// its submodule.
var networkChoices = []struct{ name, subdir, constraint, want string }{
	{"patches_only", "", "~> 1.0.0", "1.0.1"},
	{"minor_numerically", "", "~> 1.0", "1.10.0"},
	{"build_metadata", "", "~> 1.2.0", "1.2.1+build.5"},
	{"build_metadata_exactly", "", "1.2.1+build.5", "1.2.1+build.5"},
	{"no_pre_release", "", ">= 1.0", "2.0.0"},
	{"pre_release_exactly", "", "2.1.0-beta.2", "2.1.0-beta.2"},
	{"upper_bound", "", "> 1.0, < 1.9", "1.2.1+build.5"},
	{"exactly", "", "1.9.0", "1.9.0"},
	{"written_short", "", "2.0", "2.0.0"},
	{"submodule_of_tarball", "//modules/subnets", "0.9.0", "0.9.0"},
	{"submodule_of_zip", "//modules/subnets", "1.0.0", "1.0.0"},
	{"submodule_of_wrapped", "//modules/subnets", "~> 1.0.0", "1.0.1"},
}

// networkConfig calls the module once for each of networkChoices and puts out the release that each call got.
func networkConfig() string {
	var config strings.Builder
	for _, choice := range networkChoices {
		arguments := ""
		if choice.subdir != "" {
			arguments = "\n  cidr    = \"10.0.0.0/16\"\n  names   = [\"a\", \"b\"]"
		}
		fmt.Fprintf(&config, `
module "%[1]s" {
  source  = "HOST/acme/network/aws%[2]s"
  version = "%[3]s"%[4]s
}

output "%[1]s" {
  value = module.%[1]s.release
}
`, choice.name, choice.subdir, choice.constraint, arguments)
	}
	return config.String() + `
output "range" {
  value = module.exactly.subnets["private-b"]
}
`
}

func applyNetwork(t *testing.T, c client, r *registry) {
	w := c.workspace(t, r, networkConfig())
	w.run(t, "init", "-input=false")
	w.run(t, "validate")
	w.run(t, "apply", "-input=false", "-auto-approve")
	got := w.outputs(t)
	for _, choice := range networkChoices {
		if got[choice.name] != choice.want {
			t.Errorf("%s%s chose %s, want %s", choice.constraint, choice.subdir, got[choice.name], choice.want)
		}
	}
	if got["range"] != "10.0.32.0/19" {
		t.Errorf("the module put out %s", got["range"])
	}
}

// An archive is served byte for byte, except that a wrapping folder is removed. Its address has its format and its
// hash, for the clients.
func TestModuleArchiveIsServedAsUploaded(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	for _, form := range []struct {
		version string
		pack    func(testing.TB, string) (string, []byte)
		archive string // as the clients call its form
	}{
		{"1.0.0", asZip, "zip"},
		{"1.0.1", asTarGz, "tar.gz"},
		{"1.0.2", asTgz, "tar.gz"},
	} {
		suffix, archive := form.pack(t, form.version)
		r.publish(t, "modules/exact/network/aws/"+form.version+suffix, archive)

		location := r.moduleLocation(t, "exact/network/aws/"+form.version)
		sum := shaOf(answer{body: archive})
		if got := r.moduleArchive(t, "exact/network/aws/"+form.version); !bytes.Equal(got, archive) {
			t.Errorf("%s: serves %d bytes that are not the %d uploaded", suffix, len(got), len(archive))
		}
		if query := location.Query(); query.Get("archive") != form.archive || query.Get("checksum") != "sha256:"+sum {
			t.Errorf("%s: archive=%s&checksum=%s, want %s and sha256:%s",
				suffix, query.Get("archive"), query.Get("checksum"), form.archive, sum)
		}
		checkPlainLocation(t, r, "exact/network/aws/"+form.version, form.archive, archive)
	}
}

// checkPlainLocation wants other tools to get an address that works as it is, whose path ends with the archive's
// extension. S3 refuses a signed address if something is added to it.
func checkPlainLocation(t testing.TB, r *registry, version, form string, archive []byte) {
	t.Helper()
	plain, forClients := r.moduleLocationFor(t, "", version), r.moduleLocation(t, version)
	if a := r.fetch(t, plain.String()); a.status != http.StatusOK || !bytes.Equal(a.body, archive) || !strings.HasSuffix(plain.Path, "."+form) {
		t.Errorf("%s: %s gives %d and %d bytes", version, plain.Path, a.status, len(a.body))
	}
	if a := r.fetch(t, forClients.String()); a.status != http.StatusForbidden {
		t.Errorf("%s: what is for the clients gives others %d", version, a.status)
	}
}

// A request without a version of a module leads to the newest version that is not a pre-release and not withdrawn.
func TestNewestModule(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const module = "newest/network/aws/"
	for _, version := range []string{"1.0.0", "1.1.0+build.5", "1.2.0", "2.0.0-rc.1"} {
		r.publish(t, "modules/"+module+version+".tar.gz", tinyModule(t, version))
	}
	lead := func(version string) {
		t.Helper()
		a := r.ask(t, http.MethodGet, "/v1/modules/"+module+"download")
		location, err := url.Parse(a.header.Get("Location"))
		if err != nil || a.status != http.StatusFound {
			t.Fatalf("it is answered %d with Location %q", a.status, a.header.Get("Location"))
		}
		there, err := url.Parse(r.ask(t, http.MethodGet, location.EscapedPath()).header.Get("X-Terraform-Get"))
		if want := r.moduleLocation(t, module+version); err != nil || there.Path != want.Path {
			t.Errorf("it leads to %s, want %s", there, want.Path)
		}
	}
	lead("1.2.0")
	r.operate(t, "withdraw", "newest/network/aws", "1.2.0")
	eventually(t, func() error {
		if versions := r.moduleVersions(t, "newest/network/aws"); slices.Contains(versions, "1.2.0") {
			return fmt.Errorf("1.2.0 is listed still: %q", versions)
		}
		return nil
	})
	lead("1.1.0+build.5")
}

// A small module is listed within two seconds of its upload.
func TestSmallArchiveIsListedWithinTwoSeconds(t *testing.T) {
	r := sharedRegistry(t)
	const rounds = 5
	var slowest time.Duration
	for round := range rounds {
		version := fmt.Sprintf("1.%d.0", round)
		r.put(t, "modules/prompt/label/null/"+version+".tar.gz", tinyModule(t, version))
		uploaded := time.Now()
		eventually(t, func() error {
			if !slices.Contains(r.moduleVersions(t, "prompt/label/null"), version) {
				return fmt.Errorf("%s is not listed", version)
			}
			return nil
		})
		slowest = max(slowest, time.Since(uploaded))
	}
	t.Logf("listed within %v", slowest)
	if slowest > 2*time.Second {
		t.Errorf("the slowest of %d uploads was listed after %v, want 2 s at most", rounds, slowest)
	}
}
