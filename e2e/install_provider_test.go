package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const timeVersion = "0.14.2"

var timePlatforms = []string{"darwin_arm64", "linux_amd64", "linux_arm64"}

// publishTime uploads hashicorp/time under namespace with the AWS CLI, zipped as its authors zip it, and returns the
// sha256 of each zip by its file name.
func publishTime(t testing.TB, r *registry, namespace string) map[string]string {
	t.Helper()
	dist := t.TempDir()
	sums := map[string]string{}
	for _, platform := range timePlatforms {
		archive := zipOf(t, folder(t, filepath.Join(providers, platform), "")...)
		name := "terraform-provider-time_" + timeVersion + "_" + platform + ".zip"
		sum := sha256.Sum256(archive)
		sums[name] = hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(dist, name), archive, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prefix := "providers/" + namespace + "/time/"
	r.aws(t, "s3", "sync", "--only-show-errors", dist, "s3://"+r.bucket+"/"+prefix)
	for name := range sums {
		r.expect(t, r.latest(t, prefix+name), published)
	}
	return sums
}

// A real provider, published for three platforms with the AWS CLI, is installed, validated and applied by every
// client, and locked for every platform.
func TestProviderIsInstalledAndApplied(t *testing.T) {
	r := sharedRegistry(t)
	sums := publishTime(t, r, "hashicorp")

	t.Run("versions", func(t *testing.T) {
		listed := r.providerVersions(t, "hashicorp/time")
		v, ok := listed[timeVersion]
		if len(listed) != 1 || !ok {
			t.Fatalf("listed: %v", listed)
		}
		if !slices.Equal(v.platforms(), timePlatforms) || !slices.Equal(v.Protocols, []string{"5.0"}) {
			t.Errorf("listed: %+v", v)
		}
	})
	t.Run("package documents", func(t *testing.T) { checkTimeDocuments(t, r, sums) })
	t.Run("signature", func(t *testing.T) {
		doc := r.packageDocument(t, "hashicorp/time/"+timeVersion, "linux/amd64")
		verifyWithGnuPG(t, r, doc)
	})
	forEachClient(t, func(t *testing.T, c client) { applyTime(t, c, r, sums) })
}

const timeConfig = `
terraform {
  required_providers {
    time = {
      source  = "HOST/hashicorp/time"
      version = "~> 0.14"
    }
  }
}

resource "time_static" "birth" {
  rfc3339 = "2024-02-28T12:00:00Z"
}

resource "time_offset" "tomorrow" {
  base_rfc3339 = time_static.birth.rfc3339
  offset_days  = 2
}

output "day" {
  value = tostring(time_offset.tomorrow.day)
}
`

// applyTime uses the provider with one client, from init to apply, and once more from the lock file.
func applyTime(t *testing.T, c client, r *registry, sums map[string]string) {
	w := c.workspace(t, r, timeConfig)
	w.run(t, "init", "-input=false")
	w.run(t, "validate")
	w.run(t, "apply", "-input=false", "-auto-approve")
	if got := w.outputs(t)["day"]; got != "1" {
		t.Errorf("two days after 28 February 2024 is day %q, want 1", got)
	}
	checkLock(t, w, slices.Collect(maps.Values(sums)))

	if err := os.RemoveAll(filepath.Join(w.dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "init", "-input=false", "-lockfile=readonly")
}

// checkLock wants one zh: for each of the sums, no other, and an h1: in the lock file.
func checkLock(t *testing.T, w workspace, sums []string) {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(w.dir, ".terraform.lock.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	var locked []string
	for _, match := range regexp.MustCompile(`"zh:([0-9a-f]{64})"`).FindAllSubmatch(lock, -1) {
		locked = append(locked, string(match[1]))
	}
	slices.Sort(locked)
	slices.Sort(sums)
	if !slices.Equal(locked, sums) {
		t.Errorf("zh: in the lock file: %v, want those of the zips: %v", locked, sums)
	}
	if !bytes.Contains(lock, []byte(`"h1:`)) {
		t.Errorf("no h1: in the lock file:\n%s", lock)
	}
}

// checkTimeDocuments wants every field of every platform's package document to be right, and its URLs to give the
// right files.
func checkTimeDocuments(t *testing.T, r *registry, sums map[string]string) {
	for _, platform := range timePlatforms {
		system, arch, _ := strings.Cut(platform, "_")
		doc := r.packageDocument(t, "hashicorp/time/"+timeVersion, system+"/"+arch)
		name := "terraform-provider-time_" + timeVersion + "_" + platform + ".zip"
		if doc.OS != system || doc.Arch != arch || doc.Filename != name || doc.SHASum != sums[name] {
			t.Errorf("%s: %+v, want shasum %s", platform, doc, sums[name])
		}
		if !slices.Equal(doc.Protocols, []string{"5.0"}) {
			t.Errorf("%s: protocols %v", platform, doc.Protocols)
		}
		archive := r.fetch(t, doc.DownloadURL)
		if got := shaOf(archive); got != sums[name] {
			t.Errorf("%s: download_url gives sha256 %s", platform, got)
		}
		if p := doc.Packages[platform]; len(doc.Packages) != len(timePlatforms) || p.PackageSize != int64(len(archive.body)) ||
			!slices.Equal(p.Hashes, []string{h1Of(t, archive.body), "zh:" + sums[name]}) {
			t.Errorf("%s: packages %v", platform, doc.Packages)
		}
		if got := shaSums(t, r, doc); !maps.Equal(got, sums) {
			t.Errorf("%s: SHA256SUMS %v, want %v", platform, got, sums)
		}
	}
}

// shaOf returns the sha256 of an answer's body in hexadecimal.
func shaOf(a answer) string {
	sum := sha256.Sum256(a.body)
	return hex.EncodeToString(sum[:])
}

var shaSumsLine = regexp.MustCompile(`^([0-9a-f]{64})  (\S+)$`)

// shaSums returns the document's SHA256SUMS by file name, and fails the test when it is not exactly as both clients
// read it: a blank line makes them crash.
func shaSums(t testing.TB, r *registry, doc packageDocument) map[string]string {
	t.Helper()
	a := r.fetch(t, doc.SHASumsURL)
	if a.status != http.StatusOK || !bytes.HasSuffix(a.body, []byte("\n")) {
		t.Fatalf("SHA256SUMS: status %d: %q", a.status, a.body)
	}
	sums := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(a.body), "\n"), "\n") {
		match := shaSumsLine.FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("SHA256SUMS has the line %q", line)
		}
		sums[match[2]] = match[1]
	}
	return sums
}

// verifyWithGnuPG has gpg check the document's signature with only the document's key.
func verifyWithGnuPG(t testing.TB, r *registry, doc packageDocument) {
	t.Helper()
	keys := doc.SigningKeys.GPGPublicKeys
	if len(keys) != 1 {
		t.Fatalf("%d signing keys, want 1", len(keys))
	}
	dir := newGnuPGFolder(t)
	for name, content := range map[string][]byte{
		"key.asc":        []byte(keys[0].ASCIIArmor),
		"SHA256SUMS":     r.fetch(t, doc.SHASumsURL).body,
		"SHA256SUMS.sig": r.fetch(t, doc.SHASumsSignatureURL).body,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gpg(t, dir, "--import", "key.asc")
	status := gpg(t, dir, "--status-fd", "1", "--verify", "SHA256SUMS.sig", "SHA256SUMS")
	// VALIDSIG ends with the fingerprint of the primary key, which ends with the key ID.
	valid := regexp.MustCompile(`(?m)^\[GNUPG:\] VALIDSIG .*` + regexp.QuoteMeta(keys[0].KeyID) + `$`)
	if !valid.MatchString(status) {
		t.Errorf("gpg finds no valid signature by key %s:\n%s", keys[0].KeyID, status)
	}
}

// gpg runs GnuPG in dir with a keyring of its own there.
func gpg(t testing.TB, dir string, args ...string) string {
	t.Helper()
	home := filepath.Join(dir, "gnupg")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	argv := append([]string{"gpg", "--batch", "--no-autostart", "--homedir", home}, args...)
	return command{dir: dir, argv: argv}.must(t)
}

// Fourteen zips of one version that come at once get one signed SHA256SUMS of fourteen lines.
func TestPackagesUploadedAtOnceShareOneSignedSHA256SUMS(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	packages := widgetPackages(t, "crowd", "1.0.0")
	r.publishAll(t, packages)
	checkWhole(t, r, "crowd/widget", "1.0.0", packages)
}

// widgetPlatforms are the platforms of a widely built provider.
var widgetPlatforms = []string{
	"darwin_amd64", "darwin_arm64", "freebsd_386", "freebsd_amd64", "freebsd_arm", "freebsd_arm64", "linux_386",
	"linux_amd64", "linux_arm", "linux_arm64", "openbsd_amd64", "windows_386", "windows_amd64", "windows_arm64",
}

// widgetPackages makes the packages of one version of namespace/widget for all widgetPlatforms, by key.
func widgetPackages(t testing.TB, namespace, version string) map[string][]byte {
	t.Helper()
	packages := map[string][]byte{}
	for _, platform := range widgetPlatforms {
		key := fmt.Sprintf("providers/%s/widget/terraform-provider-widget_%s_%s.zip", namespace, version, platform)
		packages[key] = providerZip(t, "widget", version, platform)
	}
	return packages
}

// checkWhole wants a provider version to be listed with exactly the given uploads, and each of them to be served with
// a SHA256SUMS of all of them and a valid signature.
func checkWhole(t testing.TB, r *registry, provider, version string, uploads map[string][]byte) {
	t.Helper()
	sums := map[string]string{}
	for key, body := range uploads {
		sums[path.Base(key)] = shaOf(answer{body: body})
	}
	platforms := r.providerVersions(t, provider)[version].platforms()
	if len(platforms) != len(uploads) {
		t.Fatalf("%s %s is listed for %v, want %d platforms", provider, version, platforms, len(uploads))
	}
	for _, platform := range platforms {
		doc := r.packageDocument(t, provider+"/"+version, strings.Replace(platform, "_", "/", 1))
		if doc.SHASum != sums[doc.Filename] || shaOf(r.fetch(t, doc.DownloadURL)) != doc.SHASum {
			t.Errorf("%s is not served as it was uploaded: %+v", doc.Filename, doc)
		}
		if got := shaSums(t, r, doc); !maps.Equal(got, sums) {
			t.Errorf("SHA256SUMS for %s has %d lines, want the %d uploads", platform, len(got), len(sums))
		}
	}
	doc := r.packageDocument(t, provider+"/"+version, strings.Replace(platforms[0], "_", "/", 1))
	verifyWithGnuPG(t, r, doc)
}
