package serve

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
)

// What the end-to-end tests are given by the Makefile is given to this one, too.
var (
	builtFolder  = os.Getenv("LARDER_E2E_BUILT")
	builtClients = strings.Fields(os.Getenv("LARDER_E2E_CLIENTS"))
)

// builtTime is the version of hashicorp/time that is built.
const builtTime = "0.14.2"

const hostPlatform = runtime.GOOS + "_" + runtime.GOARCH

// mirrorPage is where the documentation has what the clients lock. A node changes
// the working directory, so it is found before there is one.
var mirrorPage, _ = filepath.Abs("../../../docs/mirror.md")

// Clients whose only way to a provider is the mirror install it while the mirror
// has nothing of it, and when its origin is down.
func TestClientsPullThrough(t *testing.T) {
	if builtFolder == "" && os.Getenv("LARDER_E2E") == "" {
		t.Skip("the clients are built and tried by `make e2e`")
	}
	if builtFolder == "" || len(builtClients) == 0 {
		t.Fatal("LARDER_E2E_BUILT and LARDER_E2E_CLIENTS name no clients")
	}
	page, err := os.ReadFile(mirrorPage)
	if err != nil {
		t.Fatal(err)
	}
	o := newOrigin(t)
	packages := timePackages(t)
	o.publish(t, "time", builtTime, packages)
	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	first, second := map[string]string{}, map[string]string{} // what is locked, by product
	for _, name := range builtClients {
		t.Run(name, func(t *testing.T) {
			first[product(name)], second[product(name)] = installTwice(t, o, filepath.Join(builtFolder, name), packages)
		})
	}
	for _, row := range []string{
		"| `init`, as the first to ask for it | " + first["Terraform"] + " | " + first["OpenTofu"] + " |\n",
		"| `init`, later, while the origin is down | " + second["Terraform"] + " | " + second["OpenTofu"] + " |\n",
	} {
		if !bytes.Contains(page, []byte(row)) {
			t.Errorf("docs/mirror.md lacks the row\n%s", row)
		}
	}
}

// timePackages is the packages of hashicorp/time by platform.
func timePackages(t *testing.T) map[string][]byte {
	t.Helper()
	packages := map[string][]byte{}
	for _, platform := range []string{"darwin_arm64", "linux_amd64", "linux_arm64"} {
		var body bytes.Buffer
		archive := zip.NewWriter(&body)
		err := errors.Join(archive.AddFS(os.DirFS(filepath.Join(builtFolder, "terraform-provider-time-"+builtTime, platform))), archive.Close())
		if err != nil {
			t.Fatal(err)
		}
		packages[platform] = body.Bytes()
	}
	return packages
}

// installTwice installs by an empty mirror, and by one whose origin is down, and
// returns what is locked by either.
func installTwice(t *testing.T, o *origin, client string, packages map[string][]byte) (first, second string) {
	o.start(t)
	p := newPulling(t, o)
	trusted := slices.Concat(bundleOf(t, p.running), bundleOf(t, o.running))
	early := newWorkspace(t, client, p.host, trusted)
	early.run(t, "init", "-input=false")
	early.run(t, "apply", "-input=false", "-auto-approve")
	p.awaitHere(t, "time", packages)
	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	late := newWorkspace(t, client, p.host, bundleOf(t, p.running))
	late.run(t, "init", "-input=false")
	late.run(t, "apply", "-input=false", "-auto-approve")

	again := newWorkspace(t, client, p.host, bundleOf(t, p.running))
	if err := os.WriteFile(filepath.Join(again.dir, lockFile), early.lock(t), 0o600); err != nil {
		t.Fatal(err)
	}
	again.run(t, append([]string{"init", "-input=false"}, readonly(client)...)...)
	return lockedBy(t, early.lock(t), packages), lockedBy(t, late.lock(t), packages)
}

// readonly has a client hold itself to a lock file. OpenTofu, whose lock files
// have another default registry, rewrites what is locked of registry.terraform.io.
func readonly(client string) []string {
	if product(client) == "OpenTofu" {
		return nil
	}
	return []string{"-lockfile=readonly"}
}

// product says which client a binary is.
func product(client string) string {
	if strings.HasPrefix(filepath.Base(client), "tofu-") {
		return "OpenTofu"
	}
	return "Terraform"
}

const lockFile = ".terraform.lock.hcl"

// bundleOf is the certificates that a client of a node trusts.
func bundleOf(t *testing.T, r *running) []byte {
	t.Helper()
	bundle, err := os.ReadFile(r.env(t, "SSL_CERT_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	return append(bundle, '\n')
}

// workspace is a root module that needs hashicorp/time, and a client whose only
// way to it is a mirror.
type workspace struct {
	dir, client string
	env         []string
}

const timeModule = `
terraform {
  required_providers {
    time = { source = "registry.terraform.io/hashicorp/time" }
  }
}

resource "time_static" "birth" {
  rfc3339 = "2024-02-28T12:00:00Z"
}
`

func newWorkspace(t *testing.T, client, host string, trusted []byte) workspace {
	t.Helper()
	w := workspace{dir: t.TempDir(), client: client}
	var errs []error
	for name, content := range map[string]string{
		"main.tf":     timeModule,
		"cli.tfrc":    "provider_installation {\n  network_mirror {\n    url = \"https://" + host + "/v1/mirror/\"\n  }\n}\n",
		"trusted.pem": string(trusted),
	} {
		errs = append(errs, os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "TMPDIR=" + os.TempDir(), "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(w.dir, "cli.tfrc"), "SSL_CERT_FILE=" + filepath.Join(w.dir, "trusted.pem"),
	}
	return w
}

func (w workspace) run(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, w.client, append(args, "-no-color")...)
	command.Dir, command.Env, command.WaitDelay = w.dir, w.env, time.Second
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (w workspace) lock(t *testing.T) []byte {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(w.dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

var lockedHash = regexp.MustCompile(`"((?:h1|zh):\S+)"`)

// lockedBy says of which packages a lock file has which hashes, and knows each of
// them.
func lockedBy(t *testing.T, lock []byte, packages map[string][]byte) string {
	t.Helper()
	platforms := map[string]string{} // by hash
	for platform, body := range packages {
		platforms[archivetest.H1(t, body)], platforms[archivetest.ZH(body)] = platform, platform
	}
	locked := map[string][]string{} // platforms by scheme
	for _, match := range lockedHash.FindAllStringSubmatch(string(lock), -1) {
		platform, known := platforms[match[1]]
		if !known {
			t.Errorf("the lock file has %s, which is of no package", match[1])
		}
		scheme, _, _ := strings.Cut(match[1], ":")
		locked[scheme] = append(locked[scheme], platform)
	}
	var said []string
	for _, scheme := range slices.Sorted(maps.Keys(locked)) {
		of := strings.Join(locked[scheme], ", ")
		switch {
		case of == hostPlatform:
			of = "this platform"
		case len(locked[scheme]) == len(packages):
			of = "all platforms"
		}
		said = append(said, "`"+scheme+":` of "+of)
	}
	return strings.Join(said, ", ")
}
