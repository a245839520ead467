package e2e

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// mirrorCommand is `larder mirror` as a user of the registry runs it.
func (r *registry) mirrorCommand(args ...string) command {
	return command{env: r.vars, argv: append([]string{larder, "mirror"}, args...)}
}

const carriedConfig = `
terraform {
  required_providers {
    time = {
      source  = "registry.example.com/hashicorp/time"
      version = "~> 0.14"
    }
  }
}

resource "time_offset" "tomorrow" {
  base_rfc3339 = "2024-02-28T12:00:00Z"
  offset_days  = 2
}

output "day" {
  value = tostring(time_offset.tomorrow.day)
}
`

// A registry's own providers are carried to another registry in a file, and installed there, where the first is out of
// reach. A file that changed on its way is refused as a whole.
func TestMirrorIsCarried(t *testing.T) {
	t.Parallel()
	from, to := startNamed(t), sharedRegistry(t)
	sums := publishTime(t, from, "hashicorp")
	dir := t.TempDir()
	export := from.mirrorCommand("export", "carry.tar", ownHostname+"/hashicorp/time@~> 0.14", "--platform", "all", "--from", from.host)
	export.dir = dir
	checkSays(t, export.must(t), "carry.tar: 3 packages of 1 version")
	file := filepath.Join(dir, "carry.tar")
	carried := readFile(t, file)
	export.must(t)
	if !bytes.Equal(readFile(t, file), carried) {
		t.Error("exported again, it is another file")
	}

	damaged := bytes.Clone(carried)
	damaged[len(damaged)/2] ^= 1
	checkRefuses(t, to.mirrorCommand("import", saveAs(t, "damaged.tar", damaged)), "nothing was uploaded", ".zip: its SHA-256 is")
	to.checkNothingIn(t, "mirror/"+ownHostname+"/hashicorp/")
	checkRefuses(t, from.mirrorCommand("import", file), "of 3 files: 3 rejected")

	checkSays(t, to.mirrorCommand("import", file).must(t), "published  "+ownHostname+"/hashicorp/time/terraform-provider-time_"+timeVersion+"_linux_arm64.zip")
	checkMirrored(t, to, ownHostname+"/hashicorp/time", sums)
	forEachClient(t, func(t *testing.T, c client) {
		w := c.workspace(t, to, carriedConfig)
		w.configure(t, to.mirror())
		w.run(t, "init", "-input=false")
		w.run(t, "apply", "-input=false", "-auto-approve")
		if got := w.outputs(t)["day"]; got != "1" {
			t.Errorf("two days after 28 February 2024 is day %q, want 1", got)
		}
	})
	t.Run("without larder", func(t *testing.T) { carryWithTar(t, from, to) })
}

// carryWithTar does the same by the lines of docs/mirror.md, without larder.
func carryWithTar(t *testing.T, from, to *registry) {
	const name = "carried/widget/terraform-provider-widget_1.0.0_linux_amd64.zip"
	from.publish(t, "providers/"+name, providerZip(t, "widget", "1.0.0", "carried"))
	export := from.mirrorCommand("export", "carry.tar", ownHostname+"/carried/widget", "--platform", "linux_amd64", "--from", "https://"+from.host+"/v1/mirror/")
	export.dir = t.TempDir()
	export.must(t)
	script := strings.ReplaceAll(docBlock(t, "../docs/mirror.md", "unpack"), "example-registry", to.bucket)
	command{dir: export.dir, env: to.vars, argv: []string{"sh", "-euc", script}}.must(t)
	to.expect(t, to.latest(t, "mirror/"+ownHostname+"/"+name), published)
	to.expect(t, to.latest(t, "mirror/larder-mirror.json"), ignored)
}

// checkRefuses wants a command to fail, and to say why.
func checkRefuses(t testing.TB, c command, words ...string) {
	t.Helper()
	if out, err := c.run(); err == nil {
		t.Errorf("it was content:\n%s", out)
	} else {
		checkSays(t, err.Error(), words...)
	}
}
