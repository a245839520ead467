package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A signature that expires is rejected. If it were served, every client would refuse the version after that day, and
// nobody could change that.
func TestSignatureWithALifetime(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthorWith(t, "rsa3072", "never")
	const namespace = "lifetime"
	r.publish(t, "keys/"+namespace+"/ada.asc", ada.publicKey(t))
	release := signedRelease(t, ada, namespace, "1.0.0", "--default-sig-expire", "seconds=3")
	ends := time.Now().Add(5 * time.Second)
	r.publishAll(t, release.packages)
	sums, sig := r.put(t, release.sumsKey, release.sums), r.put(t, release.sigKey, release.sig)
	tags := r.expect(t, sig, rejected)
	checkReason(t, tags, "lifetime")
	checkReason(t, tags, "gpg --default-sig-expire 0")
	r.expect(t, sums, pending)
	time.Sleep(time.Until(ends))
	forEachClient(t, func(t *testing.T, c client) {
		out, err := initWidget(t, c, r, namespace, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	r.expect(t, r.put(t, release.sigKey, ada.sign(t, release.sums, "--default-sig-expire", "0")), published)
	r.expect(t, sums, published)
	forEachClient(t, func(t *testing.T, c client) {
		out, err := initWidget(t, c, r, namespace, nil)
		checkInstalled(t, out, err, ada)
	})
}

// revocation is the certificate that GnuPG has made with the key, edited as its text asks.
func (a author) revocation(t testing.TB) []byte {
	t.Helper()
	file := readFile(t, filepath.Join(a.home, "openpgp-revocs.d", a.fingerprint(t)+".rev"))
	return file[bytes.Index(file, []byte("-----BEGIN")):]
}

// trust is what larder keys says of an author's key.
func (r *registry) trust(t testing.TB, fingerprint string) string {
	t.Helper()
	var listed struct {
		Keys []struct{ Fingerprint, Trust string }
	}
	if err := json.Unmarshal([]byte(r.operate(t, "keys", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	for _, k := range listed.Keys {
		if k.Fingerprint == fingerprint {
			return k.Trust
		}
	}
	return ""
}

// The trust in a key ends by its owner's revocation, or by an operator. Then nothing new is released with it, and
// clients still install what was released.
func TestKeysThatAreNotTrustedAnyMore(t *testing.T) {
	t.Parallel()
	r := startBreakable(t).registry
	for namespace, end := range map[string]func(a author){
		"certificate": func(a author) {
			checkReason(t, r.expect(t, r.put(t, "keys/certificate/revocation.asc", a.revocation(t)), published), "is revoked by its owner")
		},
		"revoked": func(a author) {
			writeFile(t, filepath.Join(a.home, "revocation.asc"), string(a.revocation(t)))
			a.gpg(t, "--import", "revocation.asc")
			r.publish(t, "keys/revoked/ada.asc", a.publicKey(t))
		},
		"distrusted": func(a author) {
			checkSays(t, r.operate(t, "keys", "distrust", a.fingerprint(t)), "is not trusted for new releases any more")
			checkSays(t, r.operate(t, "keys", "distrust", strings.ToLower(a.fingerprint(t))), "already")
		},
	} {
		ada := newAuthorWith(t, "rsa3072", "never")
		publishSigned(t, r, ada, namespace)
		key, late := ada.publicKey(t), signedRelease(t, ada, namespace, "1.1.0")
		if got := r.trust(t, ada.fingerprint(t)); got != "trusted" {
			t.Errorf("%s: the key is %q", namespace, got)
		}
		end(ada)
		want := "revoked"
		if namespace == "distrusted" {
			want = namespace
		}
		if got := r.trust(t, ada.fingerprint(t)); got != want {
			t.Errorf("%s: the key is %q", namespace, got)
		}
		checkReason(t, r.expect(t, r.put(t, "keys/"+namespace+"/again.asc", key), rejected), "sign with another key")
		r.publishAll(t, late.packages)
		r.expect(t, r.put(t, late.sumsKey, late.sums), pending)
		checkReason(t, r.expect(t, r.put(t, late.sigKey, late.sig), rejected), ada.fingerprint(t))
		if got := r.keyOf(t, namespace+"/widget/1.0.0"); got != ada.keyID(t) {
			t.Errorf("%s: 1.0.0 is signed by %s now", namespace, got)
		}
		if got := r.keyOf(t, namespace+"/widget/1.1.0"); got == ada.keyID(t) {
			t.Errorf("%s: 1.1.0 is signed by the key", namespace)
		}
		forEachClient(t, func(t *testing.T, c client) {
			const main = "terraform {\n  required_providers {\n    widget = {\n      source = \"HOST/NAMESPACE/widget\"\n      version = \"1.0.0\"\n    }\n  }\n}\n"
			w := c.workspace(t, r, strings.ReplaceAll(main, "NAMESPACE", namespace))
			checkSays(t, w.run(t, "init", "-input=false"), "signed, key ID "+ada.keyID(t))
		})
	}
	out := r.operate(t, "verify") // whose exit status is 0
	checkSays(t, out, "nothing is wrong, but see the notes above")
	var noted []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "note: provider "); ok {
			subject, _, _ := strings.Cut(rest, ": ")
			noted = append(noted, subject)
		}
	}
	slices.Sort(noted)
	if want := []string{"certificate/widget 1.0.0", "distrusted/widget 1.0.0", "revoked/widget 1.0.0"}; !slices.Equal(noted, want) {
		t.Errorf("noted are %q, want %q\n%s", noted, want, out)
	}
	out, err := r.operation("keys", "distrust", strings.Repeat("0", 40)).run()
	if err == nil {
		t.Fatalf("an unknown key is distrusted: %s", out)
	}
	checkSays(t, err.Error(), "no namespace has a key with the fingerprint")
}
