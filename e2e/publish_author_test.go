package e2e

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// author is someone who signs releases with GnuPG, as GoReleaser has it.
type author struct{ home string }

// newAuthor makes a keyring with one signing key, of the kind that GnuPG makes by default.
func newAuthor(t testing.TB) author {
	t.Helper()
	return newAuthorWith(t, "ed25519", "never")
}

// newAuthorWith makes a keyring with one signing key, of an algorithm and with an expiry as GnuPG writes them.
func newAuthorWith(t testing.TB, algorithm, expiry string) author {
	t.Helper()
	home := newGnuPGFolder(t)
	a := author{home}
	t.Cleanup(func() { command{argv: []string{"gpgconf", "--homedir", home, "--kill", "all"}}.must(t) })
	a.gpg(t, "--quick-gen-key", "Ada Author <ada@example.com>", algorithm, "sign", expiry)
	return a
}

// newGnuPGFolder makes a folder for a keyring. It is not named after the test, because the path of the agent's socket
// is bounded.
func newGnuPGFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// gpg runs GnuPG on the author's keyring; nothing asks for a passphrase.
func (a author) gpg(t testing.TB, args ...string) string {
	t.Helper()
	argv := []string{"gpg", "--batch", "--yes", "--homedir", a.home, "--pinentry-mode", "loopback", "--passphrase", ""}
	return command{dir: a.home, argv: append(argv, args...)}.must(t)
}

// publicKey returns the author's key as a .asc file.
func (a author) publicKey(t testing.TB) []byte {
	t.Helper()
	return []byte(a.gpg(t, "--armor", "--export"))
}

// sign returns a detached signature over document, binary unless the settings say otherwise.
func (a author) sign(t testing.TB, document []byte, settings ...string) []byte {
	t.Helper()
	writeFile(t, filepath.Join(a.home, "document"), string(document))
	return []byte(a.gpg(t, append(settings, "--output", "-", "--detach-sign", "document")...))
}

// sumsOf returns the SHA256SUMS of uploads as `sha256sum` writes it.
func sumsOf(uploads map[string][]byte) []byte {
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(uploads)) {
		fmt.Fprintf(&lines, "%s  %s\n", shaOf(answer{body: uploads[key]}), path.Base(key))
	}
	return []byte(lines.String())
}

// release is a provider version that an author built: zips, SHA256SUMS and signature, by key.
type release struct {
	packages        map[string][]byte
	sums, sig       []byte
	sumsKey, sigKey string
}

// newRelease makes version 1.0.0 of namespace/widget for two platforms, signed by a.
func newRelease(t testing.TB, a author, namespace string) release {
	t.Helper()
	stem := "providers/" + namespace + "/widget/terraform-provider-widget_1.0.0_"
	r := release{
		packages: map[string][]byte{
			stem + "linux_amd64.zip":  providerZip(t, "widget", "1.0.0", "linux_amd64"),
			stem + "darwin_arm64.zip": providerZip(t, "widget", "1.0.0", "darwin_arm64"),
		},
		sumsKey: stem + "SHA256SUMS",
		sigKey:  stem + "SHA256SUMS.sig",
	}
	r.sums = sumsOf(r.packages)
	r.sig = a.sign(t, r.sums)
	return r
}

// An author's SHA256SUMS and signature are pending until the author's key has come. Meanwhile the registry's own are
// served. Then the author's are served, byte for byte, with the author's key.
func TestAuthorsSignatureReplacesTheRegistrysOwn(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthor(t)
	release := newRelease(t, ada, "ada")
	r.publishAll(t, release.packages)

	sums, sig := r.put(t, release.sumsKey, release.sums), r.put(t, release.sigKey, release.sig)
	for _, u := range []upload{sums, sig} {
		if status := r.verdict(t, u)["larder-status"]; status != pending {
			t.Errorf("without the author's key, %s is %s, want %s", path.Base(u.key), status, pending)
		}
	}
	own := r.packageDocument(t, "ada/widget/1.0.0", "linux/amd64")
	verifyWithGnuPG(t, r, own)

	r.publish(t, "keys/ada/release.asc", ada.publicKey(t))
	r.expect(t, sums, published)
	r.expect(t, sig, published)
	doc := r.packageDocument(t, "ada/widget/1.0.0", "linux/amd64")
	if doc.SigningKeys.GPGPublicKeys[0].KeyID == own.SigningKeys.GPGPublicKeys[0].KeyID {
		t.Error("the key is still the registry's")
	}
	if got := r.fetch(t, doc.SHASumsURL).body; string(got) != string(release.sums) {
		t.Errorf("SHA256SUMS is not the author's:\n%s", got)
	}
	if got := r.fetch(t, doc.SHASumsSignatureURL).body; string(got) != string(release.sig) {
		t.Error("the signature is not the author's")
	}
	checkWhole(t, r, "ada/widget", "1.0.0", release.packages)

	t.Run("a package that the author did not sign", func(t *testing.T) {
		key := "providers/ada/widget/terraform-provider-widget_1.0.0_windows_amd64.zip"
		tags := r.expect(t, r.put(t, key, providerZip(t, "widget", "1.0.0", "late")), rejected)
		checkReason(t, tags, "SHA256SUMS")
	})
}

// The release files may come in any order, and before their packages.
func TestReleaseFilesInAnyOrder(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthor(t)
	// A subkey makes the signature, as careful authors do it.
	fingerprint := strings.Fields(ada.gpg(t, "--with-colons", "--list-keys"))
	ada.gpg(t, "--quick-add-key", fingerprintIn(t, fingerprint), "ed25519", "sign", "never")
	release := newRelease(t, ada, "early")

	r.publish(t, "keys/early/release.asc", ada.publicKey(t))
	sig, sums := r.put(t, release.sigKey, release.sig), r.put(t, release.sumsKey, release.sums)
	r.publishAll(t, release.packages)
	r.expect(t, sums, published)
	r.expect(t, sig, published)
	checkWhole(t, r, "early/widget", "1.0.0", release.packages)
	doc := r.packageDocument(t, "early/widget/1.0.0", "darwin/arm64")
	if got := r.fetch(t, doc.SHASumsSignatureURL).body; string(got) != string(release.sig) {
		t.Error("the signature is not the author's")
	}
}

// fingerprintIn returns the first fingerprint of a listing of keys with colons.
func fingerprintIn(t testing.TB, fields []string) string {
	t.Helper()
	for _, field := range fields {
		if rest, ok := strings.CutPrefix(field, "fpr:"); ok {
			return strings.Trim(rest, ":")
		}
	}
	t.Fatalf("no fingerprint in %v", fields)
	return ""
}

// protocols are taken from the release's manifest, else from one inside the zip, else they are 5.0.
func TestProtocolsComeFromTheManifest(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	manifest := func(versions string) []byte {
		return fmt.Appendf(nil, `{"version": 1, "metadata": {"protocol_versions": [%s]}}`, versions)
	}
	const stem = "providers/manifest/widget/terraform-provider-widget_"
	inside := zipOf(t, executable("terraform-provider-widget_v1.1.0"),
		entry{name: "terraform-registry-manifest.json", body: manifest(`"6.0"`)})
	r.publish(t, stem+"1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "none"))
	r.publish(t, stem+"1.1.0_linux_amd64.zip", inside)
	r.publish(t, stem+"1.2.0_manifest.json", manifest(`"5.0", "6.1", "6.0"`))
	r.publish(t, stem+"1.2.0_linux_amd64.zip", providerZip(t, "widget", "1.2.0", "beside"))

	for version, want := range map[string]struct{ listed, document []string }{
		"1.0.0": {[]string{"5.0"}, []string{"5.0"}},
		"1.1.0": {[]string{"6.0"}, []string{"6.0"}},
		"1.2.0": {[]string{"5.0", "6.1"}, []string{"5.0", "6.1"}},
	} {
		if got := r.providerVersions(t, "manifest/widget")[version].Protocols; !slices.Equal(got, want.listed) {
			t.Errorf("%s: listed with protocols %v, want %v", version, got, want.listed)
		}
		got := r.packageDocument(t, "manifest/widget/"+version, "linux/amd64").Protocols
		if !slices.Equal(got, want.document) {
			t.Errorf("%s: document with protocols %v, want %v", version, got, want.document)
		}
	}
}
