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

// The README's lines to copy do what the README says, one after the other, in a shell that has nothing else.
func TestREADME(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	dir := t.TempDir()
	if err := os.Symlink(n.data, filepath.Join(dir, ".larder")); err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(clients, func(c client) bool { return c.product == "Terraform" })
	if at < 0 {
		t.Fatal("the README says terraform, and there is none")
	}
	if err := os.Symlink(clients[at].path, filepath.Join(dir, "terraform")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".cache", "bin"), 0o700), os.Symlink(larder, filepath.Join(dir, ".cache", "bin", "larder"))); err != nil {
		t.Fatal(err)
	}
	shell := func(script string) string {
		return command{
			dir:  dir,
			env:  map[string]string{"PATH": dir + string(os.PathListSeparator) + os.Getenv("PATH"), "CHECKPOINT_DISABLE": "1", "AWS_PROFILE": "mine"},
			argv: []string{"sh", "-euc", script},
		}.must(t)
	}

	back := "eval \"$(larder env --unset)\"; echo \"<$AWS_PROFILE ${AWS_ENDPOINT_URL_S3-}>\"\n"
	if out := shell(readmeBlock(t, "module") + back); !strings.Contains(out, "Hello from Larder") || !strings.HasSuffix(out, "<mine >\n") {
		t.Errorf("terraform apply and larder env --unset printed\n%s", out)
	}
	n.expect(t, n.latest(t, "modules/acme/hello/null/1.0.0.tar.gz"), published)
	if out := shell(". .larder/env\n" + readmeBlock(t, "status")); !strings.Contains(out, published) {
		t.Errorf("aws s3api get-object-tagging printed\n%s", out)
	}
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
