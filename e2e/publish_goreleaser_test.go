package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const goReleaserVersion = "2.8.0"

// A real provider, released by a real GoReleaser with the recommended configuration, goes up as it is. Every client
// installs it, and names the author's key.
func TestGoReleaserRelease(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthorWith(t, "rsa4096", "never")
	project := releaseTime(t, ada)
	dist := filepath.Join(project, "dist")

	t.Run("as it is", func(t *testing.T) {
		r.publish(t, "keys/released/ada.asc", ada.publicKey(t))
		r.copyFolder(t, dist, "providers/released/time/")
		r.expectRelease(t, dist, "providers/released/time/")
		checkReleaseServed(t, r, "released/time", dist)
		forEachClient(t, func(t *testing.T, c client) { installRelease(t, c, r, "released/time", dist, ada) })
	})
	// GoReleaser does not copy the manifest, but lists it in SHA256SUMS.
	t.Run("without its manifest", func(t *testing.T) {
		const prefix = "providers/released-bare/time/"
		r.publish(t, "keys/released-bare/ada.asc", ada.publicKey(t))
		r.copyFolder(t, dist, prefix, "--exclude", "*", "--include", "*.zip", "--include", "*_SHA256SUMS*")
		for _, name := range releaseFiles(t, dist) {
			if !strings.HasSuffix(name, "_manifest.json") {
				r.expect(t, r.latest(t, prefix+name), published)
			}
		}
		checkReleaseServed(t, r, "released-bare/time", dist)
		manifest := prefix + "terraform-provider-time_" + timeVersion + "_manifest.json"
		r.expect(t, r.copyIn(t, filepath.Join(project, "terraform-registry-manifest.json"), manifest), published)
	})
	forEachPipeline(t, "release-provider.yml", func(t *testing.T, p pipeline) {
		namespace := "released-by-" + p.host
		r.publish(t, "keys/"+namespace+"/ada.asc", ada.publicKey(t))
		out := p.run(t, r, project, "v"+timeVersion, map[string]string{"PROVIDER": namespace + "/time"})
		checkSays(t, out, published)
		checkReleaseServed(t, r, namespace+"/time", dist)
	})
}

// releaseTime makes a Git repository of the real provider's sources, tags it, has GoReleaser build it for two
// platforms and sign it, and returns the repository's folder. Nothing comes from the network.
func releaseTime(t testing.TB, ada author) (project string) {
	t.Helper()
	project = t.TempDir()
	sources := filepath.Join(built, "sources-terraform-provider-time-"+timeVersion)
	if err := os.CopyFS(project, os.DirFS(sources)); err != nil {
		t.Fatalf("%v\n`make test` gets the sources", err)
	}
	writeFile(t, filepath.Join(project, ".goreleaser.yml"), goReleaserConfig(t))

	env := goCaches(t)
	maps.Copy(env, map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1",
		"GNUPGHOME":       ada.home,
		"GPG_FINGERPRINT": ada.fingerprint(t),
	})
	run := func(argv ...string) { command{dir: project, env: env, argv: argv}.must(t) }
	run("git", "init", "--quiet")
	run("git", "remote", "add", "origin", "https://git.example.com/acme/terraform-provider-time.git")
	run("git", "add", "--all")
	run("git", "-c", "user.name=Ada Author", "-c", "user.email=ada@example.com", "commit", "--quiet", "--message=release")
	run("git", "tag", "v"+timeVersion)
	run(filepath.Join(built, "goreleaser-"+goReleaserVersion), "release", "--clean", "--skip=publish", "--parallelism=2")
	return project
}

// goReleaserConfig is the example's .goreleaser.yml, for this machine's platform and one other that
// terraform-provider-time has been built for already.
func goReleaserConfig(t testing.TB) string {
	t.Helper()
	var config map[string]any
	if err := yaml.Unmarshal(readFile(t, "../examples/goreleaser.yml"), &config); err != nil {
		t.Fatal(err)
	}
	platforms := []string{runtime.GOOS + "_" + runtime.GOARCH}
	for _, platform := range timePlatforms {
		if !slices.Contains(platforms, platform) {
			platforms = append(platforms, platform)
		}
	}
	build := config["builds"].([]any)[0].(map[string]any)
	build["targets"] = platforms[:2]
	for _, name := range []string{"goos", "goarch", "ignore"} {
		delete(build, name)
	}
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goCaches are the settings by which Go builds from this machine's caches alone.
func goCaches(t testing.TB) map[string]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "-json", "GOMODCACHE", "GOCACHE", "GOTOOLCHAIN").Output()
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	if err := json.Unmarshal(out, &settings); err != nil {
		t.Fatal(err)
	}
	settings["GOPROXY"], settings["GOWORK"] = "off", "off"
	return settings
}

// fingerprint is that of the author's key.
func (a author) fingerprint(t testing.TB) string {
	t.Helper()
	return fingerprintIn(t, strings.Fields(a.gpg(t, "--with-colons", "--list-keys")))
}

// copyFolder uploads a folder with `aws s3 cp --recursive`.
func (r *registry) copyFolder(t testing.TB, dir, prefix string, settings ...string) {
	t.Helper()
	args := []string{"s3", "cp", "--only-show-errors", "--recursive", dir, "s3://" + r.bucket + "/" + prefix}
	r.aws(t, append(args, settings...)...)
}

// releaseFiles are the names of those files of a dist folder that belong to the release.
func releaseFiles(t testing.TB, dist string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist, "terraform-provider-time_"+timeVersion+"_*"))
	if err != nil || len(found) != 6 {
		t.Fatalf("%v: two packages, documentation, a SHA256SUMS, a signature and a manifest are wanted: %v", err, found)
	}
	names := make([]string, 0, len(found))
	for _, file := range found {
		names = append(names, filepath.Base(file))
	}
	return names
}

// expectRelease waits until all of a dist folder has its outcome: the release is published, and other files of
// GoReleaser are ignored.
func (r *registry) expectRelease(t testing.TB, dist, prefix string) {
	t.Helper()
	release, others := releaseFiles(t, dist), 0
	root := os.DirFS(dist)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		status := published
		if !slices.Contains(release, name) {
			status = ignored
			others++
		}
		r.expect(t, r.latest(t, path.Join(prefix, name)), status)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if others == 0 {
		t.Error("GoReleaser has left nothing else there")
	}
}

// checkReleaseServed wants the author's SHA256SUMS, signature and zips to be served byte for byte.
func checkReleaseServed(t testing.TB, r *registry, provider, dist string) {
	t.Helper()
	platforms := r.providerVersions(t, provider)[timeVersion].platforms()
	if len(platforms) != 2 {
		t.Fatalf("listed for %v, want two platforms", platforms)
	}
	stem := filepath.Join(dist, "terraform-provider-time_"+timeVersion+"_")
	for _, platform := range platforms {
		doc := r.packageDocument(t, provider+"/"+timeVersion, strings.Replace(platform, "_", "/", 1))
		for file, url := range map[string]string{
			stem + platform + ".zip": doc.DownloadURL,
			stem + "SHA256SUMS":      doc.SHASumsURL,
			stem + "SHA256SUMS.sig":  doc.SHASumsSignatureURL,
		} {
			if !bytes.Equal(r.fetch(t, url).body, readFile(t, file)) {
				t.Errorf("%s is not served as GoReleaser made it", filepath.Base(file))
			}
		}
		verifyWithGnuPG(t, r, doc)
	}
}

// installRelease installs the provider with one client, which has to name the author's key, and runs it.
func installRelease(t *testing.T, c client, r *registry, provider, dist string, ada author) {
	w := c.workspace(t, r, strings.ReplaceAll(timeConfig, "hashicorp/time", provider))
	checkSays(t, w.run(t, "init", "-input=false"), "signed, key ID "+ada.keyID(t))
	var sums []string
	for line := range strings.Lines(string(readFile(t, filepath.Join(dist, "terraform-provider-time_"+timeVersion+"_SHA256SUMS")))) {
		sums = append(sums, strings.Fields(line)[0])
	}
	checkLock(t, w, sums)
	w.run(t, "apply", "-input=false", "-auto-approve")
}

// keyID is the author's key ID as the clients write it: the last 64 bits of the fingerprint.
func (a author) keyID(t testing.TB) string {
	t.Helper()
	fingerprint := a.fingerprint(t)
	return fingerprint[len(fingerprint)-16:]
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
