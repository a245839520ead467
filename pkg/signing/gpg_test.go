package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A gpg is the real gpg with a home of its own.
type gpg struct {
	t    *testing.T
	home string
}

// newGPG skips the test on a machine without gpg. Where CI is set, gpg must be
// there.
func newGPG(t *testing.T) gpg {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("gpg is needed: %v", err)
		}
		t.Skipf("gpg is not installed, so nothing was tried against it: %v", err)
	}
	// Not t.TempDir: the path of the agent's socket has little room.
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	g := gpg{t, home}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all")
		kill.Env = g.environ()
		if out, err := kill.CombinedOutput(); err != nil {
			t.Errorf("stop the agent: %v: %s", err, out)
		}
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g gpg) environ() []string {
	return append(os.Environ(), "GNUPGHOME="+g.home, "LC_ALL=C")
}

func (g gpg) try(args ...string) (out []byte, status string, err error) {
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	all := append([]string{"--batch", "--no-tty", "--passphrase", "", "--pinentry-mode", "loopback"}, args...)
	cmd := exec.CommandContext(ctx, "gpg", all...)
	cmd.Env = g.environ()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err = cmd.Output()
	return out, stderr.String(), err
}

func (g gpg) run(args ...string) []byte {
	g.t.Helper()
	out, status, err := g.try(args...)
	if err != nil {
		g.t.Fatalf("gpg %s: %v\n%s", strings.Join(args, " "), err, status)
	}
	return out
}

func (g gpg) write(name string, data []byte) string {
	g.t.Helper()
	path := filepath.Join(g.home, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		g.t.Fatal(err)
	}
	return path
}

// newKey makes a key and returns its fingerprint.
func (g gpg) newKey(user, algorithm, usage, expire string, options ...string) string {
	g.t.Helper()
	g.run(append(options, "--quick-generate-key", user, algorithm, usage, expire)...)
	for line := range strings.Lines(string(g.run("--list-keys", "--with-colons", user))) {
		if fields := strings.Split(line, ":"); fields[0] == "fpr" {
			return fields[9]
		}
	}
	g.t.Fatal("gpg made no key")
	return ""
}

func (g gpg) export(fingerprints ...string) []byte {
	g.t.Helper()
	return g.run(append([]string{"--armor", "--export"}, fingerprints...)...)
}

func (g gpg) sign(fingerprint string, options ...string) []byte {
	g.t.Helper()
	path := g.write("document", document)
	args := append([]string{"--yes", "--local-user", fingerprint, "--output", path + ".sig"}, options...)
	g.run(append(args, path)...)
	signature, err := os.ReadFile(path + ".sig")
	if err != nil {
		g.t.Fatal(err)
	}
	return signature
}

func TestGPGVerifiesOurSignature(t *testing.T) {
	g := newGPG(t)
	key := fixedKey(t)
	g.run("--import", g.write("key.asc", []byte(key.PublicKey().ASCIIArmor)))
	signature, err := key.Sign(t.Context(), document)
	if err != nil {
		t.Fatal(err)
	}
	path, other := g.write("SHA256SUMS", document), g.write("other", append([]byte("x"), document...))
	sig := g.write("SHA256SUMS.sig", signature)
	if status := string(g.run("--status-fd", "1", "--verify", sig, path)); !strings.Contains(status, "VALIDSIG "+key.PublicKey().Fingerprint) {
		t.Errorf("gpg says %s", status)
	}
	if _, status, err := g.try("--verify", sig, other); err == nil {
		t.Errorf("gpg verifies another document: %s", status)
	}
}

func TestGPGKeysAndSignatures(t *testing.T) {
	g := newGPG(t)
	withSubkey := g.newKey("subkey@example.com", "ed25519", "cert", "0")
	g.run("--quick-add-key", withSubkey, "ed25519", "sign", "2y")
	g.run("--quick-add-key", withSubkey, "cv25519", "encr", "0")
	rsaSubkey := g.newKey("rsa-subkey@example.com", "ed25519", "cert", "0")
	g.run("--quick-add-key", rsaSubkey, "rsa2048", "sign", "0")
	for name, fingerprint := range map[string]string{
		"rsa3072":         g.newKey("rsa@example.com", "rsa3072", "default", "3y"),
		"ed25519":         g.newKey("ed@example.com", "ed25519", "sign", "0"),
		"nistp256":        g.newKey("nist@example.com", "nistp256", "sign", "0"),
		"signing subkey":  withSubkey,
		"RSA signing key": rsaSubkey,
	} {
		t.Run(name, func(t *testing.T) {
			g := gpg{t, g.home}
			keys, err := ParseKeyFile(g.export(fingerprint))
			if err != nil || len(keys) != 1 || keys[0].Fingerprint != fingerprint {
				t.Fatalf("%d keys, error %v; want %s", len(keys), err, fingerprint)
			}
			for _, options := range [][]string{
				{"--detach-sign"},
				{"--digest-algo", "SHA256", "--detach-sign"},
			} {
				signature := g.sign(fingerprint, options...)
				if by, err := Verify(keys, document, signature); err != nil || by != keys[0] {
					t.Errorf("%v: by %s, error %v", options, by.KeyID, err)
				}
				_, err = Verify(keys, append([]byte("x"), document...), signature)
				checkInvalid(t, err, ErrSignatureMismatch, "")
			}
			checkGPGAccepts(t, keys[0], g.sign(fingerprint, "--detach-sign"))
		})
	}
}

// checkGPGAccepts tries our form of a key in a gpg that knows no other.
func checkGPGAccepts(t *testing.T, key PublicKey, signature []byte) {
	t.Helper()
	g := newGPG(t)
	g.run("--import", g.write("key.asc", []byte(key.ASCIIArmor)))
	g.run("--verify", g.write("document.sig", signature), g.write("document", document))
}

func TestGPGSignaturesRejected(t *testing.T) {
	g := newGPG(t)
	fingerprint := g.newKey("widget@example.com", "ed25519", "sign", "0")
	rsa := g.newKey("rsa@example.com", "rsa2048", "sign", "0")
	keys, err := ParseKeyFile(g.export(fingerprint, rsa))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options []string
		want    error
		says    string
	}{
		"armored":    {[]string{"--armor", "--detach-sign"}, ErrSignatureForm, "without --armor"},
		"clear text": {[]string{"--clear-sign"}, ErrSignatureForm, "gpg --detach-sign"},
		"attached":   {[]string{"--sign"}, ErrSignatureForm, "gpg --detach-sign"},
		"text mode":  {[]string{"--textmode", "--detach-sign"}, ErrSignatureForm, "--textmode"},
		"two keys":   {[]string{"--local-user", fingerprint, "--detach-sign"}, ErrSignatureForm, "more than one signature"},
		"SHA-1":      {[]string{"--digest-algo", "SHA1", "--detach-sign"}, ErrWeakHash, "SHA-1"},
		"RIPEMD-160": {[]string{"--digest-algo", "RIPEMD160", "--detach-sign"}, ErrWeakHash, "RIPEMD-160"},
		"SHA-224":    {[]string{"--digest-algo", "SHA224", "--detach-sign"}, ErrWeakHash, "SHA-224"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Verify(keys, document, gpg{t, g.home}.sign(rsa, test.options...))
			checkInvalid(t, err, test.want, test.says)
		})
	}
	t.Run("unknown issuer", func(t *testing.T) {
		_, err := Verify(keys[:1], document, gpg{t, g.home}.sign(rsa, "--detach-sign"))
		var unknown *UnknownIssuerError
		if !errors.As(err, &unknown) || !strings.HasSuffix(rsa, unknown.KeyID) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestGPGKeysRejected(t *testing.T) {
	g := newGPG(t)
	good := g.newKey("good@example.com", "ed25519", "sign", "0")
	expired := g.newKey("expired@example.com", "ed25519", "sign", "1y", "--faked-system-time", "20200101T000000")
	certify := g.newKey("certify@example.com", "ed25519", "cert", "0")
	short := g.newKey("short@example.com", "rsa1024", "sign", "0")
	revoked := g.newKey("revoked@example.com", "ed25519", "sign", "0")
	g.run("--import", g.revocation(revoked))
	critical := g.newKey("critical@example.com", "rsa2048", "sign", "0", "--cert-policy-url", "!https://example.com/policy")
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"private": {g.run("--armor", "--export-secret-keys", good), "consider the key exposed"},
		"binary":  {g.run("--export", good), "not armored but binary"},
		"expired": {g.export(expired), "expired on 2020-12-31"},
		"certify": {g.export(certify), "cannot sign"},
		"short":   {g.export(short), "fewer than 2048"},
		"revoked": {g.export(revoked), "is revoked"},
		"policy":  {g.export(critical), "marks a subpacket of type 26, such as a notation or a policy, as critical"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseKeyFile(test.file)
			checkViolations(t, err, test.want)
		})
	}
	t.Run("extended again", func(t *testing.T) {
		g := gpg{t, g.home}
		g.run("--quick-set-expire", expired, "2y")
		key, err := ParseKeyFile(g.export(expired))
		if err != nil || time.Until(key[0].Expires) < 24*time.Hour || time.Since(key[0].SelfSigned) > time.Hour {
			t.Errorf("keys %+v, error %v", key, err)
		}
	})
	t.Run("all together", func(t *testing.T) {
		_, err := ParseKeyFile(gpg{t, g.home}.export(good, certify, short, revoked))
		checkViolations(t, err, "", "", "")
	})
}

// revocation returns the path of the revocation that gpg prepared with the key,
// made ready for use as its text asks: without the colon.
func (g gpg) revocation(fingerprint string) string {
	g.t.Helper()
	return g.write("revocation.asc", bytes.Replace(g.prepared(fingerprint), []byte(":-----BEGIN"), []byte("-----BEGIN"), 1))
}

// prepared is the file itself.
func (g gpg) prepared(fingerprint string) []byte {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.home, "openpgp-revocs.d", fingerprint+".rev"))
	if err != nil {
		g.t.Fatal(err)
	}
	return data
}

// What GnuPG writes when its user asks for more than a signature, and what of it
// can be served.
func TestGPGSignaturesWithOptions(t *testing.T) {
	g := newGPG(t)
	fingerprint := g.newKey("widget@example.com", "rsa2048", "sign", "0")
	keys, err := ParseKeyFile(g.export(fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options []string
		want    error // nil: it can be served
		says    string
	}{
		"none":               {nil, nil, ""},
		"a sender":           {[]string{"--sender", "widget@example.com"}, nil, ""},
		"a notation":         {[]string{"--sig-notation", "release@example.com=1"}, nil, ""},
		"a policy":           {[]string{"--sig-policy-url", "https://example.com/policy"}, nil, ""},
		"a key server":       {[]string{"--sig-keyserver-url", "https://example.com/keys"}, nil, ""},
		"no lifetime":        {[]string{"--default-sig-expire", "0"}, nil, ""},
		"a lifetime":         {[]string{"--default-sig-expire", "1y"}, ErrSignatureLifetime, "gpg --default-sig-expire 0"},
		"a critical note":    {[]string{"--sig-notation", "!release@example.com=1"}, ErrSignatureForm, "as critical"},
		"a critical policy":  {[]string{"--sig-policy-url", "!https://example.com/policy"}, ErrSignatureForm, "as critical"},
		"the key in a block": {[]string{"--include-key-block"}, ErrSignatureForm, "type 38"},
	} {
		t.Run(name, func(t *testing.T) {
			signature := gpg{t, g.home}.sign(fingerprint, append(test.options, "--detach-sign")...)
			if _, err := Verify(keys, document, signature); err != nil && name != "a critical note" {
				t.Errorf("it does not verify today: %v", err)
			}
			_, err := InspectSignature(signature)
			if test.want == nil && err != nil {
				t.Error(err)
			}
			if test.want != nil {
				checkInvalid(t, err, test.want, test.says)
			}
		})
	}
}

// A revocation comes as the key that is revoked, or alone, as gpg --gen-revoke
// and the file that GnuPG makes with each key have it.
func TestGPGRevocations(t *testing.T) {
	g := newGPG(t)
	fingerprint := g.newKey("widget@example.com", "ed25519", "sign", "0")
	keys, err := ParseKeyFile(g.export(fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadKeyFile(g.prepared(fingerprint))
	checkViolations(t, err, "begins with a colon, with which GnuPG keeps a revocation certificate from being used by mistake: remove the colon before -----BEGIN")
	prepared, err := os.ReadFile(g.revocation(fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	var file KeyFile
	for name, data := range map[string][]byte{
		"as it lies there, without the colon": prepared,
		"alone":                               prepared[bytes.Index(prepared, []byte("-----BEGIN")):],
		"with text after it":                  append(bytes.Clone(prepared), "the end\n"...),
	} {
		file, err = ReadKeyFile(data)
		if err != nil || len(file.Keys) > 0 || len(file.Revocations) != 1 || file.Revocations[0].KeyID != keys[0].KeyID {
			t.Fatalf("the certificate, %s, reads as %+v, error %v", name, file, err)
		}
	}
	for name, data := range map[string][]byte{
		"a key":               append(bytes.Clone(prepared), g.export(fingerprint)...),
		"a damaged key after": append(bytes.Clone(prepared), g.export(fingerprint)[1:]...),
		"what was a block":    append([]byte("-----BEGN PGP PUBLIC KEY BLOCK-----\n"), prepared...),
	} {
		if _, err := ReadKeyFile(data); !strings.Contains(fmt.Sprint(err), "is not part of an armored key: remove all text around the blocks") {
			t.Errorf("a certificate and text, and %s: %v", name, err)
		}
	}
	revoked, err := file.Revocations[0].Revoke(keys[0])
	if err != nil || revoked.Fingerprint != fingerprint || revoked.Revoked.IsZero() {
		t.Errorf("the revoked key is %+v, error %v", revoked, err)
	}
	g.run("--import", g.revocation(fingerprint))
	exported, err := ReadKeyFile(g.export(fingerprint))
	if err != nil || len(exported.Keys) != 1 || exported.Keys[0] != revoked {
		t.Errorf("the key that is exported then reads as %+v, error %v; want %+v", exported, err, revoked)
	}
}
