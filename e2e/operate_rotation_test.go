package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
)

// rotating is a registry of the test's own, whose signing key can be replaced as operators do it.
type rotating struct {
	*registry
	rotate func(t testing.TB)
	again  func(t testing.TB) // starts its process anew, where it has one that stays
}

func startRotating(t testing.TB) rotating {
	t.Helper()
	if door == singleNode {
		n := startNode(t)
		return rotating{
			registry: n.registry,
			rotate:   func(t testing.TB) { checkSays(t, n.operate(t, "keys", "rotate"), "from now on") },
			again:    func(t testing.TB) { n.stop(t); n.resume(t) },
		}
	}
	s := startStack(t)
	return rotating{
		registry: s.registry,
		rotate:   func(t testing.TB) { s.SignWith(t, s.newKey(t)) },
		again:    func(testing.TB) {},
	}
}

// newKey makes another signing key by the lines of docs/operations.md, and returns its ARN.
func (s *stack) newKey(t testing.TB) string {
	t.Helper()
	script := strings.ReplaceAll(docBlock(t, "../docs/operations.md", "new-key"), "example-registry", s.Bucket)
	out := command{dir: t.TempDir(), env: s.operator, argv: []string{"sh", "-euc", script}}.must(t)
	arn := strings.TrimSpace(out)
	if !strings.HasPrefix(arn, "arn:aws:kms:") {
		t.Fatalf("the new key is %q", out)
	}
	return arn
}

// widgets is how many versions the registry signs with its first key.
const widgets = 8

func widgetVersion(n int) string { return fmt.Sprintf("acme/widget/1.%d.0", n) }

// publishWidget publishes version 1.n.0 of acme/widget.
func (r *registry) publishWidget(t testing.TB, n int) {
	t.Helper()
	version := fmt.Sprintf("1.%d.0", n)
	key := "providers/acme/widget/terraform-provider-widget_" + version + "_" + hostPlatform + ".zip"
	r.publish(t, key, providerZip(t, "widget", version, "rotation"))
}

// The registry's signing key is replaced while everybody goes on downloading. Old signatures stay, the new key signs
// new versions, and then it signs all versions. No lock file changes.
func TestSigningKeyIsReplaced(t *testing.T) {
	t.Parallel()
	r := startRotating(t)
	ada := newAuthor(t)
	for n := range widgets {
		r.publishWidget(t, n)
	}
	authors := newRelease(t, ada, "ada")
	r.publish(t, "keys/ada/release.asc", ada.publicKey(t))
	r.publishAll(t, authors.packages)
	sums, sig := r.put(t, authors.sumsKey, authors.sums), r.put(t, authors.sigKey, authors.sig)
	r.expect(t, sums, published)
	r.expect(t, sig, published)
	first, byAda := r.keyOf(t, widgetVersion(0)), r.signed(t, "ada/widget/1.0.0")
	workspaces := map[client]workspace{}
	for _, c := range clients {
		workspaces[c] = c.workspace(t, r.registry, widgetConfig("1.0.0"))
		checkSays(t, workspaces[c].run(t, "init", "-input=false"), "key ID "+first)
	}

	r.rotate(t)
	r.publishWidget(t, widgets)
	second := r.keyOf(t, widgetVersion(widgets))
	if second == first || r.keyOf(t, widgetVersion(0)) != first {
		t.Fatalf("signed by %s before, and %s after; what was signed before is by %s now", first, second, r.keyOf(t, widgetVersion(0)))
	}
	r.checkKeys(t, map[string]key{
		first: {"replaced", widgets}, second: {"current", 1}, byAda.key: {"author", 1},
	})
	forEachClient(t, func(t *testing.T, c client) {
		for version, id := range map[string]string{"1.0.0": first, fmt.Sprintf("1.%d.0", widgets): second} {
			checkSays(t, c.workspace(t, r.registry, widgetConfig(version)).run(t, "init", "-input=false"), "key ID "+id)
		}
	})

	const late = "providers/acme/widget/terraform-provider-widget_1.7.0_plan9_386.zip"
	r.whileInstalling(t, func() {
		added := r.put(t, late, providerZip(t, "widget", "1.7.0", "late")) // and published in the same second
		checkSays(t, r.operate(t, "keys", "resign"), "signed anew")
		r.expect(t, added, published)
	})
	r.checkKeys(t, map[string]key{first: {"replaced", 0}, second: {"current", widgets + 1}, byAda.key: {"author", 1}})
	for n := range widgets + 1 {
		if id := r.keyOf(t, widgetVersion(n)); id != second {
			t.Errorf("%s is signed by %s, want %s", widgetVersion(n), id, second)
		}
	}
	if now := r.signed(t, "ada/widget/1.0.0"); !now.equal(byAda) {
		t.Error("the author's is signed otherwise than before")
	}
	verifyWithGnuPG(t, r.registry, r.packageDocument(t, widgetVersion(0), hostPath))
	if sums := shaSums(t, r.registry, r.packageDocument(t, "acme/widget/1.7.0", "plan9/386")); len(sums) != 2 {
		t.Errorf("with a package that was added meanwhile, SHA256SUMS has %v", sums)
	}
	forEachClient(t, func(t *testing.T, c client) {
		w := workspaces[c]
		removeAll(t, filepath.Join(w.dir, ".terraform"))
		checkSays(t, w.run(t, "init", "-input=false", "-lockfile=readonly"), "key ID "+second)
	})
	checkSays(t, r.operate(t, "keys", "resign"), "0 signed anew")

	r.again(t)
	r.publishWidget(t, widgets+1)
	if id := r.keyOf(t, widgetVersion(widgets+1)); id != second {
		t.Errorf("after a start it is signed by %s, want %s", id, second)
	}
}

// hostPath is hostPlatform in paths.
var hostPath = strings.Replace(hostPlatform, "_", "/", 1)

func widgetConfig(version string) string {
	return "terraform {\n  required_providers {\n    widget = {\n      source  = \"HOST/acme/widget\"\n      version = \"" + version + "\"\n    }\n  }\n}\n"
}

// signature is who signed a provider version, and how.
type signature struct {
	key       string
	sums, sig []byte
}

func (s signature) equal(o signature) bool {
	return s.key == o.key && bytes.Equal(s.sums, o.sums) && bytes.Equal(s.sig, o.sig)
}

// keyOf is the ID of the key that signed a version: namespace/type/version.
func (r *registry) keyOf(t testing.TB, version string) string {
	t.Helper()
	return r.packageDocument(t, version, hostPath).SigningKeys.GPGPublicKeys[0].KeyID
}

// signed is how a version for linux/amd64 is signed.
func (r *registry) signed(t testing.TB, version string) signature {
	t.Helper()
	doc := r.packageDocument(t, version, "linux/amd64")
	return signature{doc.SigningKeys.GPGPublicKeys[0].KeyID, r.fetch(t, doc.SHASumsURL).body, r.fetch(t, doc.SHASumsSignatureURL).body}
}

// key is what `larder keys` says of a key.
type key struct {
	role     string
	versions int
}

// checkKeys wants these keys, by their IDs, and no others.
func (r *registry) checkKeys(t testing.TB, want map[string]key) {
	t.Helper()
	var listed struct {
		Keys []struct {
			KeyID    string `json:"key_id"`
			Role     string
			Versions []string
		}
	}
	if err := json.Unmarshal([]byte(r.operate(t, "keys", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	got := map[string]key{}
	for _, k := range listed.Keys {
		got[k.KeyID] = key{k.Role, len(k.Versions)}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the keys are %v, want %v", got, want)
	}
}

// whileInstalling does something while all widgets are downloaded again and again and every client installs. All of
// that must succeed.
func (r *registry) whileInstalling(t testing.TB, do func()) {
	t.Helper()
	var workspaces []workspace
	for _, c := range clients {
		workspaces = append(workspaces, c.workspace(t, r, widgetConfig("1.1.0")))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	downloads := repeat(ctx, t, func() (err error) {
		for n := range widgets {
			err = errors.Join(err, r.download(widgetVersion(n)))
		}
		return err
	})
	installs := repeat(ctx, t, func() (err error) {
		for _, w := range workspaces {
			_, failed := w.command("init", "-input=false").run()
			err = errors.Join(err, failed, os.RemoveAll(filepath.Join(w.dir, ".terraform")))
		}
		return err
	})
	downloads.await(t)
	installs.await(t)
	do()
	downloads.await(t)
	installs.await(t)
	stop()
	<-downloads.ended
	<-installs.ended
}

// loop is something that is done again and again.
type loop struct {
	rounds atomic.Int64
	ended  chan struct{}
}

// repeat does something until ctx ends. Each error fails the test.
func repeat(ctx context.Context, t testing.TB, do func() error) *loop {
	l := &loop{ended: make(chan struct{})}
	t.Cleanup(func() { <-l.ended })
	go func() {
		defer close(l.ended)
		for ; ctx.Err() == nil; l.rounds.Add(1) {
			if err := do(); err != nil {
				t.Error(err)
			}
		}
	}()
	return l
}

// await waits until a round has begun and ended.
func (l *loop) await(t testing.TB) {
	t.Helper()
	begun := l.rounds.Load()
	eventually(t, func() error {
		if l.rounds.Load() < begun+2 { // one may have been under way
			return errors.New("a round does not end")
		}
		return nil
	})
}

// download does what a client does to install a version.
func (r *registry) download(version string) error {
	body, err := r.get("https://" + r.host + "/v1/providers/" + version + "/download/" + hostPath)
	if err != nil {
		return err
	}
	var doc packageDocument
	if err := json.Unmarshal(body, &doc); err != nil {
		return err
	}
	sums, errSums := r.get(doc.SHASumsURL)
	signature, errSignature := r.get(doc.SHASumsSignatureURL)
	archive, errArchive := r.get(doc.DownloadURL)
	if err := errors.Join(errSums, errSignature, errArchive); err != nil {
		return err
	}
	keys, err := openpgp.ReadArmoredKeyRing(strings.NewReader(doc.SigningKeys.GPGPublicKeys[0].ASCIIArmor))
	if err != nil {
		return err
	}
	if _, err := openpgp.CheckDetachedSignature(keys, bytes.NewReader(sums), bytes.NewReader(signature), nil); err != nil {
		return fmt.Errorf("%s: the signature by %s: %w", version, doc.SigningKeys.GPGPublicKeys[0].KeyID, err)
	}
	if !slices.Contains(strings.Fields(string(sums)), shaOf(answer{body: archive})) {
		return fmt.Errorf("%s: its SHA256SUMS does not have what is downloaded:\n%s", version, sums)
	}
	return nil
}

// get returns the body of an URL.
func (r *registry) get(url string) ([]byte, error) {
	resp, err := r.http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", resp.Request.URL.Path, resp.Status, body)
	}
	return body, err
}
