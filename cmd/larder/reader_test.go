package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// standIn is a registry that answers each path with one document, to those with a token.
type standIn struct {
	*httptest.Server
	dir string
}

func newStandIn(t *testing.T, documents map[string]string) *standIn {
	t.Helper()
	s := &standIn{dir: t.TempDir()}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		switch {
		case r.Header.Get("Authorization") != "Bearer good":
			w.WriteHeader(http.StatusUnauthorized)
			document = `{"errors":["this registry wants a token"]}`
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			document = `{"errors":["there is nothing at ` + r.URL.Path + `"]}`
		}
		_, _ = w.Write([]byte(document))
	}))
	t.Cleanup(s.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(s.dir, "ca.pem"), certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *standIn) host() string { return strings.TrimPrefix(s.URL, "https://") }

// token stores the token of a login.
func (s *standIn) token(t *testing.T, token string) {
	t.Helper()
	folder := filepath.Join(s.dir, ".terraform.d")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	content := `{"credentials":{"` + s.host() + `":{"token":"` + token + `"}}}`
	if err := os.WriteFile(filepath.Join(folder, "credentials.tfrc.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is the larder command in a process that trusts the registry.
func (s *standIn) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, self, args...)
	command.Dir = s.dir
	command.Env = []string{asCommand + "=1", "HOME=" + s.dir, "SSL_CERT_FILE=" + filepath.Join(s.dir, "ca.pem"), "LARDER_HOST=" + s.host()}
	return command
}

func (s *standIn) run(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	printed, err := s.command(t.Context(), t, args...).CombinedOutput()
	return string(printed), err == nil
}

const (
	someModules = `{"meta":{"limit":20,"current_offset":0,"next_offset":20},"modules":[
{"id":"acme/vpc/aws/1.1.0","namespace":"acme","name":"vpc","provider":"aws","version":"1.1.0","description":"Makes\na network.","published_at":"2026-01-02T03:04:05Z","larder":{"status":"deprecated","message":"old","versions":2}}],"larder":{"total":9}}`
	someProviders = `{"meta":{},"providers":[{"namespace":"acme","name":"widget\u001b[2J","version":"0.1.0","description":"","larder":{"status":"listed","versions":1}}],"larder":{"total":1}}`
	noProviders   = `{"meta":{},"providers":[],"larder":{"total":0}}`
	someModule    = `{"namespace":"acme","name":"vpc","provider":"aws","version":"1.1.0","source":"https://git.example.com/acme/vpc","published_at":"2026-01-02T03:04:05Z","versions":["1.0.0","1.1.0"],
"root":{"inputs":[{"name":"cidr","type":"string","description":"The range.\u001b[2J","required":true},{"name":"tags","type":"map(string)","default":"{}","description":"x","larder":{"deprecated":"Use labels.","sensitive":true}}],
"outputs":[{"name":"id","description":"Its ID.","larder":{"ephemeral":true}}],"resources":[{"type":"aws_vpc","name":"this"}],"provider_dependencies":[{"name":"aws","source":"hashicorp/aws","version":"> 5"}],"dependencies":[{"name":"dns","source":"./modules/dns","version":""}]},
"submodules":[{"path":"modules/dns","inputs":[{"name":"zone","type":"string","required":true}],"outputs":[]}],"examples":[],
"larder":{"status":"deprecated","message":"Use 2.0.0.","deprecated_versions":["1.1.0"],"problems":["main.tf, line 3: odd."]}}`
	someProvider = `{"namespace":"acme","name":"widget","version":"0.1.0","versions":["0.1.0"],"docs":[{"id":"resources/thing","title":"widget_thing"}],"larder":{"status":"listed","signer":"registry","keys":["0123456789ABCDEF"],"packages":[{"os":"linux","arch":"amd64"}]}}`
)

func TestReaders(t *testing.T) {
	s := newStandIn(t, map[string]string{
		"/v1/modules": someModules, "/v1/providers": someProviders, "/v1/modules/acme": strings.Replace(someModules, `,"next_offset":20`, "", 1), "/v1/providers/acme": noProviders,
		"/v1/modules/none": `{"modules":[],"larder":{"total":0}}`, "/v1/providers/none": noProviders,
		"/v1/modules/acme/vpc/aws": someModule, "/v1/modules/acme/vpc/aws/1.1.0": someModule, "/v1/providers/acme/widget": someProvider,
		"/v1/providers/acme/widget/0.1.0/docs/resources/thing.md": "# Thing\n",
		"/v1/modules/acme/vpc/aws.md":                             "# Module\r\n\tx\x1b[2J\n",
	})
	if out, ok := s.run(t, "search", "vpc"); ok || !strings.Contains(out, "this registry wants a token") {
		t.Errorf("without a token: %s", out)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".terraformrc"), []byte("x = {"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, ok := s.run(t, "search", "vpc"); ok || !strings.Contains(out, "wants a token (") || !strings.Contains(out, ".terraformrc cannot be read") {
		t.Errorf("with a configuration that cannot be read: %s", out)
	}
	s.token(t, "good")
	const facts = `acme/vpc/aws 1.1.0
  status     deprecated: Use 2.0.0.
  published  2026-01-02T03:04:05Z
  source     https://git.example.com/acme/vpc
  versions   1.1.0 (deprecated), 1.0.0
`
	for _, tt := range []struct{ line, want string }{
		{"search vpc aws", "KIND      ADDRESS          VERSION  STATUS      PUBLISHED   DESCRIPTION\n" +
			"module    acme/vpc/aws     1.1.0    deprecated  2026-01-02  Makes a network.\n" +
			"provider  acme/widget\uFFFD[2J  0.1.0    listed      -           -\n" + "and 8 more\n"},
		{"search vpc --namespace acme --kind modules --limit 1", "KIND    ADDRESS       VERSION  STATUS      PUBLISHED   DESCRIPTION\nmodule  acme/vpc/aws  1.1.0    deprecated  2026-01-02  Makes a network.\nand 8 more\n"},
		{"search nothing --namespace none", "there is nothing for nothing that you may read\n"},
		{"list --registry HOST none", "there is nothing that you may read\n"},
		{"list --registry HOST acme/vpc/aws", "VERSION  STATUS\n1.1.0    deprecated\n1.0.0    listed\n"},
		{"list --registry HOST acme", "module  acme/vpc/aws  1.1.0"},
		{"show acme/vpc/aws", facts + `
INPUT  TYPE         DEFAULT     DESCRIPTION
cidr   string       (required)  The range.` + "\uFFFD" + `[2J
tags   map(string)  {}          (sensitive, deprecated: Use labels.) x

OUTPUT  DESCRIPTION
id      (ephemeral) Its ID.

PROVIDER  SOURCE         VERSIONS
aws       hashicorp/aws  > 5

CALLS  SOURCE         VERSION
dns    ./modules/dns  -

RESOURCE  NAME
aws_vpc   this

SUBMODULE OR EXAMPLE  INPUTS  OUTPUTS
modules/dns           1       0

NOT READ
main.tf, line 3: odd.
`},
		{"show acme/vpc/aws --version 1.1.0 --part modules/dns", facts + "\nINPUT  TYPE    DEFAULT     DESCRIPTION\nzone   string  (required)  -\n"},
		{"show acme/widget", `acme/widget 0.1.0
  status     listed
  platforms  linux_amd64
  signed by  registry, key 0123456789ABCDEF
  versions   0.1.0

PAGE             TITLE
resources/thing  widget_thing
`},
		{"show acme/vpc/aws --markdown", "# Module\n    x\uFFFD[2J\n"},
		{"show acme/widget --page resources/thing", "# Thing\n"},
		{"show acme/widget --page resources/thing --version 0.1.0", "# Thing\n"},
		{"--version", thisBuild().String() + "\n"},
		{"version", thisBuild().String() + "\n"},
	} {
		out, ok := s.run(t, strings.Fields(strings.ReplaceAll(tt.line, "HOST", s.host()))...)
		if !ok || !strings.Contains(out, tt.want) {
			t.Errorf("larder %s: %v\n%s\nwant\n%s", tt.line, ok, out, tt.want)
		}
	}
	for _, line := range []string{"search vpc --json", "show acme/vpc/aws --json", "show acme/widget --json", "version --json", "list acme/vpc/aws --json --registry " + s.host(), "list acme --json --registry " + s.host()} {
		if out, ok := s.run(t, strings.Fields(line)...); !ok || !json.Valid([]byte(out)) {
			t.Errorf("larder %s: %s", line, out)
		}
	}
	for line, want := range map[string]string{
		"show acme/none/aws":                    "larder: " + s.host() + " answers: there is nothing at /v1/modules/acme/none/aws",
		"show acme/vpc/aws --part modules/none": `has no submodule or example "modules/none"`,
		"show acme/vpc/aws --page resources/x":  "--page is for providers",
		"show acme/widget --page thing":         "give category/slug",
		"show acme/widget --page guides/none":   "there is nothing at /v1/providers/acme/widget/0.1.0/docs/guides/none.md",
		"show acme/none --page guides/none":     "there is nothing at /v1/providers/acme/none",
		"show acme/vpc/aws/1.1.0":               "write acme/vpc/aws --version 1.1.0",
		"search vpc --registry 127.0.0.1:1":     "127.0.0.1:1: ",
	} {
		if out, ok := s.run(t, strings.Fields(line)...); ok || !strings.Contains(out, want) {
			t.Errorf("larder %s: %s, want %q", line, out, want)
		}
	}
}

// What an assistant reads is the protocol, and nothing else: also where the registry refuses.
func TestMCPCommand(t *testing.T) {
	s := newStandIn(t, map[string]string{"/mcp": "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"})
	ask := func() (out, complaints string) {
		command := s.command(t.Context(), t, "mcp")
		command.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
		var stdout, stderr bytes.Buffer
		command.Stdout, command.Stderr = &stdout, &stderr
		if err := command.Run(); err != nil {
			t.Errorf("%v: %s", err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	if out, complaints := ask(); out != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"`+s.host()+` answers: this registry wants a token"}}`+"\n" || complaints != "" {
		t.Errorf("without a token: %s %s", out, complaints)
	}
	s.token(t, "good")
	if out, complaints := ask(); out != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" || complaints != "" {
		t.Errorf("%s %s", out, complaints)
	}
}
