package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// A team gets a key of its own, which can only publish. The operator's key is changed while the registry serves, and
// the team's key is revoked. Outcome, record and log say who uploaded.
func TestUploaders(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	archive := filepath.Join(t.TempDir(), "1.0.0.tar.gz")
	writeFile(t, archive, string(tarGzOf(t, entry{name: "main.tf", body: []byte("# nothing\n")})))
	acme := n.as(t, n.operate(t, "uploader", "create", "acme-ci", "--namespace", "acme"))
	copyTo := func(r *registry, key string) error {
		_, err := r.awsCommand("s3", "cp", "--only-show-errors", archive, "s3://"+r.bucket+"/"+key).run()
		return err
	}
	refused := func(what string, err error, code string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}

	if err := copyTo(acme, "modules/acme/hello/null/1.0.0.tar.gz"); err != nil {
		t.Fatal(err)
	}
	checkSays(t, acme.mustPublish(t, "--module", "acme/hello/null", "--version", "1.1.0", archive), "published")
	for _, key := range []string{"modules/labs/hello/null/1.0.0.tar.gz", "registry/modules/acme/hello/null/1.0.0/x.tar.gz", "modules/acme/../labs/hello/null/1.0.0.tar.gz"} {
		refused("upload to "+key, copyTo(acme, key), "AccessDenied")
	}
	_, err := acme.awsCommand("s3", "ls", "s3://"+n.bucket+"/modules/labs/").run()
	refused("list what others have", err, "AccessDenied")
	checkSays(t, acme.aws(t, "s3", "ls", "s3://"+n.bucket+"/modules/acme/hello/null/"), "1.0.0.tar.gz", "1.1.0.tar.gz")
	if err := copyTo(n.registry, "modules/labs/hello/null/1.0.0.tar.gz"); err != nil {
		t.Fatal(err)
	}

	for address, by := range map[string]string{"acme/hello/null/1.0.0": "acme-ci", "acme/hello/null/1.1.0": "acme-ci", "labs/hello/null/1.0.0": "operator"} {
		key := "modules/" + address + ".tar.gz"
		n.expect(t, n.latest(t, key), published)
		record := n.onlyKey(t, "registry/records/modules/"+address+"/", "00000001.json")
		for what, document := range map[string]map[string]any{"outcome": n.outcome(t, key), "record": n.document(t, record)} {
			if document["by"] != by {
				t.Errorf("the %s of %s is %v, want it to be by %s", what, address, document, by)
			}
		}
		checkSays(t, string(n.wholeLog()), fmt.Sprintf("upload published key=%s ", key), "by="+by+"\n")
	}

	old := &registry{}
	if err := old.connect(maps.Clone(n.vars)); err != nil {
		t.Fatal(err)
	}
	checkSays(t, n.operate(t, "keys", "rotate-access"), ". "+n.envFile())
	refused("upload with the operator's old key", copyTo(old, "modules/labs/hello/null/1.1.0.tar.gz"), "InvalidAccessKeyId")
	if err := n.connect(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*registry{n.registry, acme} {
		if err := copyTo(r, "modules/acme/hello/null/1.2.0.tar.gz"); err != nil {
			t.Error(err)
		}
	}
	checkSays(t, n.operate(t, "uploader", "list"), "acme-ci", acme.vars["AWS_ACCESS_KEY_ID"], "acme")
	checkSays(t, n.operate(t, "uploader", "revoke", "acme-ci"), "is revoked")
	refused("upload with a key that is revoked", copyTo(acme, "modules/acme/hello/null/1.3.0.tar.gz"), "InvalidAccessKeyId")
}

// A pipeline uploads with only its identity token. AWS's own clients ask the bucket's address for an access key with
// it. The pipeline may upload to the namespaces of its rule, and other pipelines may not.
func TestPipelinesPublishWithoutSecrets(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	n := startNode(t)
	n.stop(t)
	n.more = map[string]string{"SSL_CERT_FILE": ca.file}
	n.resume(t)
	hosts := startIssuer(t, ca)
	n.operate(t, "trust", "add", "release", "--issuer", hosts.url, "--audience", "https://"+n.host, "--claim", "repository_owner=acme", "--upload", "acme")
	archive := filepath.Join(t.TempDir(), "1.0.0.tar.gz")
	writeFile(t, archive, string(tarGzOf(t, entry{name: "main.tf", body: []byte("# nothing\n")})))
	jobOf := func(owner string) *registry {
		identity, err := hosts.identity("https://"+n.host, gitHubClaims(owner, "hello"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "identity")
		writeFile(t, file, identity)
		vars := maps.Clone(n.vars)
		delete(vars, "AWS_ACCESS_KEY_ID")
		delete(vars, "AWS_SECRET_ACCESS_KEY")
		maps.Copy(vars, map[string]string{
			"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ENDPOINT_URL_STS": n.vars["AWS_ENDPOINT_URL_S3"],
			"AWS_ROLE_ARN": "arn:aws:iam::000000000000:role/larder", "AWS_ROLE_SESSION_NAME": "somebody-else",
		})
		return &registry{bucket: n.bucket, host: n.host, vars: vars}
	}
	acme := jobOf("acme")
	copyTo := func(r *registry, key string) command {
		return r.awsCommand("s3", "cp", "--only-show-errors", archive, "s3://"+r.bucket+"/"+key)
	}
	copyTo(acme, "modules/acme/hello/null/1.0.0.tar.gz").must(t)
	acme.mustPublish(t, "--module", "acme/hello/null", "--version", "1.1.0", archive)
	for r, code := range map[*registry]string{acme: "AccessDenied", jobOf("acme-evil"): "its sub is repo:acme-evil/hello:ref:refs/heads/main"} {
		if _, err := copyTo(r, "modules/acme-evil/hello/null/1.0.0.tar.gz").run(); err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%v, want %s", err, code)
		}
	}
	const by = "release repo:acme/hello:ref:refs/heads/main"
	for _, version := range []string{"1.0.0", "1.1.0"} {
		key := "modules/acme/hello/null/" + version + ".tar.gz"
		n.expect(t, n.latest(t, key), published)
		if outcome := n.outcome(t, key); outcome["by"] != by {
			t.Errorf("the outcome of %s is %v, want it to be by %s", version, outcome, by)
		}
	}
	checkSays(t, string(n.wholeLog()), `what="access key for uploads to acme" allowed=true why="by rule release, access key LARDERT`, `by="`+by+`"`)
}

// as is the registry for somebody who sets other variables.
func (n *node) as(t testing.TB, variables string) *registry {
	t.Helper()
	vars := maps.Clone(n.vars)
	for line := range strings.Lines(variables) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		vars[name] = value
	}
	r := &registry{named: n.named}
	if err := r.connect(vars); err != nil {
		t.Fatal(err)
	}
	return r
}
