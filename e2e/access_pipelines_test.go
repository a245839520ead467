package e2e

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A job of GitHub and a job of GitLab show their identity to the registry, by the lines of the examples, and install
// with the token that they get. Jobs of other repositories get no token, and see why.
func TestPipelinesInstallWithoutSecrets(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	r := startClosed(t, setUp{hostname: ownHostname, issuers: ca})
	publishAcme(t, r)
	hosts := startIssuer(t, ca)
	for name, claim := range map[string]string{"github": "repository_owner=acme", "gitlab": "namespace_path=acme"} {
		r.operate(t, "trust", "add", name, "--issuer", hosts.url, "--audience", "https://"+r.host, "--claim", claim,
			"--scope", "read modules:acme/*", "--scope", "read providers:acme/*")
	}
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	writeFile(t, trusted, string(readFile(t, r.vars["SSL_CERT_FILE"]))+string(readFile(t, ca.file)))
	jobs := []job{gitHubJob(t, hosts, trusted), gitLabJob(t, hosts, trusted)}
	forEachClient(t, func(t *testing.T, c client) {
		for _, j := range jobs {
			t.Run(j.host, func(t *testing.T) {
				j.installs(t, c, r)
				j.isDenied(t, c, r)
			})
		}
	})
	checkSays(t, r.operate(t, "token", "list", "--all"), "exchange", "repo:acme/infra:ref:refs/heads/main", "project_path:acme/infra:")
	checkSays(t, r.operate(t, "token", "list"), "of pipelines")
}

// job is the part of a pipeline that gets a token.
type job struct {
	pipeline
	trusted  string                                                          // a file of certificates: the registry's, and those of the issuers
	identify func(t testing.TB, r *registry, owner string) map[string]string // the environment that its host gives it
}

func gitHubJob(t testing.TB, i *issuer, trusted string) job {
	t.Helper()
	p := gitHubPipeline(t, "../examples/github-actions/install.yml", "Get a token")
	return job{p, trusted, func(_ testing.TB, _ *registry, owner string) map[string]string {
		return map[string]string{
			"ACTIONS_ID_TOKEN_REQUEST_URL":   i.jobURL(owner + "/infra"),
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN": jobSecret,
		}
	}}
}

func gitLabJob(t testing.TB, i *issuer, trusted string) job {
	t.Helper()
	var jobs map[string]struct {
		Variables    map[string]string
		BeforeScript []string `yaml:"before_script"`
	}
	const file = "../examples/gitlab-ci/install.yml"
	if err := yaml.Unmarshal(readFile(t, file), &jobs); err != nil {
		t.Fatal(err)
	}
	plan := jobs["plan"]
	if len(plan.BeforeScript) < 2 || !strings.HasPrefix(plan.BeforeScript[0], "apk add") {
		t.Fatalf("%s does not begin with installing curl", file)
	}
	p := pipeline{"gitlab", plan.Variables, strings.Join(plan.BeforeScript[1:], "\n") + "\nenv | grep ^TF_TOKEN_ >>\"$GITHUB_ENV\"\n"}
	return job{p, trusted, func(t testing.TB, r *registry, owner string) map[string]string {
		t.Helper()
		identity, err := i.identity("https://"+r.host, gitLabClaims(owner, "infra"))
		if err != nil {
			t.Fatal(err)
		}
		return map[string]string{"LARDER_ID_TOKEN": identity}
	}}
}

// run runs the lines that get a token, for a repository of owner, and returns what they leave in the environment.
func (j job) run(t testing.TB, r *registry, owner string) (env map[string]string, out string, err error) {
	t.Helper()
	if j.env["LARDER_HOST"] != r.host {
		t.Errorf("the example is for %q", j.env["LARDER_HOST"])
	}
	file := filepath.Join(t.TempDir(), "env")
	all := maps.Clone(r.vars)
	maps.Copy(all, j.env)
	maps.Copy(all, j.identify(t, r, owner))
	all["GITHUB_ENV"] = file
	all["SSL_CERT_FILE"] = j.trusted
	out, err = command{dir: t.TempDir(), env: all, argv: []string{"bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", j.script}}.run()
	if err != nil {
		return nil, err.Error(), err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	env = map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		env[name] = value
	}
	return env, out, nil
}

// installs wants a job of acme to get a token, alone and hidden from its log, and to install with it.
func (j job) installs(t *testing.T, c client, r *registry) {
	t.Helper()
	env, out, err := j.run(t, r, "acme")
	if err != nil {
		t.Fatal(err)
	}
	token := env[tokenVariable(r.host)]
	if len(env) != 1 || !tokenText.MatchString(token) {
		t.Fatalf("it leaves %v", env)
	}
	if bare := hidden.ReplaceAllString(out, ""); strings.Contains(bare, "larder_") || strings.Contains(bare, "eyJ") {
		t.Errorf("its log has what is secret:\n%s", out)
	}
	w := c.workspace(t, r, acmeConfig)
	maps.Copy(w.env, env)
	w.run(t, "init", "-input=false")
}

// hidden is a line that has GitHub hide a value in the log.
var hidden = regexp.MustCompile(`(?m)^::add-mask::.*$`)

// isDenied wants a job of somebody else's repository to get no token, and to see why.
func (j job) isDenied(t *testing.T, c client, r *registry) {
	t.Helper()
	env, out, err := j.run(t, r, "acme-evil")
	if err == nil {
		t.Fatalf("it gets %v", env)
	}
	checkSays(t, out, "no token", "no rule of this registry fits its claims", "acme-evil/infra")
	w := c.workspace(t, r, acmeConfig)
	w.refuses(t, isUnauthorized, "init", "-input=false")
}

// exchange asks for a token for the identity of a repository of owner.
func (r *registry) exchange(t testing.TB, i *issuer, owner string) answer {
	t.Helper()
	identity, err := i.identity("test", gitHubClaims(owner, "infra"))
	if err != nil {
		t.Fatal(err)
	}
	return r.exchangeIdentity(t, identity)
}

// exchangeIdentity asks for a token for an identity, as curl does.
func (r *registry) exchangeIdentity(t testing.TB, identity string) answer {
	t.Helper()
	form := url.Values{
		"grant_type":         {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
		"subject_token":      {identity},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+r.host+"/v1/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.do(t, request)
}
