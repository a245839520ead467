package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A real assistant's client starts larder mcp, lists the tools and calls each of them; and the
// commands for readers say the same.
func TestReadersOfANode(t *testing.T) {
	n := newNode(t)
	n.publish(t)
	folder := filepath.Join(n.dir, "vpc")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"main.tf":   "variable \"cidr_block\" {\n  type        = string\n  description = \"The range of the network.\"\n}\n\noutput \"id\" {\n  value = \"x\"\n}\n",
		"README.md": "# VPC\n\nA network for everybody.\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n.must(t, `. .larder/env
		larder publish vpc --module acme/vpc/aws --version 1.0.0`, "published")

	const env = ". .larder/env\n"
	n.must(t, env+"larder search cidr_block", "module", "acme/vpc/aws", "1.0.0", "A network for everybody.")
	n.must(t, env+"larder search widget", "provider", "acme/widget")
	n.must(t, env+"larder search nothing-like-it", "there is nothing for nothing-like-it that you may read")
	n.must(t, env+"larder show acme/vpc/aws", "cidr_block", "(required)", "The range of the network.")
	n.must(t, env+"larder show acme/vpc/aws --markdown", "# Module acme/vpc/aws 1.0.0", "> A network for everybody.")
	n.must(t, env+"larder show acme/widget", "linux_amd64", "signed by")
	n.must(t, env+`larder list --registry "$LARDER_HOST"`, "acme/vpc/aws", "acme/network/aws", "acme/widget")
	n.must(t, env+`larder list --registry "$LARDER_HOST" acme/vpc/aws`, "1.0.0")
	n.mustFail(t, env+"larder show acme/missing/aws", "there is no module acme/missing/aws")
	var details struct{ Version string }
	if out := n.must(t, env+"larder show acme/vpc/aws --json"); json.Unmarshal([]byte(out), &details) != nil || details.Version != "1.0.0" {
		t.Errorf("as JSON: %s", out)
	}

	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: n.command(t.Context(), "sh", "-euc", env+"exec larder mcp")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	for _, tt := range []struct {
		tool string
		in   map[string]any
		want string
	}{
		{"search", map[string]any{"text": "vpc"}, "acme/vpc/aws"},
		{"show_module", map[string]any{"address": "acme/vpc/aws"}, "| `cidr_block` | `string` |"},
		{"show_provider", map[string]any{"address": "acme/widget"}, "# Provider acme/widget 1.0.0"},
		{"newest_version", map[string]any{"address": "acme/vpc/aws"}, "`1.0.0`"},
		{"list_versions", map[string]any{"address": "acme/network/aws"}, "1.2.3"},
	} {
		names = slices.DeleteFunc(names, func(name string) bool { return name == tt.tool })
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: tt.in})
		if err != nil || result.IsError || len(result.Content) != 1 {
			t.Errorf("%s: %+v, %v", tt.tool, result, err)
			continue
		}
		if text, ok := result.Content[0].(*mcp.TextContent); !ok || !strings.Contains(text.Text, tt.want) {
			t.Errorf("%s: %+v, want %q", tt.tool, result.Content[0], tt.want)
		}
	}
	if len(names) > 0 {
		t.Errorf("not called: %q", names)
	}
	var page []byte
	if _, page = n.ask(t, "/llms.txt", ""); !strings.Contains(string(page), "/mcp") {
		t.Errorf("/llms.txt: %s", page)
	}
}
