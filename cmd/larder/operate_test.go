package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	operationsFile = "../../docs/operations.md"
	singleNodeFile = "../../docs/single-node.md"
)

// operationsBlock is a block of docs/operations.md.
func operationsBlock(t *testing.T, name string) string { return docsBlock(t, operationsFile, name) }

// docsBlock is the block of shell lines in a document that is marked for test with
// this name.
func docsBlock(t *testing.T, file, name string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- test: "+name+" -->\n```sh\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block that is marked %s", file, name)
	}
	return block
}

// versions is what the registry lists of the provider or the module.
type versions struct {
	Versions []struct{ Version string }
	Warnings []string
	Modules  []versions
	Errors   []string
}

func (n *node) list(t *testing.T, path string) (listed []string, warnings []string) {
	t.Helper()
	var answer versions
	n.get(t, path+"/versions", &answer)
	all := append(slices.Clone(answer.Modules), answer)
	for _, of := range all {
		for _, v := range of.Versions {
			listed = append(listed, v.Version)
		}
	}
	return listed, answer.Warnings
}

const (
	widgetPath  = "/v1/providers/acme/widget"
	networkPath = "/v1/modules/acme/network/aws"
)

func TestDeprecateWithdrawRestore(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t)
	n.publish(t)
	n.must(t, operationsBlock(t, "standing"), "provider acme/widget 1.0.0 is deprecated\n"+
		"module acme/network/aws 1.2.3 is withdrawn\nmodule acme/network/aws 1.2.3 is restored\n")
	listed, warnings := n.list(t, widgetPath)
	if len(listed) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "It leaks memory") || !strings.Contains(warnings[0], "1.0.0") {
		t.Errorf("deprecated, and listed are %q with the warnings %q", listed, warnings)
	}
	n.must(t, `larder deprecate acme/widget 1.0.0 --message "It leaks memory: use 1.0.1"`, "provider acme/widget 1.0.0 was deprecated already\n")

	n.must(t, "larder withdraw acme/network/aws 1.2.3", "module acme/network/aws 1.2.3 is withdrawn\n")
	if listed, _ := n.list(t, networkPath); len(listed) > 0 {
		t.Errorf("withdrawn, and listed are %q", listed)
	}
	n.mustFail(t, "larder deprecate acme/network/aws 1.2.3 --message no", "restore it first")
	n.must(t, "larder withdraw ACME/network/aws 1.2.3", "module acme/network/aws 1.2.3 was withdrawn already\n")
	n.must(t, operationsBlock(t, "list"), `KIND      ADDRESS           VERSION  STANDING    PLATFORMS    MESSAGE
module    acme/network/aws  1.2.3    withdrawn   -            -
provider  acme/widget       1.0.0    deprecated  linux_amd64  It leaks memory: use 1.0.1
`, "no upload is rejected, pending or ignored\n")
	n.must(t, "larder uploads --status pending", "there is no such upload\n")
	n.must(t, "larder uploads modules/nobody/", "there is no such upload\n")
	n.must(t, "larder uploads --status all --json", `"status": "published"`, `"key": "modules/acme/network/aws/1.2.3.`)
	n.must(t, "larder verify --quick --json", "{\n  \"versions\": 2,\n  \"uploads\": 2,\n  \"findings\": [],\n  \"notes\": []\n}\n")
	n.must(t, "larder restore acme/network/aws 1.2.3", "is restored\n")
	if listed, _ := n.list(t, networkPath); len(listed) != 1 {
		t.Errorf("restored, and listed are %q", listed)
	}
	n.must(t, "larder restore acme/network/aws 1.2.3", "was neither deprecated nor withdrawn\n")
	n.mustFail(t, "larder withdraw acme/widget 2.0.0", "there is no provider acme/widget 2.0.0")

	n.stop()
	n.mustFail(t, "larder restore acme/widget 1.0.0", "/.larder: start it")
	n.start(t)
	n.must(t, `LARDER_DATA="$PWD/.larder" larder restore acme/widget 1.0.0 && larder restore --data .larder acme/widget 1.0.0`, "is restored\n")
	if _, warnings := n.list(t, widgetPath); len(warnings) > 0 {
		t.Errorf("restored, with the warnings %q", warnings)
	}
}

// keys is what larder keys says as JSON, by role.
func (n *node) keys(t *testing.T) map[control.Role][]control.Key {
	t.Helper()
	var document struct{ Keys []control.Key }
	if err := json.Unmarshal([]byte(n.must(t, "larder keys --json")), &document); err != nil {
		t.Fatal(err)
	}
	byRole := map[control.Role][]control.Key{}
	for _, key := range document.Keys {
		byRole[key.Role] = append(byRole[key.Role], key)
	}
	return byRole
}

// signedBy is the key that a client is given with the provider's package.
func (n *node) signedBy(t *testing.T) string {
	t.Helper()
	var document struct {
		SigningKeys struct {
			GPGPublicKeys []struct {
				KeyID string `json:"key_id"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	n.get(t, widgetPath+"/1.0.0/download/linux/amd64", &document)
	return document.SigningKeys.GPGPublicKeys[0].KeyID
}

func TestUploadersAndAccessKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t)
	n.must(t, docsBlock(t, singleNodeFile, "uploaders"), "AWS_ACCESS_KEY_ID=LARDER", "LARDER_BUCKET=larder\nNAME ", "acme-ci", "of the uploader acme-ci is revoked")
	n.must(t, docsBlock(t, singleNodeFile, "rotate-access")+"echo \"the new one is $AWS_ACCESS_KEY_ID\"", "the operator's access key is LARDER", "the new one is LARDER")
	n.mustFail(t, "larder uploader revoke acme-ci", `there is no uploader "acme-ci"`)
}

func TestChangeTheSigningKey(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t)
	n.publish(t)
	first := n.keys(t)
	if len(first[control.Current]) != 1 || n.signedBy(t) != first[control.Current][0].KeyID {
		t.Fatalf("the keys are %+v, and it is signed by %s", first, n.signedBy(t))
	}
	n.must(t, "larder keys rotate", "signs with the key")
	if n.signedBy(t) != first[control.Current][0].KeyID {
		t.Error("a rotation has changed what is published")
	}
	n.must(t, operationsBlock(t, "keys"), "KEY ID", "signs with the key", "2 versions: 1 signed anew")
	now := n.keys(t)
	if len(now[control.Current]) != 1 || len(now[control.Replaced]) != 2 {
		t.Fatalf("the keys are %+v", now)
	}
	current := now[control.Current][0]
	if !slices.Equal(current.Versions, []string{"acme/widget 1.0.0"}) || current.Fingerprint == "" || n.signedBy(t) != current.KeyID {
		t.Errorf("signed by %s, and the current key is %+v", n.signedBy(t), current)
	}
	n.must(t, "larder keys --versions", current.KeyID+" signed acme/widget 1.0.0\n", "replaced  -      0\n")
	n.must(t, "larder keys resign", "2 versions: 0 signed anew\n")
	n.must(t, "larder verify", "nothing is wrong")
	n.mustFail(t, "larder keys distrust ABC", `"ABC" is not the fingerprint of a key`)
	n.mustFail(t, "larder keys distrust "+strings.Repeat("0", 40), "no namespace has a key with the fingerprint 0000")
	n.mustFail(t, "larder keys distrust "+current.Fingerprint, "is a key of the registry's own")
	n.mustFail(t, "larder keys distrust "+now[control.Replaced][0].Fingerprint, "is a key of the registry's own")
}

func TestVerifyAndReindex(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and in a process of its own: the race detector sees the same node in internal/serve")
	}
	t.Parallel()
	n := newNode(t)
	n.publish(t)
	n.must(t, operationsBlock(t, "verify"), "2 versions, 2 uploads: nothing is wrong\n")

	mend := n.damagePackage(t)
	n.must(t, "larder verify --quick", "nothing is wrong\n")
	n.mustFail(t, "larder verify", "provider acme/widget 1.0.0: Its archive", "sha256", "not all is well", "1 problem: see above")
	mend()

	n.stop()
	n.damageCatalog(t)
	n.start(t)
	if _, warnings := n.list(t, widgetPath); len(warnings) == 0 {
		t.Fatal("the catalog is not damaged")
	}
	n.mustFail(t, "larder verify --quick", "provider acme/widget 1.0.0: ", "see above")
	n.must(t, operationsBlock(t, "reindex"), "2 versions: 1 written or removed\n")
	n.must(t, "larder verify", "nothing is wrong\n")
	if _, warnings := n.list(t, widgetPath); len(warnings) > 0 {
		t.Errorf("rebuilt, it warns %q", warnings)
	}
	n.must(t, "larder reindex", ": 0 written or removed\n")

	if err := os.RemoveAll(filepath.Join(n.dir, ".larder", "s3", "objects", "larder", "registry", "contents")); err != nil {
		t.Fatal(err)
	}
	n.must(t, "larder verify", "note: module acme/network/aws 1.2.3: Its documentation was not read yet", "nothing is wrong, but see the notes")
	n.must(t, operationsBlock(t, "contents"), "2 versions: 0 written or removed, 1 archive read\n")
	n.must(t, "larder reindex --contents --again", "2 versions: all archives read again, documentation of 0 changed\n")
	n.must(t, "larder verify", "2 uploads: nothing is wrong\n")
}

// damagePackage changes a byte of the provider's package, where it is stored.
func (n *node) damagePackage(t *testing.T) (mend func()) {
	t.Helper()
	var path string
	root := filepath.Join(n.dir, ".larder", "s3", "objects", "larder", "registry", "providers")
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".zip") && d.Type().IsRegular() {
			path = p
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(data)
	damaged[len(damaged)/2] ^= 1
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil { // in place, with its attributes
			t.Fatal(err)
		}
	}
	write(damaged)
	return func() { write(data) }
}

// damageCatalog deprecates the provider in the catalog, without a record of it.
func (n *node) damageCatalog(t *testing.T) {
	t.Helper()
	index, err := boltcatalog.Open(filepath.Join(n.dir, ".larder", "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	version, err := registry.ParseVersion("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	state, err := catalogtest.ProviderVersion(t.Context(), index, registry.ProviderAddress{Namespace: "acme", Type: "widget"}, version)
	if err != nil {
		t.Fatal(err)
	}
	state.Standing = registry.Standing{State: registry.Deprecated, Message: "nobody said so"}
	seen := catalog.Seen{State: state.Revision, Listed: state.Revision}
	if err := catalogtest.Replace(t.Context(), index, state, seen); err != nil {
		t.Fatal(err)
	}
}
