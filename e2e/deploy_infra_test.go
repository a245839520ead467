package e2e

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// infraRoot is a configuration with a registry as the example makes it.
const infraRoot = `
module "example" {
  source      = "../infra/examples/complete"
  bucket      = "acme-registry"
  domain      = "registry.example.com"
  zone        = "example.com"
  alarm_email = "ops@example.com"
}

output "registry" {
  value = module.example.registry
}
`

// infraOther is another registry in the same configuration, with code of its own, with all that some organizations
// require, and with keys that are made by the same apply.
const infraOther = `
module "registry" {
  source           = "../infra"
  bucket_name      = "other-registry"
  build_dir        = "../other"
  mirror_upstreams = "registry.terraform.io/hashicorp/*"

  permissions_boundary_arn = "arn:aws:iam::111122223333:policy/boundary"
  subnet_ids               = ["subnet-0a", "subnet-0b"]
  security_group_ids       = ["sg-0c"]
  queue_key_arn            = aws_kms_key.own.arn
  topic_key_arn            = aws_kms_key.own.arn
  log_key_arn              = aws_kms_key.own.arn
  multi_region_key         = true
  more_alarms              = true

  domain_name     = "other.example.com"
  certificate_arn = "arn:aws:acm:eu-central-1:111122223333:certificate/1"

  hosted_zone_id         = terraform_data.later["zone"].output
  create_record          = true
  uploader_namespace     = terraform_data.later["namespace"].output
  create_uploader_policy = true
  allow_overwrite        = true
}

# What is not known before it is applied.
resource "terraform_data" "later" {
  for_each = { zone = "Z0123456789", namespace = "acme" }
  input    = each.value
}

resource "aws_kms_key" "own" {}
`

// infraWrong contradicts the schema: it has an unknown argument, lacks one, and has one of another type.
const infraWrong = `
resource "aws_sqs_queue_policy" "wrong" {
  queue_url = []
  polcy     = "{}"
}
`

// TestInfra has the real clients apply, change and destroy infra/, with a stub of the AWS provider that has the
// published schema. Texts stand in for the functions' zips.
func TestInfra(t *testing.T) {
	only(t, deployed)
	forEachClient(t, func(t *testing.T, c client) {
		if !slices.Contains(wanted, filepath.Base(c.path)) {
			t.Skip("it takes long, and what is on PATH by chance adds little")
		}
		t.Parallel()
		d := newDeployer(t, c)
		d.configure(t, infraRoot+infraOther+infraWrong)
		d.run(t, "init")
		_, err := d.command("validate").run()
		checkFailed(t, err, `An argument named "polcy" is not expected here.`, `The argument "policy" is required`, `Inappropriate value for attribute "queue_url": string required`)
		d.configure(t, infraRoot+infraOther)
		d.run(t, "validate")
		d.run(t, "plan", "-out", "plan")

		d = d.cleanJob(t)
		_, err = d.command("apply", "plan").run()
		checkFailed(t, err, "There is no ../infra/../build/publish.zip: run \"make build\" first, or name its folder with build_dir", "There is no ../other/login.zip: run")

		d = d.cleanJob(t)
		d.build(t)
		d.run(t, "apply", "plan")
		d.unchanged(t)
		d.checkState(t)
		d.rename(t)
		d.giveUp(t)
		d.adopt(t)
		d.stopFetching(t)
		d.takeOut(t)
		d.destroy(t)
	})
}

// deployer deploys by the module: a copy of the repository, as far as the module needs it, with a root module beside
// it.
type deployer struct{ workspace }

func newDeployer(t testing.TB, c client) deployer {
	t.Helper()
	repository := t.TempDir()
	if err := os.CopyFS(filepath.Join(repository, "infra"), os.DirFS("../infra")); err != nil {
		t.Fatal(err)
	}
	d := deployer{workspace{filepath.Join(repository, "root"), c, map[string]string{
		"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "TF_CLI_CONFIG_FILE": providerMirror(t),
		"GOGC": "400", // of the clients, which end before it would pay to collect more
	}}}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d.build(t)
	return d
}

// providerMirror is a client's configuration in which the stub is the only AWS provider.
func providerMirror(t testing.TB) string {
	t.Helper()
	stub, err := filepath.Abs(filepath.Join(filepath.Dir(larder), "awsstub"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stub); err != nil {
		t.Fatalf("%v: \"make e2e-binaries\" builds it", err)
	}
	mirror := t.TempDir()
	for _, host := range []string{"registry.terraform.io", "registry.opentofu.org"} {
		dir := filepath.Join(mirror, host, "hashicorp", "aws", "6.25.0", runtime.GOOS+"_"+runtime.GOARCH)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(stub, filepath.Join(dir, "terraform-provider-aws_v6.25.0")); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(mirror, "cli.tfrc")
	writeFile(t, config, fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", mirror))
	return config
}

// configure writes the root module.
func (d deployer) configure(t testing.TB, main string) {
	t.Helper()
	writeFile(t, filepath.Join(d.dir, "main.tf"), "provider \"aws\" {\n  region = \"eu-central-1\"\n}\n"+main)
}

// build plays `make build`, of two states of the repository.
func (d deployer) build(t testing.TB) {
	t.Helper()
	for _, folder := range []string{"build", "other"} {
		dir := filepath.Join(d.dir, "..", folder)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, function := range []string{"discovery", "versions", "download", "catalog", "publish", "login", "fetch"} {
			writeFile(t, filepath.Join(dir, function+".zip"), folder+" "+function)
		}
	}
}

// cleanJob is another copy of the repository, with the saved plan, and otherwise only what is committed.
func (d deployer) cleanJob(t testing.TB) deployer {
	t.Helper()
	repository := t.TempDir()
	job := deployer{workspace{filepath.Join(repository, "root"), d.client, d.env}}
	if err := os.CopyFS(filepath.Join(repository, "infra"), os.DirFS(filepath.Join(d.dir, "..", "infra"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(job.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"main.tf", ".terraform.lock.hcl", "plan"} {
		writeFile(t, filepath.Join(job.dir, file), string(readFile(t, filepath.Join(d.dir, file))))
	}
	job.run(t, "init")
	return job
}

// unchanged holds that there is nothing to do.
func (d deployer) unchanged(t testing.TB) {
	t.Helper()
	if out, err := d.command("plan", "-detailed-exitcode").run(); err != nil {
		t.Errorf("a second plan is not empty: %v\n%s", err, out)
	}
}

// checkState holds that each function has the code from the folder of its own registry, that the module's outputs name
// its functions and roles, and which records take over others.
func (d deployer) checkState(t testing.TB) {
	t.Helper()
	resources, outputs := d.state(t)
	checkCode(t, resources)
	if got, want := outputs.FunctionARNs, arnsOf("aws_lambda_function", resources); len(got) != 6 || !maps.Equal(got, want) {
		t.Errorf("the output function_arns is %v, want %v", got, want)
	}
	if got, want := outputs.RoleARNs, arnsOf("aws_iam_role", resources); len(got) != 7 || !maps.Equal(got, want) {
		t.Errorf("the output role_arns is %v, want %v", got, want)
	}
	var overwriting []string
	for _, r := range resources {
		if r.Type == "aws_route53_record" && r.Values["allow_overwrite"] == true {
			overwriting = append(overwriting, r.Address)
		}
	}
	slices.Sort(overwriting)
	if want := []string{`module.example.aws_route53_record.validation["registry.example.com"]`, "module.registry.aws_route53_record.registry[0]"}; !slices.Equal(overwriting, want) {
		t.Errorf("the records that take over others are %q, want %q", overwriting, want)
	}
}

// checkCode holds that each function of both registries has its own zip.
func checkCode(t testing.TB, resources []inState) {
	t.Helper()
	code, want := map[string]string{}, map[string]string{}
	for _, r := range resources {
		if r.Type != "aws_lambda_function" {
			continue
		}
		name := r.Values["function_name"].(string)
		code[name] = r.Values["code_sha256"].(string)
		for bucket, folder := range map[string]string{"acme-registry": "build", "other-registry": "other"} {
			if function, ok := strings.CutPrefix(name, bucket+"-"); ok {
				sum := sha256.Sum256([]byte(folder + " " + function))
				want[name] = base64.StdEncoding.EncodeToString(sum[:])
			}
		}
	}
	if len(code) != 13 || !maps.Equal(code, want) {
		t.Errorf("the code of the functions is %v, want %v", code, want)
	}
}

// arnsOf are the ARNs of the example's functions or roles, by their names without the registry's.
func arnsOf(kind string, resources []inState) map[string]string {
	arns := map[string]string{}
	for _, r := range resources {
		if r.Type == kind && strings.HasPrefix(r.Address, "module.example.module.registry.") {
			name := cmp.Or(r.Values["function_name"], r.Values["name"]).(string)
			arns[strings.TrimPrefix(name, "acme-registry-")] = r.Values["arn"].(string)
		}
	}
	return arns
}

// rename renames a module as the documents say, which changes nothing.
func (d deployer) rename(t testing.TB) {
	t.Helper()
	d.configure(t, infraRoot+infraRenamed+docBlock(t, infraPage, "moved"))
	d.run(t, "get")
	if out := d.run(t, "apply", "-auto-approve"); !strings.Contains(out, "Resources: 0 added, 0 changed, 0 destroyed.") {
		t.Errorf("a module that was renamed is changed:\n%s", out)
	}
}

const infraPage = "../docs/aws.md"

// infraRenamed is infraOther under another name.
var infraRenamed = strings.Replace(infraOther, `"registry"`, `"larder"`, 1)

// lasting is the part of a registry that stays when its configuration is removed.
var lasting = []string{
	"module.larder.aws_dynamodb_table.catalog",
	"module.larder.aws_kms_key.signing",
	"module.larder.aws_s3_bucket.registry",
	"module.larder.aws_s3_bucket_lifecycle_configuration.registry",
	"module.larder.aws_s3_bucket_ownership_controls.registry",
	"module.larder.aws_s3_bucket_policy.registry",
	"module.larder.aws_s3_bucket_public_access_block.registry",
	"module.larder.aws_s3_bucket_server_side_encryption_configuration.registry",
	"module.larder.aws_s3_bucket_versioning.registry",
}

// takeOut takes the module out of the configuration, without the documents' steps, and then puts it back.
func (d deployer) takeOut(t testing.TB) {
	t.Helper()
	d.configure(t, infraRoot)
	_, err := d.command("apply", "-auto-approve").run()
	checkFailed(t, err, "deleting S3 Bucket Policy: AccessDenied", "deleting DynamoDB Table: ValidationException", "deleting KMS Key: AccessDenied")
	if left := d.addresses(t, "module.larder."); !slices.Equal(left, lasting) {
		t.Errorf("what is left of it is %q, want %q", left, lasting)
	}
	d.configure(t, infraRoot+infraRenamed)
	if out := d.run(t, "plan"); !strings.Contains(out, " 0 to change, 0 to destroy.") {
		t.Errorf("what was left of it would be changed:\n%s", out)
	}
}

// giveUp takes it out as the documents say, and keeps its content.
func (d deployer) giveUp(t testing.TB) {
	t.Helper()
	if semver.Compare("v"+d.client.version, "v1.7.0") < 0 {
		d.documented(t, "state-rm", "module.larder")
	} else {
		d.documented(t, "removed", "module.larder")
	}
	d.configure(t, infraRoot)
	if out := d.run(t, "apply", "-auto-approve"); !strings.Contains(out, "Resources: 0 added, 0 changed, ") {
		t.Errorf("giving it up changes something:\n%s", out)
	}
	if left := d.addresses(t, "module.larder."); len(left) > 0 {
		t.Errorf("there is still %q", left)
	}
	if err := os.RemoveAll(filepath.Join(d.dir, "removed.tf")); err != nil {
		t.Fatal(err)
	}
}

// adopt takes back what was given up, as the documents say.
func (d deployer) adopt(t testing.TB) {
	t.Helper()
	imports := strings.NewReplacer("module.registry", "module.larder", "example-registry", "other-registry").Replace(docBlock(t, infraPage, "import"))
	d.configure(t, infraRoot+infraRenamed+imports)
	out := d.run(t, "apply", "-auto-approve")
	if !strings.Contains(out, "Resources: 4 imported, ") || !strings.Contains(out, " added, 4 changed, 0 destroyed.") {
		t.Errorf("it does not take back what there is:\n%s", out)
	}
}

// stopFetching has the mirror fetch nothing any more. The gateway deletes no integration that a route leads to, and a
// client deletes before it changes the route. So no integration may be deleted.
func (d deployer) stopFetching(t testing.TB) {
	t.Helper()
	d.configure(t, infraRoot+strings.Replace(infraRenamed, "mirror_upstreams", "# mirror_upstreams", 1))
	log := d.run(t, "apply", "-auto-approve")
	if !strings.Contains(log, `aws_lambda_function.this["fetch"]: Destruction complete`) {
		t.Errorf("the function fetch stays:\n%s", log)
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, "aws_apigatewayv2_integration.") && strings.Contains(line, ": Destroying...") {
			t.Errorf("an integration is deleted that routes lead to: %s", line)
		}
	}
	d.unchanged(t)
}

// destroy destroys both registries; the first try is refused.
func (d deployer) destroy(t testing.TB) {
	t.Helper()
	_, err := d.command("destroy", "-auto-approve").run()
	checkFailed(t, err, "nstance cannot be destroyed", "prevent_destroy set")
	d.documented(t, "state-rm", "module.example.module.registry")
	d.documented(t, "state-rm", "module.larder")
	d.run(t, "destroy", "-auto-approve")
	if left := d.addresses(t, ""); len(left) > 0 {
		t.Errorf("there is still %v", left)
	}
}

// documented runs lines of the documents, for the module of another address.
func (d deployer) documented(t testing.TB, block, module string) {
	t.Helper()
	script := strings.NewReplacer("terraform ", d.client.path+" ", "module.registry", module).Replace(docBlock(t, infraPage, block))
	command{dir: d.dir, env: d.env, argv: []string{"sh", "-euc", script}}.must(t)
}

// addresses are those of all resources that a client keeps below one.
func (d deployer) addresses(t testing.TB, below string) []string {
	t.Helper()
	var found []string
	for address := range strings.SplitSeq(d.run(t, "state", "list"), "\n") {
		if strings.HasPrefix(address, below) && address != "" && !strings.Contains(address, ".data.") {
			found = append(found, address)
		}
	}
	return found
}

// inState is one resource that a client keeps.
type inState struct {
	Address, Type string
	Values        map[string]any
}

// moduleOutputs are the module's outputs that are not texts.
type moduleOutputs struct {
	FunctionARNs map[string]string `json:"function_arns"`
	RoleARNs     map[string]string `json:"role_arns"`
}

// state is the client's state: the resources, and the example's outputs.
func (d deployer) state(t testing.TB) ([]inState, moduleOutputs) {
	t.Helper()
	type module struct {
		Resources    []inState
		ChildModules []json.RawMessage `json:"child_modules"`
	}
	var doc struct {
		Values struct {
			Outputs struct{ Registry struct{ Value moduleOutputs } }
			Root    json.RawMessage `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(d.run(t, "show", "-json")), &doc); err != nil {
		t.Fatal(err)
	}
	var all []inState
	for modules := []json.RawMessage{doc.Values.Root}; len(modules) > 0; modules = modules[1:] {
		var m module
		if err := json.Unmarshal(modules[0], &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m.Resources...)
		modules = append(modules, m.ChildModules...)
	}
	return all, doc.Values.Outputs.Registry.Value
}

// frame is what Terraform puts around the lines of an error.
var frame = regexp.MustCompile(`\s*\n[│╷╵]?\s*`)

// checkFailed holds that a client has failed with these words, wherever it breaks the lines.
func checkFailed(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("it did not fail, want %q", words)
		return
	}
	_, said, _ := strings.Cut(frame.ReplaceAllString(err.Error(), " "), "Error: ")
	if missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(said, w) }); len(missing) > 0 {
		t.Errorf("it does not say %q:\n%s", missing, said)
	}
}
