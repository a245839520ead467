package e2e

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A second start on the same data folder finds everything, with or without the catalog. So does a start on a restored
// backup, by the lines of docs/operations.md. Clients go on with their lock files.
func TestRestart(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	sums := publishTime(t, n.registry, "hashicorp")
	publishNetwork(t, n.registry, "acme")
	before := n.served(t)
	if len(clients) == 0 {
		t.Fatal("no client to install with")
	}
	w := clients[0].workspace(t, n.registry, timeConfig+networkConfig())
	w.run(t, "init", "-input=false")

	for _, interruption := range []struct {
		name string
		end  func()
	}{
		{"after SIGTERM", func() { n.stop(t) }},
		{"after kill -9", n.kill},
		{"stopped and without its catalog", func() { n.stop(t); n.removeCatalog(t) }},
		{"killed and without its catalog", func() { n.kill(); n.removeCatalog(t) }},
		{"restored from a backup", func() { n.restoreElsewhere(t) }},
	} {
		interruption.end()
		n.resume(t)
		if after := n.served(t); !maps.Equal(after, before) {
			t.Errorf("%s, it serves\n%v\nbefore it served\n%v", interruption.name, after, before)
		}
	}

	if err := os.RemoveAll(filepath.Join(w.dir, ".terraform")); err != nil {
		t.Fatal(err)
	}
	w.run(t, "init", "-input=false", "-lockfile=readonly")
	checkLock(t, w, slices.Collect(maps.Values(sums)))
}

// restoreElsewhere backs the node up while it serves, stops it, and starts it on a restored data folder.
func (n *node) restoreElsewhere(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(larder, filepath.Join(dir, "larder")); err != nil {
		t.Fatal(err)
	}
	path := dir + string(os.PathListSeparator) + os.Getenv("PATH")
	run := func(data, script string) {
		t.Helper()
		command{dir: dir, env: map[string]string{"PATH": path, "LARDER_DATA": data}, argv: []string{"sh", "-euc", script}}.must(t)
	}
	run(n.data, docBlock(t, "../docs/operations.md", "backup"))
	n.stop(t)
	restore, serve, found := strings.Cut(docBlock(t, "../docs/operations.md", "restore"), "\n")
	if !found || serve != "larder serve --data restored\n" {
		t.Fatalf("after the restoration it says %q", serve)
	}
	run("", restore)
	n.data = filepath.Join(dir, "restored")
	n.named = []string{"--data", n.data}
}

// served returns how all that TestRestart published is served now: by request, the answer without its signatures.
func (r *registry) served(t testing.TB) map[string]string {
	t.Helper()
	paths := []string{"/.well-known/terraform.json", "/v1/modules/acme/network/aws/versions", "/v1/providers/hashicorp/time/versions"}
	all := map[string]string{}
	for _, path := range paths {
		a := r.ask(t, http.MethodGet, path)
		all[path] = fmt.Sprint(a.status, " ", string(a.body))
	}
	for version := range networkReleases {
		location := r.moduleLocation(t, "acme/network/aws/"+version)
		all[version] = location.Path + " " + location.Query().Get("checksum")
	}
	for _, platform := range timePlatforms {
		doc := r.packageDocument(t, "hashicorp/time/"+timeVersion, strings.Replace(platform, "_", "/", 1))
		doc.DownloadURL = shaOf(r.fetch(t, doc.DownloadURL))
		doc.SHASumsURL = shaOf(r.fetch(t, doc.SHASumsURL))
		doc.SHASumsSignatureURL = shaOf(r.fetch(t, doc.SHASumsSignatureURL))
		all[platform] = fmt.Sprintf("%+v", doc)
	}
	return all
}

func (n *node) removeCatalog(t testing.TB) {
	t.Helper()
	if err := os.Remove(filepath.Join(n.data, "catalog.db")); err != nil {
		t.Fatal(err)
	}
}

// An upload of 200 MB that a kill -9 interrupts lists nothing, harms nothing, and can be made again. A complete upload
// is published despite a kill -9.
func TestKilledInTheMiddleOfAnUpload(t *testing.T) {
	n := startNode(t)
	n.publish(t, "modules/acme/label/null/1.0.0.tar.gz", tinyModule(t, "before"))
	archive := largePackage(t, "large", 200<<20)
	const key = "providers/acme/large/terraform-provider-large_1.0.0_linux_amd64.zip"
	file := saveAs(t, "large.zip", archive)

	size := n.size(t)
	copying := make(chan error, 1)
	upload := n.awsCommand("s3", "cp", "--only-show-errors", file, "s3://"+n.bucket+"/"+key)
	upload.env = maps.Clone(n.vars)
	upload.env["AWS_MAX_ATTEMPTS"] = "1"
	go func() {
		_, err := upload.run()
		copying <- err
	}()
	eventually(t, func() error {
		if grown := n.size(t) - size; grown < 50<<20 {
			return fmt.Errorf("the data folder has grown by %d bytes", grown)
		}
		return nil
	})
	n.kill()
	if err := <-copying; err == nil {
		t.Fatal("the upload was done before the registry was killed")
	}

	n.resume(t)
	if got := n.moduleVersions(t, "acme/label/null"); !slices.Equal(got, []string{"1.0.0"}) {
		t.Errorf("modules listed after the kill: %v", got)
	}
	if got := n.providerVersions(t, "acme/large"); len(got) != 0 {
		t.Errorf("providers listed after the kill: %v", got)
	}
	again := n.copyIn(t, file, key)
	n.kill() // while it publishes
	n.resume(t)
	n.expect(t, again, published)
	checkWhole(t, n.registry, "acme/large", "1.0.0", map[string][]byte{key: archive})
}

// size returns the bytes of all files in the data folder.
func (n *node) size(t testing.TB) int64 {
	t.Helper()
	var total int64
	n.walk(func(_ string, info fs.FileInfo) { total += info.Size() })
	return total
}

// walk calls visit for every file in the data folder. Files may come and go meanwhile.
func (n *node) walk(visit func(path string, info fs.FileInfo)) {
	_ = filepath.WalkDir(n.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			visit(path, info)
		}
		return nil
	})
}

// If a kill -9 interrupts publishing, at any moment, the next start finishes it: the upload is published, and only
// whole versions are ever listed.
func TestKilledInTheMiddleOfAPublish(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]func(n *node, t testing.TB) error{
		"as soon as the uploads are there": func(*node, testing.TB) error { return nil },
		"as the first accepted bytes appear": func(n *node, _ testing.TB) error {
			return n.holds("registry" + string(filepath.Separator))
		},
		"as the first package is listed": func(n *node, t testing.TB) error {
			if len(n.providerVersions(t, "acme/widget")) == 0 {
				return fmt.Errorf("nothing is listed")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := startNode(t)
			packages := widgetPackages(t, "acme", "1.0.0")
			n.putAll(t, packages)
			eventually(t, func() error { return moment(n, t) })
			n.kill()

			n.resume(t)
			eventually(t, func() error {
				listed := n.providerVersions(t, "acme/widget")["1.0.0"].platforms()
				for _, platform := range listed {
					checkListed(t, n.registry, "acme/widget/1.0.0", platform)
				}
				if len(listed) < len(packages) {
					return fmt.Errorf("listed again are only %v", listed)
				}
				return nil
			})
			checkWhole(t, n.registry, "acme/widget", "1.0.0", packages)
		})
	}
}

// checkListed wants a listed package to be served whole at this moment, even if others are still missing.
func checkListed(t testing.TB, r *registry, version, platform string) {
	t.Helper()
	doc := r.packageDocument(t, version, strings.Replace(platform, "_", "/", 1))
	if got := shaOf(r.fetch(t, doc.DownloadURL)); got != doc.SHASum {
		t.Errorf("%s is listed, but its zip has sha256 %s, want %s", platform, got, doc.SHASum)
	}
	if got := shaSums(t, r, doc)[doc.Filename]; got != doc.SHASum {
		t.Errorf("%s is listed, but SHA256SUMS has %q for it, want %s", platform, got, doc.SHASum)
	}
	if a := r.fetch(t, doc.SHASumsSignatureURL); a.status != http.StatusOK {
		t.Errorf("%s is listed, but its signature is answered with %d", platform, a.status)
	}
}

// holds returns nil once the data folder has a file whose path contains part.
func (n *node) holds(part string) error {
	err := fmt.Errorf("no file under %s yet", part)
	n.walk(func(path string, _ fs.FileInfo) {
		if strings.Contains(strings.TrimPrefix(path, n.data), part) {
			err = nil
		}
	})
	return err
}

// Neither overwriting nor deleting an upload changes anything that is served.
func TestPublishedIsImmutable(t *testing.T) {
	t.Parallel()
	checkImmutable(t, sharedRegistry(t), "immutable")
}

// Nor does it change what is served after a restart.
func TestPublishedIsImmutableOverRestarts(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	unchanged := checkImmutable(t, n.registry, "acme")
	n.stop(t)
	n.resume(t)
	unchanged("after the uploads were deleted and the registry restarted")
	n.stop(t)
	n.removeCatalog(t)
	n.resume(t)
	unchanged("after the uploads were deleted and the catalog was rebuilt")
}

// checkImmutable publishes in a namespace, overwrites the uploads and deletes them, and wants what is served to stay
// as it was. The returned function checks that once more.
func checkImmutable(t testing.TB, r *registry, namespace string) (unchanged func(when string)) {
	t.Helper()
	modules, providers := "modules/"+namespace+"/label/null/", "providers/"+namespace+"/widget/"
	key, pkg := modules+"1.0.0.tar.gz", providers+"terraform-provider-widget_1.0.0_linux_amd64.zip"
	first, firstPackage := tinyModule(t, "first"), providerZip(t, "widget", "1.0.0", "first")
	r.publish(t, key, first)
	r.publish(t, pkg, firstPackage)
	unchanged = func(when string) {
		t.Helper()
		if got := r.moduleArchive(t, namespace+"/label/null/1.0.0"); !bytes.Equal(got, first) {
			t.Errorf("%s, other module bytes are served: %.80q", when, got)
		}
		checkWhole(t, r, namespace+"/widget", "1.0.0", map[string][]byte{pkg: firstPackage})
	}

	r.publish(t, key, first)
	r.publish(t, pkg, firstPackage)
	unchanged("after the same bytes came again")

	r.expect(t, r.put(t, key, tinyModule(t, "second")), rejected)
	r.expect(t, r.put(t, pkg, providerZip(t, "widget", "1.0.0", "second")), rejected)
	r.expect(t, r.put(t, modules+"1.0.0.zip", zipOf(t, entry{name: "main.tf", body: []byte("# third")})), rejected)
	unchanged("after the uploads were overwritten")

	r.aws(t, "s3", "rm", "--only-show-errors", "--recursive", "s3://"+r.bucket+"/"+modules)
	r.aws(t, "s3", "rm", "--only-show-errors", "--recursive", "s3://"+r.bucket+"/"+providers)
	unchanged("after the uploads were deleted")
	return unchanged
}
