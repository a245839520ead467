package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/dynamotest"
	"go.etcd.io/bbolt"
)

// breakable is a registry of the test's own. The test changes its storage in ways for which nobody has the rights.
type breakable struct {
	*registry
	root map[string]string // the environment of whoever may do everything in the bucket

	// edit changes items of the catalog by their names: an item becomes a copy of another, or is removed.
	edit func(t testing.TB, changes map[string]string)
}

func startBreakable(t testing.TB) breakable {
	t.Helper()
	if door == singleNode {
		n := startNode(t)
		return breakable{n.registry, n.root(t), n.editCatalog}
	}
	s := startStack(t)
	return breakable{s.registry, s.vars, s.editCatalog} // its bucket's policy is not there
}

func (n *node) root(t testing.TB) map[string]string {
	t.Helper()
	var keys struct {
		Root struct{ AccessKeyID, SecretAccessKey string }
	}
	if err := json.Unmarshal(readFile(t, filepath.Join(n.data, "s3-credentials.json")), &keys); err != nil {
		t.Fatal(err)
	}
	vars := maps.Clone(n.vars)
	vars["AWS_ACCESS_KEY_ID"], vars["AWS_SECRET_ACCESS_KEY"] = keys.Root.AccessKeyID, keys.Root.SecretAccessKey
	return vars
}

// editCatalog edits the file while the node is stopped.
func (n *node) editCatalog(t testing.TB, changes map[string]string) {
	t.Helper()
	n.stop(t)
	db, err := bbolt.Open(filepath.Join(n.data, "catalog.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, items *bbolt.Bucket) error { return editBucket(items, changes) })
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	n.resume(t)
}

func editBucket(items *bbolt.Bucket, changes map[string]string) error {
	for name, from := range changes {
		var err error
		if from == "" {
			err = items.Delete([]byte(name))
		} else if value := items.Get([]byte(from)); value != nil {
			err = items.Put([]byte(name), bytes.Clone(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// editCatalog edits the table, whose keys are the two words of a name.
func (s *stack) editCatalog(t testing.TB, changes map[string]string) {
	t.Helper()
	client, table := dynamotest.Start(t).Client(), &s.Deployment.Table.Name
	key := func(name string) map[string]dynamotypes.AttributeValue {
		partition, item, _ := strings.Cut(name, " ")
		return map[string]dynamotypes.AttributeValue{
			"PK": &dynamotypes.AttributeValueMemberS{Value: partition}, "SK": &dynamotypes.AttributeValueMemberS{Value: item},
		}
	}
	for name, from := range changes {
		if from == "" {
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: table, Key: key(name)}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		other, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: table, Key: key(from)})
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(other.Item, key(name))
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: table, Item: other.Item}); err != nil {
			t.Fatal(err)
		}
	}
}

// asRoot is the bucket with all rights. The registry may have other addresses since it was started.
func (b breakable) asRoot(t testing.TB) *registry {
	t.Helper()
	r := &registry{}
	if err := r.connect(b.root); err != nil {
		t.Fatal(err)
	}
	return r
}

// under is the keys of the objects under a prefix.
func (r *registry) under(t testing.TB, prefix string) (keys []string) {
	t.Helper()
	out, err := r.s3.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &r.bucket, Prefix: &prefix})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range out.Contents {
		keys = append(keys, *object.Key)
	}
	return keys
}

// onlyKey is the only key under a prefix that ends so.
func (r *registry) onlyKey(t testing.TB, prefix, suffix string) string {
	t.Helper()
	keys := slices.DeleteFunc(r.under(t, prefix), func(key string) bool { return !strings.HasSuffix(key, suffix) })
	if len(keys) != 1 {
		t.Fatalf("under %s there are %v that end with %s, want one", prefix, keys, suffix)
	}
	return keys[0]
}

// overwrite changes an object without changing its size.
func (r *registry) overwrite(t testing.TB, key string) {
	t.Helper()
	object, err := r.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &r.bucket, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(object.Body)
	if err != nil {
		t.Fatal(err)
	}
	body[len(body)/2] ^= 1
	r.put(t, key, body)
}

func (r *registry) remove(t testing.TB, key string) {
	t.Helper()
	if _, err := r.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &r.bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
}

// undo takes back the last change of an object: it deletes the newest version or delete marker.
func (r *registry) undo(t testing.TB, key string) {
	t.Helper()
	out, err := r.s3.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: &r.bucket, Prefix: &key})
	if err != nil {
		t.Fatal(err)
	}
	var newest *string
	for _, version := range out.Versions {
		if aws.ToBool(version.IsLatest) {
			newest = version.VersionId
		}
	}
	for _, marker := range out.DeleteMarkers {
		if aws.ToBool(marker.IsLatest) {
			newest = marker.VersionId
		}
	}
	if _, err := r.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &r.bucket, Key: &key, VersionId: newest}); err != nil {
		t.Fatal(err)
	}
}

// difference is what `larder verify` says of something that is wrong.
type difference struct{ subject, words string }

// checkDifferences wants verify to name exactly these, and a failure if there is any.
func (r *registry) checkDifferences(t testing.TB, when string, want []difference, args ...string) {
	t.Helper()
	out, err := r.operation(append([]string{"verify"}, args...)...).run()
	if (err != nil) != (len(want) > 0) {
		t.Errorf("%s: %v\n%s", when, err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	ok := len(lines) == len(want)+1 // and what it came to
	for _, d := range want {
		if !slices.ContainsFunc(lines, func(line string) bool {
			return strings.HasPrefix(line, d.subject+": ") && strings.Contains(line, d.words)
		}) {
			ok = false
		}
	}
	if !ok {
		t.Errorf("%s: verify says\n%s\nwant\n%v", when, out, want)
	}
}

// verify finds no difference in a registry, names each difference that the test makes, and reindex mends the catalog
// from the records.
func TestVerifyAndReindex(t *testing.T) {
	t.Parallel()
	b := startBreakable(t)
	r, ada := b.registry, newAuthor(t)
	const widget = "providers/acme/widget/terraform-provider-widget_"
	for _, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"} {
		r.publish(t, "modules/acme/label/null/"+version+".tar.gz", tinyModule(t, "verify "+version))
	}
	for _, pkg := range []string{"1.0.0_linux_amd64", "1.0.0_darwin_arm64", "1.1.0_linux_amd64", "1.2.0_linux_amd64"} {
		r.publish(t, widget+pkg+".zip", providerZip(t, "widget", pkg[:len("1.0.0")], pkg))
	}
	release := newRelease(t, ada, "ada")
	r.publish(t, "keys/ada/release.asc", ada.publicKey(t))
	r.publishAll(t, release.packages)
	sums, sig := r.put(t, release.sumsKey, release.sums), r.put(t, release.sigKey, release.sig)
	r.expect(t, sums, published)
	r.expect(t, sig, published)
	r.expect(t, r.put(t, "modules/acme/label/null/1.0.0.zip", zipOf(t, entry{name: "main.tf"})), rejected)
	r.expect(t, r.put(t, "modules/acme/README.md", []byte("stray")), ignored)
	r.operate(t, "deprecate", "acme/label/null", "1.0.0", "--message", "Use 1.3.0")
	r.operate(t, "withdraw", "acme/widget", "1.1.0")
	r.checkDifferences(t, "at first", nil)
	checkSays(t, r.operate(t, "reindex"), "0 written")

	b.edit(t, map[string]string{
		"M#acme/label/null V#1.1.0": "M#acme/label/null V#1.3.0",
		"M#acme/label/null V#1.2.0": "",
	})
	inCatalog := []difference{
		{"module acme/label/null 1.1.0", "The catalog has something else of it than its records say."},
		{"module acme/label/null 1.2.0", "The catalog does not have it."},
		{"upload modules/acme/label/null/1.1.0.tar.gz", "what is published is something else"}, // as the catalog has it
	}
	r.checkDifferences(t, "with a damaged catalog", inCatalog)

	root := b.asRoot(t)
	archive := root.onlyKey(t, "registry/modules/acme/label/null/1.0.0/", ".tar.gz")
	pkg := root.onlyKey(t, "registry/providers/acme/widget/1.0.0/", "linux_amd64.zip")
	document := root.onlyKey(t, "registry/providers/acme/widget/1.1.0/", "SHA256SUMS")
	stray := root.onlyKey(t, "registry/records/modules/acme/label/null/1.4.0/", ".json")
	record := root.onlyKey(t, "registry/records/providers/acme/widget/1.2.0/", "00000001.json")
	root.overwrite(t, archive)
	root.overwrite(t, document)
	for _, key := range []string{pkg, stray, record} {
		root.remove(t, key)
	}
	inBucket := []difference{
		{"module acme/label/null 1.0.0", "Its archive " + archive + " has sha256 "},
		{"provider acme/widget 1.0.0", "Its archive " + pkg + " is not there."},
		{"provider acme/widget 1.1.0", document + " has sha256 "},
		{"provider acme/widget 1.2.0", "record 1 of 2 is missing"},
	}
	withoutRecords := difference{"module acme/label/null 1.4.0", "The catalog has it, and there are no records of it."}
	r.checkDifferences(t, "with a damaged bucket, too", slices.Concat(inCatalog, inBucket, []difference{withoutRecords}))
	r.checkDifferences(t, "quickly", slices.Concat(inCatalog, inBucket[1:], []difference{withoutRecords}), "--quick") // sizes are the same

	if out, err := r.operation("reindex").run(); err == nil {
		t.Errorf("reindex does not mind a record that is missing:\n%s", out)
	}
	// A published upload whose record is missing is found by its outcome.
	r.checkDifferences(t, "after reindex", append(inBucket,
		difference{"upload modules/acme/label/null/1.4.0.tar.gz", "what is published is something else"}))
	if got := r.moduleVersions(t, "acme/label/null"); slices.Contains(got, "1.4.0") {
		t.Errorf("listed without a record: %v", got)
	}
	for _, key := range []string{archive, document, pkg, stray, record} {
		root.undo(t, key)
	}
	checkSays(t, r.operate(t, "reindex"), "1 written")
	r.checkDifferences(t, "at last", nil)
	if got := r.moduleVersions(t, "acme/label/null"); len(got) != 5 {
		t.Errorf("listed: %v", got)
	}
}

// The command says when the registry does not run, or when the operator has no right to ask it.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ask := func(env map[string]string, named ...string) error {
		_, err := command{env: env, argv: append([]string{larder, "verify"}, named...)}.run()
		return err
	}
	if door == singleNode {
		checkFails(t, ask(r.operator, "--data", t.TempDir()), "no larder serves from")
		return
	}
	uploader := maps.Clone(r.operator)
	maps.Copy(uploader, r.vars)
	checkFails(t, ask(r.admin, "--stack", "nobody"), `there is no deployment "nobody"`)
	checkFails(t, ask(r.operator, "--stack", "nobody"), `these credentials may not ask the deployment "nobody"`)
	checkFails(t, ask(uploader, r.named...), "they need lambda:InvokeFunction")
}

func checkFails(t testing.TB, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, want %q", err, words)
	}
}
