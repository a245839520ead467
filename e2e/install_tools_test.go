package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tools are the programs to be tried beside Terraform and OpenTofu, each as build-clients names it.
var tools = strings.Fields(os.Getenv("LARDER_E2E_TOOLS"))

// toolNames are the products as the README's table has them, by the names that build-clients gives them.
var toolNames = map[string]string{"cdktf": "CDK for Terraform", "checkov": "Checkov", "renovate": "Renovate", "trivy": "Trivy"}

// tool is a program that build-clients has built.
type tool struct {
	name, version string
	dir           string // what build-clients made of it
}

// splitTool is the product and the version of a name such as checkov-3.3.30.
func splitTool(name string) (product, version string) {
	product, version, _ = strings.Cut(name, "-")
	return toolNames[product], version
}

// needTool is the tool of a name. If the run does not want it, it skips the test.
func needTool(t testing.TB, name string) tool {
	t.Helper()
	for _, wanted := range tools {
		if version, ok := strings.CutPrefix(wanted, name+"-"); ok {
			return tool{name, version, filepath.Join(built, wanted)}
		}
	}
	t.Skipf("%s is tried by `make test-clients`", name)
	return tool{}
}

// node is the release of Node.js that a tool came with.
func (t tool) node() string {
	found, _ := filepath.Glob(filepath.Join(t.dir, "node_modules", "node-*-*", "bin", "node"))
	return strings.Join(found, "")
}

// shelf is a registry that wants a token, has a name and holds what tools look for.
type shelf struct {
	*registry
	token string
}

// bucketModule makes a module with a resource in it. Its versions differ.
func bucketModule(t testing.TB, version string) []byte {
	t.Helper()
	return tarGzOf(t, entry{name: "main.tf", body: []byte(`# ` + version + `
variable "name" {
  type        = string
  description = "The bucket's name."
  default     = "larder"
}

resource "aws_s3_bucket" "this" {
  bucket = var.name
}

output "name" { value = aws_s3_bucket.this.bucket }
`)})
}

func newShelf(t testing.TB) shelf {
	t.Helper()
	r := startClosed(t, setUp{hostname: ownHostname})
	const module, provider = "modules/acme/bucket/aws/", "providers/acme/widget/terraform-provider-widget_"
	r.publishAll(t, map[string][]byte{
		module + "1.0.0.tar.gz":                     bucketModule(t, "1.0.0"),
		module + "1.1.0.tar.gz":                     bucketModule(t, "1.1.0"),
		module + "2.0.0-rc.1.tar.gz":                bucketModule(t, "2.0.0-rc.1"),
		provider + "1.0.0_" + hostPlatform + ".zip": providerZip(t, "widget", "1.0.0", "first"),
		provider + "1.1.0_" + hostPlatform + ".zip": providerZip(t, "widget", "1.1.0", "second"),
	})
	return shelf{r, r.newToken(t, "tools", "read modules:acme/*", "read providers:acme/*")}
}

// folder makes a folder with a main.tf, in which HOST stands for the registry's host.
func (s shelf) folder(t testing.TB, main string) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "main.tf"), strings.ReplaceAll(main, "HOST", s.host))
	return dir
}

// environment is a tool's environment, with settings of its own.
func (s shelf) environment(own map[string]string) map[string]string {
	env := maps.Clone(s.vars)
	env["NODE_EXTRA_CA_CERTS"], env["REQUESTS_CA_BUNDLE"] = s.vars["SSL_CERT_FILE"], s.vars["SSL_CERT_FILE"]
	maps.Copy(env, own)
	return env
}

const bucketConfig = `module "bucket" {
  source  = "HOST/acme/bucket/aws"
  version = "~> 1.0"
}
`

// Checkov scans a module that it downloads by itself, with a token. It gets no constraint, because with one it would
// choose the pre-release.
func TestToolCheckov(t *testing.T) {
	t.Parallel()
	checkov, s := needTool(t, "checkov"), newShelf(t)
	dir := s.folder(t, strings.Replace(bucketConfig, "~> 1.0", "1.1.0", 1))
	out := command{dir: dir, env: s.environment(map[string]string{
		"TF_HOST_NAME":      s.host,
		"TF_REGISTRY_TOKEN": s.token,
		"PROXY_URL":         s.vars["HTTPS_PROXY"],
		"PROXY_CA_PATH":     s.vars["SSL_CERT_FILE"],
	}), argv: []string{
		filepath.Join(checkov.dir, "bin", "python"), "-m", "checkov.main", "--directory", dir, "--framework", "terraform",
		"--download-external-modules", "true", "--external-modules-download-path", "modules", "--skip-download",
		"--soft-fail", "--compact", "--output", "json",
	}}.must(t)
	checkSays(t, out, "module.bucket.aws_s3_bucket.this", s.host+"/acme/bucket/aws/1.1.0/main.tf")
}

// Trivy finds the newest version of a module without a version, and the newest that a constraint allows.
func TestToolTrivy(t *testing.T) {
	t.Parallel()
	trivy, s := needTool(t, "trivy"), newShelf(t)
	for name, config := range map[string]string{
		"constraint": bucketConfig,
		"newest":     "module \"bucket\" {\n  source = \"HOST/acme/bucket/aws\"\n}\n",
	} {
		t.Run(name, func(t *testing.T) {
			out := command{
				env:  s.environment(map[string]string{tokenVariable(s.host): s.token, "HOME": t.TempDir(), "TMPDIR": t.TempDir()}),
				argv: []string{trivy.dir, s.folder(t, config)},
			}.must(t)
			checkSays(t, out, "module.bucket.aws_s3_bucket.this")
		})
	}
}

const updatesConfig = `module "bucket" {
  source  = "HOST/acme/bucket/aws"
  version = "1.0.0"
}

terraform {
  required_providers {
    widget = {
      source  = "HOST/acme/widget"
      version = "1.0.0"
    }
  }
}
`

// Renovate proposes newer versions of a module and of a provider, by the token of a host rule.
func TestToolRenovate(t *testing.T) {
	t.Parallel()
	renovate, s := needTool(t, "renovate"), newShelf(t)
	dir := s.folder(t, updatesConfig)
	rules, err := json.Marshal([]map[string]string{{"matchHost": s.host, "token": s.token}})
	if err != nil {
		t.Fatal(err)
	}
	out := command{dir: dir, env: s.environment(map[string]string{
		"HOME":                      t.TempDir(),
		"LOG_FORMAT":                "json",
		"LOG_LEVEL":                 "debug",
		"RENOVATE_DRY_RUN":          "lookup",
		"RENOVATE_ENABLED_MANAGERS": `["terraform"]`,
		"RENOVATE_HOST_RULES":       string(rules),
		"RENOVATE_PLATFORM":         "local",
	}), argv: []string{renovate.node(), filepath.Join(renovate.dir, "node_modules", "renovate", "dist", "renovate.js")}}.must(t)
	want := map[string]string{s.host + "/acme/bucket/aws": "1.1.0", "acme/widget": "1.1.0"}
	if got := proposals(t, out); !maps.Equal(got, want) {
		t.Errorf("Renovate proposes %v, want %v:\n%s", got, want, out)
	}
}

// proposals are the versions that Renovate's log proposes, by the package's name.
func proposals(t testing.TB, log string) map[string]string {
	t.Helper()
	proposed := map[string]string{}
	for line := range strings.Lines(log) {
		var entry struct {
			Config map[string][]struct {
				Deps []struct {
					PackageName string
					Updates     []struct{ NewVersion string }
				}
			}
		}
		if json.Unmarshal([]byte(line), &entry) != nil { // most lines are of another shape
			continue
		}
		for _, file := range entry.Config["terraform"] {
			for _, dependency := range file.Deps {
				for _, update := range dependency.Updates {
					proposed[dependency.PackageName] = update.NewVersion
				}
			}
		}
	}
	return proposed
}

// CDK for Terraform generates code from a module, with the Terraform on PATH and its token.
func TestToolCDKTF(t *testing.T) {
	t.Parallel()
	cdktf, s := needTool(t, "cdktf"), newShelf(t)
	dir, bin := t.TempDir(), t.TempDir()
	if err := os.Symlink(filepath.Join(built, "terraform-1.5.7"), filepath.Join(bin, "terraform")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "cdktf.json"), fmt.Sprintf(`{
  "language": "python",
  "app": "true",
  "codeMakerOutput": "made",
  "projectId": "larder",
  "sendCrashReports": "false",
  "terraformModules": [{"name": "bucket", "source": "%s/acme/bucket/aws", "version": "~> 1.0"}]
}`, s.host))
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("there is no Node.js: https://nodejs.org/")
	}
	path := strings.Join([]string{bin, filepath.Dir(node), os.Getenv("PATH")}, string(os.PathListSeparator))
	command{dir: dir, env: s.environment(map[string]string{
		"CHECKPOINT_DISABLE": "1", "CI": "1", "HOME": t.TempDir(), "PATH": path, tokenVariable(s.host): s.token,
	}), argv: []string{node, filepath.Join(cdktf.dir, "node_modules", "cdktf-cli", "bundle", "bin", "cdktf"), "get"}}.must(t)
	checkSays(t, string(readFile(t, filepath.Join(dir, "made", "bucket", "__init__.py"))), "class Bucket", "The bucket's name.")
}
