package awskms_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/pkg/awskms"
	"github.com/larder-registry/larder/pkg/signing"
)

// TestOpenPGP checks that a key of KMS is the same OpenPGP key in every process,
// made anew or opened from what was stored, and that it signs the same.
func TestOpenPGP(t *testing.T) {
	server := kmstest.Start(t, 4096)
	key, again := newKey(t, server), newKey(t, server)
	opened, err := signing.OpenKey(newSigner(t, server), key.PublicKey().ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	if by, err := signing.Verify([]signing.PublicKey{key.PublicKey()}, document, signature); err != nil || by != key.PublicKey() {
		t.Errorf("Verify() = %s, %v", by.KeyID, err)
	}
	for name, other := range map[string]*signing.Key{"made again": again, "opened": opened} {
		if other.PublicKey() != key.PublicKey() {
			t.Errorf("%s: PublicKey() = %+v, want %+v", name, other.PublicKey(), key.PublicKey())
		}
		if got, err := other.Sign(t.Context(), document); err != nil || !bytes.Equal(got, signature) {
			t.Errorf("%s: another signature, error %v", name, err)
		}
	}
}

// TestAnotherKey checks that a stored public key never goes with the signatures
// of another key.
func TestAnotherKey(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := signing.NewKey(t.Context(), private, kmstest.NewKey(private).Created, userID)
	if err != nil {
		t.Fatal(err)
	}
	server := kmstest.Start(t, 4096)
	if _, err := signing.OpenKey(newSigner(t, server), other.PublicKey().ASCIIArmor); err == nil || !strings.Contains(err.Error(), "another signing key") {
		t.Errorf("OpenKey, with the public key known: %v", err)
	}
	signer, err := awskms.Open(configFor(server))
	if err != nil {
		t.Fatal(err)
	}
	key, err := signing.OpenKey(signer, other.PublicKey().ASCIIArmor)
	if err != nil {
		t.Fatal(err)
	}
	if signature, err := key.Sign(t.Context(), document); err == nil || signature != nil || !strings.Contains(err.Error(), "does not verify") {
		t.Errorf("Sign: %v", err)
	}
}

// TestGPG skips on a machine without gpg. Where CI is set, gpg must be there.
func TestGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("gpg is needed: %v", err)
		}
		t.Skipf("gpg is not installed, so nothing was tried against it: %v", err)
	}
	key := newKey(t, kmstest.Start(t, 4096))
	signature, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, data := range map[string][]byte{
		"key.asc":        []byte(key.PublicKey().ASCIIArmor),
		"SHA256SUMS":     document,
		"SHA256SUMS.sig": signature,
		"other":          append([]byte("x"), document...),
	} {
		if err := os.WriteFile(filepath.Join(home, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gpg := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "gpg", append([]string{"--batch", "--no-autostart", "--status-fd", "1"}, args...)...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "GNUPGHOME="+home, "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := gpg("--import", "key.asc"); err != nil {
		t.Fatalf("import: %v\n%s", err, out)
	}
	out, err := gpg("--verify", "SHA256SUMS.sig", "SHA256SUMS")
	if err != nil || !strings.Contains(out, "VALIDSIG "+key.PublicKey().Fingerprint) {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := gpg("--verify", "SHA256SUMS.sig", "other"); err == nil {
		t.Errorf("gpg verifies another document:\n%s", out)
	}
}
