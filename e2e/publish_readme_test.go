package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

const readmeFile = "../README.md"

// The README's lines to copy do what the README says, one after the other, in a shell without other settings. Every
// client installs what they publish.
func TestREADME(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := t.TempDir()
	at := slices.IndexFunc(clients, func(c client) bool { return c.product == "Terraform" })
	if at < 0 {
		t.Fatal("the README says terraform, and there is no Terraform")
	}
	if err := errors.Join(
		os.Symlink(n.data, filepath.Join(dir, ".larder")),
		os.Symlink(clients[at].path, filepath.Join(dir, "terraform")),
		os.MkdirAll(filepath.Join(dir, ".cache", "bin"), 0o700),
		os.Symlink(larder, filepath.Join(dir, ".cache", "bin", "larder")),
	); err != nil {
		t.Fatal(err)
	}
	env := goCaches(t)
	maps.Copy(env, map[string]string{
		"GOPROXY":            "file://" + env["GOMODCACHE"] + "/cache/download", // go install asks for the newest version, too
		"GOSUMDB":            "off",                                             // what is in the cache was verified
		"PATH":               dir + string(os.PathListSeparator) + os.Getenv("PATH"),
		"CHECKPOINT_DISABLE": "1",
		"AWS_PROFILE":        "mine",
		"CGO_ENABLED":        "0", // as the provider was built that these tests have
		"GOFLAGS":            "-trimpath",
	})
	shell := func(script string) string {
		return command{dir: dir, env: env, argv: []string{"sh", "-euc", script}}.must(t)
	}

	const (
		again = "PATH=$PWD/.cache/bin:$PATH\n. .larder/env\n" // in another shell
		back  = "eval \"$(larder env --unset)\"; echo \"<$AWS_PROFILE ${AWS_ENDPOINT_URL_S3-}>\"\n"
	)
	module, provider := readmeBlock(t, "module"), readmeBlock(t, "provider")
	out := shell(module + readmeBlock(t, "status") + back)
	checkSays(t, out, "Hello from Larder", published)
	if !strings.HasSuffix(out, "<mine >\n") {
		t.Errorf("larder env --unset leaves\n%s", out)
	}
	checkSays(t, shell(again+provider), `now = "20`)
	n.expect(t, n.latest(t, "modules/acme/hello/null/1.0.0.tar.gz"), published)
	checkSays(t, shell(again+readmeBlock(t, "browse")), "acme/hello/null", "greeting", `"id":"acme/hello/null/1.0.0"`)

	for _, c := range clients {
		install := strings.ReplaceAll(lastLine(module)+lastLine(provider), "terraform ", c.path+" ")
		checkSays(t, shell(again+"rm -rf */.terraform* */terraform.tfstate\n"+install), "Hello from Larder", `now = "20`)
	}
}

// lastLine returns the last line of a block.
func lastLine(block string) string {
	lines := slices.Collect(strings.Lines(block))
	return lines[len(lines)-1]
}

// readmeBlock returns the README's block of shell lines that is marked for test with this name.
func readmeBlock(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<!-- test: "+name+" -->\n```sh\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("the README has no block that is marked %s", name)
	}
	return block
}

// The table of tested clients stands between these lines of the README.
const (
	tableBegin = "<!-- clients -->\n"
	tableEnd   = "<!-- /clients -->\n"
)

// renewTable writes the clients that have just passed into the README's table.
func renewTable() error {
	text, err := os.ReadFile(readmeFile)
	if err != nil {
		return err
	}
	head, rest, begins := bytes.Cut(text, []byte(tableBegin))
	_, tail, ends := bytes.Cut(rest, []byte(tableEnd))
	if !begins || !ends {
		return errors.New("the README has no place for the table of tested clients")
	}
	return os.WriteFile(readmeFile, slices.Concat(head, []byte(tableBegin+table()+tableEnd), tail), 0o644)
}

// table lists the versions of each product, lowest first: of Terraform and OpenTofu, and of other tools.
func table() string {
	versions := map[string][]string{}
	for _, c := range clients {
		versions[c.product] = append(versions[c.product], c.version)
	}
	for _, name := range tools {
		product, version := splitTool(name)
		versions[product] = append(versions[product], version)
	}
	var rows strings.Builder
	rows.WriteString("| client | tested versions |\n|---|---|\n")
	for _, product := range slices.Sorted(maps.Keys(versions)) {
		sorted := versions[product]
		slices.SortFunc(sorted, func(a, b string) int { return semver.Compare("v"+a, "v"+b) })
		fmt.Fprintf(&rows, "| %s | %s |\n", product, strings.Join(slices.Compact(sorted), ", "))
	}
	return rows.String()
}
