package e2e

import (
	"net/http"
	"path/filepath"
	"testing"
)

// details is what tools read of a version. The documents of modules and providers have the same form.
type details struct{ ID, Namespace, Name, Version, Provider, Source string }

func (r *registry) details(t testing.TB, path string) (got details) {
	t.Helper()
	r.ask(t, http.MethodGet, path).decode(t, &got)
	return got
}

// Publishers name a version's repository, by `larder publish --source` or in the metadata of an upload, and tools that
// look for release notes find it. A source that is not a web address is refused, before the upload or after it.
func TestSourceIsToldToWhoeverAsks(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const source, older = "https://git.example.com/acme/-/network?ref_type=heads", "http://git.example.com:3000/acme/network"
	module := saveAs(t, "network.tar.gz", tinyModule(t, "1.0.0"))
	r.aws(t, "s3", "cp", "--only-show-errors", "--metadata", "source="+older, module, "s3://"+r.bucket+"/modules/source/network/aws/1.0.0.tar.gz")
	r.expect(t, r.latest(t, "modules/source/network/aws/1.0.0.tar.gz"), published)
	r.mustPublish(t, "--module", "source/network/aws", "--version", "1.1.0", "--source", source, "testdata/network")
	r.publish(t, "modules/source/network/aws/1.2.0.tar.gz", tinyModule(t, "1.2.0"))
	dist := t.TempDir()
	for _, platform := range []string{"linux_amd64", "linux_arm64"} {
		writeFile(t, filepath.Join(dist, "terraform-provider-widget_1.0.0_"+platform+".zip"), string(providerZip(t, "widget", "1.0.0", platform)))
	}
	r.mustPublish(t, "--to", "source/widget", "--source", source,
		filepath.Join(dist, "terraform-provider-widget_1.0.0_linux_amd64.zip"), filepath.Join(dist, "terraform-provider-widget_1.0.0_linux_arm64.zip"))

	for path, want := range map[string]details{
		"/v1/modules/source/network/aws/1.0.0": {"source/network/aws/1.0.0", "source", "network", "1.0.0", "aws", older},
		"/v1/modules/source/network/aws/1.1.0": {"source/network/aws/1.1.0", "source", "network", "1.1.0", "aws", source},
		"/v1/modules/source/network/aws/1.2.0": {"source/network/aws/1.2.0", "source", "network", "1.2.0", "aws", ""},
		"/v1/providers/source/widget/1.0.0":    {"source/widget/1.0.0", "source", "widget", "1.0.0", "", source},
	} {
		if got := r.details(t, path); got != want {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	var listed struct{ Modules []struct{ Source string } }
	r.ask(t, http.MethodGet, "/v1/modules/source/network/aws/versions").decode(t, &listed)
	if len(listed.Modules) != 1 || listed.Modules[0].Source != source {
		t.Errorf("with the versions: %+v, want %s", listed.Modules, source)
	}

	const wrong = "git@git.example.com:acme/network.git"
	if out, err := r.larderPublish("--module", "source/network/aws", "--version", "2.0.0", "--source", wrong, module); err == nil {
		t.Errorf("it was content:\n%s", out)
	} else {
		checkSays(t, out, "--source: the source is not an https or http URL")
	}
	r.checkNothingIn(t, "modules/source/network/aws/2.0.0")
	r.aws(t, "s3", "cp", "--only-show-errors", "--metadata", "source="+wrong, module, "s3://"+r.bucket+"/modules/source/network/aws/2.0.0.tar.gz")
	checkReason(t, r.expect(t, r.latest(t, "modules/source/network/aws/2.0.0.tar.gz"), rejected), "the source is not an https or http URL")
}
