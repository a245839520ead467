package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

// ownHostname is the hostname in a registry's settings. The clients mirror no host with a port, and here every
// registry has a port. So hostnames lead nowhere, and the clients' configuration says where the services of each are.
const ownHostname = "registry.example.com"

// startNamed runs a registry of the test's own, with ownHostname.
func startNamed(t testing.TB) *registry {
	t.Helper()
	if door == deployed {
		return startStackAs(t, ownHostname).registry
	}
	n := startNode(t)
	n.stop(t)
	n.name = ownHostname
	n.resume(t)
	return n.registry
}

// originOf is a block of CLI configuration that makes the registry the origin of a hostname.
func (r *registry) originOf(hostname string) string {
	return fmt.Sprintf("host %q {\n  services = { \"providers.v1\" = \"https://%s/v1/providers/\" }\n}\n", hostname, r.host)
}

// mirror is the registry's mirror as an installation method, with more arguments.
func (r *registry) mirror(arguments ...string) string {
	return fmt.Sprintf("network_mirror {\n    url = \"https://%s/v1/mirror/\"\n    %s\n  }", r.host, strings.Join(arguments, "\n"))
}

const direct = "direct {}"

// configure gives the client these installation methods and no others, and further blocks of CLI configuration.
func (w workspace) configure(t testing.TB, methods string, blocks ...string) {
	t.Helper()
	config := "provider_installation {\n  " + methods + "\n}\n" + strings.Join(blocks, "")
	writeFile(t, w.env["TF_CLI_CONFIG_FILE"], config)
}

const mirrorConfig = `
terraform {
  required_providers {
    time = {
      source  = "registry.terraform.io/hashicorp/time"
      version = "~> 0.14"
    }
    own = {
      source  = "registry.example.com/hashicorp/time"
      version = "~> 0.14"
    }
  }
}

resource "time_static" "birth" {
  rfc3339 = "2024-02-28T12:00:00Z"
}

resource "time_offset" "tomorrow" {
  provider     = own
  base_rfc3339 = time_static.birth.rfc3339
  offset_days  = 2
}

output "day" {
  value = tostring(time_offset.tomorrow.day)
}
`

// Every client copies a provider from its origin, which is this same registry, into the mirror by the lines of
// docs/mirror.md. Then it installs that provider, and one of the registry's own, from the mirror, and has no other way
// to either.
func TestMirrorIsFilledInstalledAndApplied(t *testing.T) {
	t.Parallel()
	r := startNamed(t)
	sums := publishTime(t, r, "hashicorp")
	forEachClient(t, func(t *testing.T, c client) {
		c.fillMirror(t, r)
		w := c.workspace(t, r, mirrorConfig)
		w.configure(t, r.mirror())
		w.run(t, "init", "-input=false")
		w.run(t, "validate")
		w.run(t, "apply", "-input=false", "-auto-approve")
		if got := w.outputs(t)["day"]; got != "1" {
			t.Errorf("two days after 28 February 2024 is day %q, want 1", got)
		}
	})
	checkMirrored(t, r, "registry.terraform.io/hashicorp/time", sums)
	checkMirrored(t, r, ownHostname+"/hashicorp/time", sums)
	checkOwn(t, r)
}

// checkOwn wants a registry to take no uploads for its mirror under its own hostname. A withdrawn version of its own
// must be missing there, and only there.
func checkOwn(t testing.TB, r *registry) {
	t.Helper()
	for _, hostname := range []string{ownHostname, "Registry.Example.Com"} {
		key := "mirror/" + hostname + "/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
		checkReason(t, r.expect(t, r.put(t, key, providerZip(t, "widget", "1.0.0", "own")), rejected), "providers/acme/widget/")
	}
	r.operate(t, "withdraw", "hashicorp/time", timeVersion)
	for hostname, listed := range map[string]bool{ownHostname: false, "registry.terraform.io": true} {
		index := r.ask(t, http.MethodGet, "/v1/mirror/"+hostname+"/hashicorp/time/index.json")
		if strings.Contains(string(index.body), timeVersion) != listed {
			t.Errorf("of %s the mirror has %s", hostname, index.body)
		}
	}
}

// fillMirror copies hashicorp/time from its origin into the mirror. If the mirror has it already, it stays as it is.
func (c client) fillMirror(t *testing.T, r *registry) {
	w := c.workspace(t, r, strings.ReplaceAll(timeConfig, "HOST", "registry.terraform.io"))
	w.configure(t, direct, r.originOf("registry.terraform.io"))
	bin := t.TempDir()
	if err := os.Symlink(c.path, filepath.Join(bin, "terraform")); err != nil {
		t.Fatal(err)
	}
	env := maps.Clone(w.env)
	env["PATH"] = bin + string(os.PathListSeparator) + os.Getenv("PATH")
	script := strings.ReplaceAll(docBlock(t, "../docs/mirror.md", "fill"), "example-registry", r.bucket)
	command{dir: w.dir, env: env, argv: []string{"sh", "-euc", script}}.must(t)

	var copied mirrorVersion
	document := readFile(t, filepath.Join(w.dir, "mirror/registry.terraform.io/hashicorp/time", timeVersion+".json"))
	if err := json.Unmarshal(document, &copied); err != nil {
		t.Fatal(err)
	}
	for _, platform := range timePlatforms { // OpenTofu has it from what the origin says of packages
		if hashes := copied.Archives[platform].Hashes; !slices.ContainsFunc(hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") }) {
			t.Errorf("%s: the client copied the hashes %q, and no h1 among them", platform, hashes)
		}
	}
	const prefix = "mirror/registry.terraform.io/hashicorp/time/"
	for _, platform := range timePlatforms {
		r.expect(t, r.latest(t, prefix+"terraform-provider-time_"+timeVersion+"_"+platform+".zip"), published)
	}
	for _, document := range []string{"index.json", timeVersion + ".json"} {
		r.expect(t, r.latest(t, prefix+document), ignored)
	}
}

// mirrorVersion is a version's document in a mirror.
type mirrorVersion struct {
	Archives map[string]struct {
		URL    string
		Hashes []string
	}
}

// mirrorVersion returns the document of hostname/namespace/type and a version.
func (r *registry) mirrorVersion(t testing.TB, provider, version string) mirrorVersion {
	t.Helper()
	var doc mirrorVersion
	r.ask(t, http.MethodGet, "/v1/mirror/"+provider+"/"+version+".json").decode(t, &doc)
	return doc
}

// checkMirrored wants a mirror to have hashicorp/time, under an address, with the packages of these sums: at absolute
// URLs, and with both hashes of each.
func checkMirrored(t testing.TB, r *registry, provider string, sums map[string]string) {
	t.Helper()
	index := r.ask(t, http.MethodGet, "/v1/mirror/"+provider+"/index.json")
	if got, want := strings.TrimSpace(string(index.body)), `{"versions":{"`+timeVersion+`":{}}}`; got != want {
		t.Errorf("the index of %s is %s, want %s", provider, got, want)
	}
	doc := r.mirrorVersion(t, provider, timeVersion)
	if got := slices.Sorted(maps.Keys(doc.Archives)); !slices.Equal(got, timePlatforms) {
		t.Errorf("%s is there for %v", provider, got)
	}
	for platform, archive := range doc.Archives {
		if u, err := url.Parse(archive.URL); err != nil || !u.IsAbs() {
			t.Errorf("%s for %s is at %q", provider, platform, archive.URL)
		}
		a := r.fetch(t, archive.URL)
		sum := sums["terraform-provider-time_"+timeVersion+"_"+platform+".zip"]
		if want := []string{h1Of(t, a.body), "zh:" + sum}; shaOf(a) != sum || !slices.Equal(archive.Hashes, want) {
			t.Errorf("%s for %s: sha256 %s, hashes %v, want %v", provider, platform, shaOf(a), archive.Hashes, want)
		}
	}
}

// h1Of is a package's hash as the clients compute it.
func h1Of(t testing.TB, archive []byte) string {
	t.Helper()
	h1, err := dirhash.HashZip(saveAs(t, "package.zip", archive), dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	return h1
}

// Uploaded documents decide the hashes of the packages beside them, and nothing else.
func TestMirrorDocuments(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const file = "terraform-provider-widget_1.0.0_linux_amd64.zip"
	body := providerZip(t, "widget", "1.0.0", "document")
	h1, sum := h1Of(t, body), shaOf(answer{body: body})
	for name, row := range map[string]struct {
		hashes []string
		status string
	}{
		"right":     {[]string{h1, "zh:" + sum}, published},
		"none":      {[]string{}, published},
		"wrong-h1":  {[]string{"h1:" + strings.Repeat("A", 43) + "="}, rejected},
		"wrong-zh":  {[]string{h1, "zh:" + strings.Repeat("0", 64)}, rejected},
		"unheardof": {[]string{"h9:" + sum}, published},
	} {
		prefix := "mirror/registry.terraform.io/" + name + "/widget/"
		document, err := json.Marshal(map[string]any{"archives": map[string]any{"linux_amd64": map[string]any{"url": file, "hashes": row.hashes}}})
		if err != nil {
			t.Fatal(err)
		}
		r.expect(t, r.put(t, prefix+"1.0.0.json", document), ignored)
		r.expect(t, r.put(t, prefix+"index.json", []byte(`{"versions":{"6.6.6":{}}}`)), ignored)
		tags := r.expect(t, r.put(t, prefix+file, body), row.status)
		index := r.ask(t, http.MethodGet, "/v1/"+prefix+"index.json")
		if row.status == rejected {
			checkReason(t, tags, "1.0.0.json beside it")
		}
		if listed := strings.Contains(string(index.body), `{"1.0.0":{}}`); listed != (row.status == published) {
			t.Errorf("%s: the index is %s", name, index.body)
		}
	}
	key := "mirror/registry.terraform.io:443/acme/widget/" + file
	checkReason(t, r.expect(t, r.put(t, key, body), rejected), "port")
}

// meeting is a client's use of a mirror, and what it says.
type meeting struct {
	name    string
	source  string // of the provider; HOST is the registry's
	methods string // of installation
	says    string // when it fails; empty when it installs
}

// The clients find what is there under every spelling of a hostname, and say what is missing.
func TestMirrorAsClientsMeetIt(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const file = "/widget/terraform-provider-widget_1.0.0_"
	for _, folder := range []string{"mirror/Met.Example.com/acme", "mirror/bücher.example/acme", "providers/met"} {
		r.publish(t, folder+file+hostPlatform+".zip", providerZip(t, "widget", "1.0.0", folder))
	}
	r.publish(t, "mirror/elsewhere.example.com/acme"+file+"solaris_sparc.zip", providerZip(t, "widget", "1.0.0", "elsewhere"))
	both := r.mirror() + "\n  " + direct
	shared := r.mirror(`include = ["met.example.com/*/*"]`) + "\n  " + direct
	meetings := []meeting{
		{"lower case", "met.example.com/acme/widget", r.mirror(), ""},
		{"upper case", "Met.Example.COM/acme/widget", r.mirror(), ""},
		{"unicode", "bücher.example/acme/widget", r.mirror(), ""},
		{"punycode", "xn--bcher-kva.example/acme/widget", r.mirror(), "must be given in unicode"},
		{"not there", "met.example.com/acme/nothing", r.mirror(), "was not found in any of the search locations"},
		{"not there, and at its origin", "origin.example.com/met/widget", both, "does not have archive index"},
		{"not for the mirror, and at its origin", "origin.example.com/met/widget", shared, ""},
		{"for the mirror, and another way", "met.example.com/acme/widget", shared, ""},
		{"for another platform", "elsewhere.example.com/acme/widget", r.mirror(), "does not have a package available for your current platform"},
		{"of a host with a port", "met.example.com:8443/acme/widget", r.mirror(), "unsupported protocol scheme"},
		{"of an address with a port", "HOST/met/widget", r.mirror(), "first path segment in URL cannot contain colon"},
		{"by an URL without its last slash", "met.example.com/acme/widget", strings.Replace(r.mirror(), `/"`, `"`, 1), "was not found in any of the search locations"},
	}
	forEachClient(t, func(t *testing.T, c client) {
		for _, m := range meetings {
			t.Run(m.name, func(t *testing.T) { c.meet(t, r, m) })
		}
	})
}

func (c client) meet(t *testing.T, r *registry, m meeting) {
	w := c.workspace(t, r, widgetFrom(m.source))
	w.configure(t, m.methods, r.originOf("origin.example.com"), r.originOf("met.example.com"))
	if m.says != "" {
		w.refuses(t, m.says, "init", "-input=false")
		return
	}
	w.run(t, "init", "-input=false")
}

// widgetFrom is a configuration that needs a provider which is never run.
func widgetFrom(source string) string {
	return "terraform {\n  required_providers {\n    widget = { source = \"" + source + "\" }\n  }\n}\n"
}
