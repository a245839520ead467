package e2e

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// locking is a way to lock a provider.
type locking struct {
	name     string // as docs/mirror.md has it
	provider string
	methods  string   // of installation
	args     []string // of the client
}

// The clients lock fewer hashes through the mirror than from the origin, as the table in docs/mirror.md says. A lock
// file that was written in one way is good for the other way.
func TestMirrorLockFiles(t *testing.T) {
	t.Parallel()
	r := startNamed(t)
	const own, public = ownHostname + "/acme/widget", "registry.opentofu.org/acme/widget"
	uploads := map[string][]byte{}
	lock := []string{"providers", "lock"}
	for _, platform := range []string{hostPlatform, "plan9_arm", "solaris_sparc"} {
		file := "/acme/widget/terraform-provider-widget_1.0.0_" + platform + ".zip"
		uploads["providers"+file] = providerZip(t, "widget", "1.0.0", platform)
		uploads["mirror/registry.opentofu.org"+file] = uploads["providers"+file]
		lock = append(lock, "-platform="+platform)
	}
	r.publishAll(t, uploads)

	lockFromMirror := append(slices.Clone(lock), "-net-mirror=https://"+r.host+"/v1/mirror/")
	install, trusting := []string{"init", "-input=false"}, r.mirror("trust_all_hashes = true")
	ways := []locking{
		{"`init`, from the origin", own, direct, install},
		{"`init`, through the mirror", own, r.mirror(), install},
		{"the same with `trust_all_hashes`", own, trusting, install},
		{"the same, for a provider of registry.opentofu.org", public, trusting, install},
		{"`providers lock`, from the origin", own, direct, lock},
		{"`providers lock -net-mirror`", own, direct, lockFromMirror},
	}
	cells := map[string]map[string]string{"Terraform": {}, "OpenTofu": {}} // by product and way
	forEachClient(t, func(t *testing.T, c client) {
		for _, way := range ways {
			locked := c.lock(t, r, way)
			if before, again := cells[c.product][way.name]; again && before != locked {
				t.Errorf("%s: it locks %s, another %s %s", way.name, locked, c.product, before)
			}
			cells[c.product][way.name] = locked
		}
	})
	rows := make([]string, 0, len(ways))
	for _, way := range ways {
		rows = append(rows, row(way.name, cells["Terraform"][way.name], cells["OpenTofu"][way.name]))
	}
	checkTable(t, "../docs/mirror.md", "locks", rows)
}

// lock locks a provider, checks that the lock file is good for each way to install it, and returns its content.
func (c client) lock(t *testing.T, r *registry, way locking) string {
	w := c.workspace(t, r, widgetFrom(way.provider))
	origins := []string{r.originOf(ownHostname), r.originOf("registry.opentofu.org")}
	w.configure(t, way.methods, origins...)
	w.run(t, way.args...)
	file := filepath.Join(w.dir, ".terraform.lock.hcl")
	lock := string(readFile(t, file))
	for _, methods := range []string{direct, r.mirror()} {
		removeAll(t, filepath.Join(w.dir, ".terraform"))
		w.configure(t, methods, origins...)
		w.run(t, "init", "-input=false", "-lockfile=readonly")
	}
	removeAll(t, filepath.Join(w.dir, ".terraform"))
	writeFile(t, file, lockedHash.ReplaceAllString(lock, `"h1:`+strings.Repeat("A", 43)+`="`))
	w.refuses(t, "doesn't match any of the checksums", "init", "-input=false")
	return lockedOf(t, r, way.provider, lock)
}

var lockedHash = regexp.MustCompile(`"((?:h1|zh):\S+)"`)

// lockedOf says for which platforms a lock file has which hashes. The mirror must have each of them.
func lockedOf(t testing.TB, r *registry, provider, lock string) string {
	t.Helper()
	platforms := map[string]string{} // by hash
	for platform, archive := range r.mirrorVersion(t, provider, "1.0.0").Archives {
		for _, hash := range archive.Hashes {
			platforms[hash] = platform
		}
	}
	locked := map[string][]string{} // platforms by scheme
	for _, match := range lockedHash.FindAllStringSubmatch(lock, -1) {
		platform, known := platforms[match[1]]
		if !known {
			t.Errorf("the lock file has %s, which is of no package", match[1])
		}
		scheme, _, _ := strings.Cut(match[1], ":")
		locked[scheme] = append(locked[scheme], platform)
	}
	var said []string
	for _, scheme := range slices.Sorted(maps.Keys(locked)) {
		of := strings.Join(slices.Sorted(slices.Values(locked[scheme])), ", ")
		switch of {
		case hostPlatform:
			of = "this platform"
		case hostPlatform + ", plan9_arm, solaris_sparc": // in order wherever the tests run
			of = "all platforms"
		}
		said = append(said, "`"+scheme+":` of "+of)
	}
	return strings.Join(said, ", ")
}
