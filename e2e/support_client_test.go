package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// client is one release of Terraform or OpenTofu.
type client struct {
	product string // Terraform or OpenTofu
	version string
	path    string
	origin  string // where its binary comes from
}

func (c client) String() string { return c.product + " " + c.version }

// newClient asks the binary at path what it is.
func newClient(path, origin string) (client, error) {
	settings := map[string]string{"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.DevNull}
	out, err := command{env: settings, argv: []string{path, "version", "-json"}}.run()
	if err != nil {
		return client{}, fmt.Errorf("%w\nbuild it with `make test`", err)
	}
	var stated struct {
		Version string `json:"terraform_version"`
	}
	if err := json.Unmarshal([]byte(out), &stated); err != nil {
		return client{}, fmt.Errorf("%s version -json: %w", path, err)
	}
	product := "Terraform"
	if strings.HasPrefix(filepath.Base(path), "tofu") {
		product = "OpenTofu"
	}
	return client{product, stated.Version, path, origin}, nil
}

// forEachClient runs test as a subtest for every client.
func forEachClient(t *testing.T, test func(t *testing.T, c client)) {
	for _, c := range clients {
		t.Run(strings.ReplaceAll(c.String(), " ", "-"), func(t *testing.T) { test(t, c) })
	}
}

// workspace is a root module in a folder of its own, to be worked on by one client against one registry.
type workspace struct {
	dir    string
	client client
	env    map[string]string
}

// workspace writes main.tf, in which HOST stands for the registry's host.
func (c client) workspace(t testing.TB, r *registry, main string) workspace {
	t.Helper()
	dir := t.TempDir()
	w := workspace{dir, c, maps.Clone(r.vars)}
	w.env["CHECKPOINT_DISABLE"] = "1"
	w.env["TF_IN_AUTOMATION"] = "1"
	w.env["TF_CLI_CONFIG_FILE"] = filepath.Join(dir, "cli.tfrc")
	writeFile(t, w.env["TF_CLI_CONFIG_FILE"], "provider_installation {\n  direct {}\n}\n")
	writeFile(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(main, "HOST", r.host))
	return w
}

// command is the client with args, the subcommand first.
func (w workspace) command(args ...string) command {
	env := maps.Clone(w.env)
	env["TF_CLI_ARGS"] = "-no-color" // which goes after the whole of the subcommand, be it two words
	return command{dir: w.dir, env: env, argv: append([]string{w.client.path}, args...)}
}

// run runs the client, which has to succeed, and returns what it printed.
func (w workspace) run(t testing.TB, args ...string) string {
	t.Helper()
	return w.command(args...).must(t)
}

// outputs returns the root module's outputs after an apply, all of which are strings.
func (w workspace) outputs(t testing.TB) map[string]string {
	t.Helper()
	var doc map[string]struct{ Value string }
	if err := json.Unmarshal([]byte(w.run(t, "output", "-json")), &doc); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for name, output := range doc {
		values[name] = output.Value
	}
	return values
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
