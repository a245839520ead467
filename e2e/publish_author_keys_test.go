package e2e

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/semver"
)

// Every client installs releases that are signed by each accepted kind of key, except that Terraform before 1.6 cannot
// read Ed25519.
func TestKeysThatClientsRead(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	for _, algorithm := range []string{"rsa3072", "nistp256", "ed25519"} {
		ada := newAuthorWith(t, algorithm, "never")
		namespace := "signed-" + algorithm
		publishSigned(t, r, ada, namespace)
		t.Run(algorithm, func(t *testing.T) {
			forEachClient(t, func(t *testing.T, c client) {
				out, err := initWidget(t, c, r, namespace, nil)
				if algorithm == "ed25519" && c.product == "Terraform" && semver.Compare("v"+c.version, "v1.6.0") < 0 {
					checkFailsWith(t, out, err, "public key type: 22")
					return
				}
				checkInstalled(t, out, err, ada)
			})
		})
	}
}

// Clients still install releases of a key that has expired: Terraform says nothing, OpenTofu warns, and OpenTofu
// refuses only where it is set to enforce expiry.
func TestKeyThatExpiresAfterwards(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthorWith(t, "rsa3072", "seconds=45") // to publish in, which takes a second or two
	const namespace = "expired"
	publishSigned(t, r, ada, namespace)
	expiry := ada.expiry(t).Add(2 * time.Second) // the clients count whole seconds
	eventually(t, func() error {
		if time.Now().Before(expiry) {
			return fmt.Errorf("the key expires at %v", expiry)
		}
		return nil
	})

	const warning = "gpg key expired"
	forEachClient(t, func(t *testing.T, c client) {
		out, err := initWidget(t, c, r, namespace, nil)
		checkInstalled(t, out, err, ada)
		if warns := strings.Contains(out, warning); warns != (c.product == "OpenTofu") {
			t.Errorf("it warns: %v\n%s", warns, out)
		}
		out, err = initWidget(t, c, r, namespace, map[string]string{"OPENTOFU_ENFORCE_GPG_EXPIRATION": "true"})
		if c.product == "OpenTofu" {
			checkFailsWith(t, out, err, "Failed to install provider")
		} else {
			checkInstalled(t, out, err, ada)
		}
	})
}

// publishSigned publishes version 1.0.0 of namespace/widget for this machine, signed by a, and a's key.
func publishSigned(t testing.TB, r *registry, a author, namespace string) {
	t.Helper()
	release := signedRelease(t, a, namespace, "1.0.0")
	maps.Copy(release.packages, map[string][]byte{
		release.sumsKey:                  release.sums,
		release.sigKey:                   release.sig,
		"keys/" + namespace + "/ada.asc": a.publicKey(t),
	})
	r.publishAll(t, release.packages)
}

// signedRelease is a version of namespace/widget for this machine, signed by a.
func signedRelease(t testing.TB, a author, namespace, version string, settings ...string) release {
	t.Helper()
	stem := "providers/" + namespace + "/widget/terraform-provider-widget_" + version + "_"
	platform := runtime.GOOS + "_" + runtime.GOARCH
	made := release{
		packages: map[string][]byte{stem + platform + ".zip": providerZip(t, "widget", version, platform)},
		sumsKey:  stem + "SHA256SUMS",
		sigKey:   stem + "SHA256SUMS.sig",
	}
	made.sums = sumsOf(made.packages)
	made.sig = a.sign(t, made.sums, settings...)
	return made
}

// initWidget runs init with one client over namespace/widget, in an environment with more settings. It returns all
// that the client wrote.
func initWidget(t testing.TB, c client, r *registry, namespace string, settings map[string]string) (string, error) {
	t.Helper()
	const main = "terraform {\n  required_providers {\n    widget = { source = \"HOST/%s/widget\" }\n  }\n}\n"
	w := c.workspace(t, r, fmt.Sprintf(main, namespace))
	maps.Copy(w.env, settings)
	out, err := w.command("init", "-input=false").run()
	if err != nil {
		return err.Error(), err
	}
	return out, nil
}

// checkInstalled wants a client to have installed and named the author's key.
func checkInstalled(t testing.TB, out string, err error, a author) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	checkSays(t, out, "signed, key ID "+a.keyID(t))
}

// checkFailsWith wants a client to have failed, with these words.
func checkFailsWith(t testing.TB, out string, err error, words string) {
	t.Helper()
	if err == nil {
		t.Errorf("it did not fail:\n%s", out)
	}
	checkSays(t, out, words)
}

// expiry is when the author's key expires.
func (a author) expiry(t testing.TB) time.Time {
	t.Helper()
	listing := a.gpg(t, "--with-colons", "--list-keys")
	for line := range strings.Lines(listing) {
		if fields := strings.Split(line, ":"); fields[0] == "pub" {
			seconds, err := strconv.ParseInt(fields[6], 10, 64)
			if err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			return time.Unix(seconds, 0)
		}
	}
	t.Fatalf("no key in %s", listing)
	return time.Time{}
}
