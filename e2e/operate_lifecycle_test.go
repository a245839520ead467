package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// lifeConfig takes the newest version of a provider and of a module.
const lifeConfig = `
terraform {
  required_providers {
    time = {
      source  = "HOST/life/time"
      version = "~> 1.0"
    }
  }
}

module "label" {
  source  = "HOST/life/label/null"
  version = "~> 1.0"
}

resource "time_static" "birth" {
  rfc3339 = "2024-02-28T12:00:00Z"
}
`

// hostPlatform is the platform that the clients here install for.
const hostPlatform = runtime.GOOS + "_" + runtime.GOARCH

// publishTimeAs publishes hashicorp/time for this platform alone, under versions of our own.
func publishTimeAs(t testing.TB, r *registry, namespace string, versions ...string) {
	t.Helper()
	files := folder(t, filepath.Join(providers, hostPlatform), "")
	for _, version := range versions {
		key := fmt.Sprintf("providers/%s/time/terraform-provider-time_%s_%s.zip", namespace, version, hostPlatform)
		r.publish(t, key, zipOf(t, append(slices.Clip(files), entry{name: "VERSION", body: []byte(version)})...))
	}
}

// A version is deprecated, withdrawn and restored. Both clients print the warning, a new client does not find a
// withdrawn version, and clients that have it locked do what docs/operations.md says.
func TestLifeOfAVersion(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	const key = "modules/life/label/null/1.1.0.tar.gz"
	publishTimeAs(t, r, "life", "1.0.0", "1.1.0")
	r.publish(t, "modules/life/label/null/1.0.0.tar.gz", tinyModule(t, "life 1.0.0"))
	r.publish(t, key, tinyModule(t, "life 1.1.0"))
	r.operate(t, "deprecate", "life/time", "1.0.0", "--message", "It is slow: use 1.1.0")
	r.operate(t, "deprecate", "life/label/null", "1.0.0", "--message", "Use 1.1.0")
	workspaces := map[client]workspace{}
	for _, c := range clients {
		w := c.workspace(t, r, lifeConfig)
		checkSays(t, w.run(t, "init", "-input=false"), "Additional provider information from registry",
			"- life/time 1.0.0 is deprecated: It is slow: use 1.1.0", "time v1.1.0")
		w.checkLabel(t, "1.1.0")
		workspaces[c] = w
	}

	checkSays(t, r.operate(t, "withdraw", "life/time", "1.1.0"), "provider life/time 1.1.0 is withdrawn")
	checkSays(t, r.operate(t, "withdraw", "life/label/null", "1.1.0", "--message", "It opens port 22"), "is withdrawn")
	r.checkLife(t, "1.0.0")
	r.publish(t, key, tinyModule(t, "life 1.1.0"))
	publishTimeAs(t, r, "life", "1.1.0")
	r.checkLife(t, "1.0.0") // as it was, although it was uploaded again
	checkListOfLife(t, r)
	forEachClient(t, func(t *testing.T, c client) {
		checkWithdrawn(t, workspaces[c])
		checkNewcomers(t, c, r)
	})

	for _, restored := range [][]string{{"life/time", "1.1.0"}, {"life/time", "1.0.0"}, {"life/label/null", "1.1.0"}} {
		checkSays(t, r.operate(t, append([]string{"restore"}, restored...)...), "is restored")
	}
	r.checkLife(t, "1.0.0", "1.1.0")
	forEachClient(t, func(t *testing.T, c client) {
		w := workspaces[c]
		removeAll(t, filepath.Join(w.dir, ".terraform"))
		if out := w.run(t, "init", "-input=false", "-lockfile=readonly"); strings.Contains(out, "deprecated") {
			t.Errorf("it still warns:\n%s", out)
		}
		w.checkLabel(t, "1.1.0")
	})
}

// checkListOfLife wants `larder list` and `larder uploads` to say what there is, and what became of uploads.
func checkListOfLife(t testing.TB, r *registry) {
	t.Helper()
	words := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return lines
	}
	want := []string{
		"KIND ADDRESS VERSION STANDING PLATFORMS MESSAGE",
		"module life/label/null 1.0.0 deprecated - Use 1.1.0",
		"module life/label/null 1.1.0 withdrawn - It opens port 22",
		"provider life/time 1.0.0 deprecated " + hostPlatform + " It is slow: use 1.1.0",
		"provider life/time 1.1.0 withdrawn " + hostPlatform + " -",
	}
	if got := words(r.operate(t, "list", "life")); !slices.Equal(got, want) {
		t.Errorf("listed is %q, want %q", got, want)
	}
	checkSays(t, r.operate(t, "uploads", "modules/life/"), "there is no such upload")
	checkSays(t, r.operate(t, "uploads", "--status", "all", "--json", "modules/life/"), `"key": "modules/life/label/null/1.0.0.tar.gz"`, `"status": "published"`)
	r.expect(t, r.put(t, "modules/life/label/null/v2.tar.gz", tinyModule(t, "no version"), ""), rejected)
	if got := words(r.operate(t, "uploads", "--status", "rejected", "modules/life/")); len(got) != 2 || !strings.HasPrefix(got[0], "rejected ") || !strings.HasSuffix(got[0], " modules/life/label/null/v2.tar.gz") || !strings.Contains(got[1], "leading v") {
		t.Errorf("rejected is %q", got)
	}
}

// checkLife wants these versions to be listed, and both to be served.
func (r *registry) checkLife(t testing.TB, versions ...string) {
	t.Helper()
	modules := slices.Sorted(slices.Values(r.moduleVersions(t, "life/label/null")))
	providers := slices.Sorted(maps.Keys(r.providerVersions(t, "life/time")))
	if !slices.Equal(modules, versions) || !slices.Equal(providers, versions) {
		t.Errorf("listed are %v of the module and %v of the provider, want %v", modules, providers, versions)
	}
	for _, version := range []string{"1.0.0", "1.1.0"} {
		doc := r.packageDocument(t, "life/time/"+version, strings.Replace(hostPlatform, "_", "/", 1))
		if a := r.fetch(t, doc.DownloadURL); a.status != http.StatusOK || shaOf(a) != doc.SHASum {
			t.Errorf("the provider's %s is answered with %d", version, a.status)
		}
		if got := r.moduleArchive(t, "life/label/null/"+version); !slices.Equal(got, tinyModule(t, "life "+version)) {
			t.Errorf("the module's %s is served as %d other bytes", version, len(got))
		}
	}
}

// checkWithdrawn holds the table in docs/operations.md: what a client does with a version that it has locked and
// installed, and that was withdrawn since.
func checkWithdrawn(t *testing.T, w workspace) {
	lock := readFile(t, filepath.Join(w.dir, ".terraform.lock.hcl"))
	w.run(t, "plan", "-input=false") // as it is installed
	w.refuses(t, "no longer available", "init", "-input=false")
	w.checkLabel(t, "1.1.0")

	installed, cache := filepath.Join(w.dir, ".terraform", "providers"), t.TempDir()
	if err := os.CopyFS(cache, os.DirFS(installed)); err != nil {
		t.Fatal(err)
	}
	removeAll(t, installed)
	cached := w
	cached.env = maps.Clone(w.env)
	cached.env["TF_PLUGIN_CACHE_DIR"] = cache
	if w.client.product == "OpenTofu" && semver.Compare("v"+w.client.version, "v1.12.0") >= 0 { // 1.10 does not, either
		cached.run(t, "init", "-input=false")
	} else {
		cached.refuses(t, "no longer available", "init", "-input=false")
	}

	removeAll(t, filepath.Join(w.dir, ".terraform"))
	w.refuses(t, "no longer available", "init", "-input=false")
	w.checkLabel(t, "1.0.0") // no lock file has modules
	w.refuses(t, "for locking", "providers", "lock", "-platform="+hostPlatform)
	checkSays(t, w.run(t, "init", "-input=false", "-upgrade"), "time v1.0.0")
	writeFile(t, filepath.Join(w.dir, ".terraform.lock.hcl"), string(lock))
}

// checkNewcomers wants a new client not to choose a withdrawn version, and not to get it by its exact number either.
func checkNewcomers(t *testing.T, c client, r *registry) {
	fresh := c.workspace(t, r, lifeConfig)
	checkSays(t, fresh.run(t, "init", "-input=false"), "time v1.0.0")
	fresh.checkLabel(t, "1.0.0")
	provider := c.workspace(t, r, strings.Replace(lifeConfig, `time"
      version = "~> 1.0"`, `time"
      version = "1.1.0"`, 1))
	provider.refuses(t, "no available releases match the given constraints", "init", "-input=false")
	module := c.workspace(t, r, "module \"label\" {\n  source  = \"HOST/life/label/null\"\n  version = \"1.1.0\"\n}\n")
	module.refuses(t, "The newest available version is 1.0.0", "init", "-input=false")
}

// refuses wants the client to fail with these words, however it breaks lines.
func (w workspace) refuses(t testing.TB, says string, args ...string) {
	t.Helper()
	out, err := w.command(args...).run()
	if err == nil {
		t.Errorf("%s %s succeeds:\n%s", w.client, strings.Join(args, " "), out)
		return
	}
	if said := strings.Join(strings.Fields(err.Error()), " "); !strings.Contains(said, says) {
		t.Errorf("%s %s does not say %q:\n%v", w.client, strings.Join(args, " "), says, err)
	}
}

// checkLabel wants this version of the module to be installed.
func (w workspace) checkLabel(t testing.TB, version string) {
	t.Helper()
	if got := readFile(t, filepath.Join(w.dir, ".terraform", "modules", "label", "main.tf")); string(got) != "# life "+version+"\n" {
		t.Errorf("%s has %q of the module, want %s", w.client, got, version)
	}
}

func removeAll(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
