package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pinnedAction is an action of GitHub's at a commit, which nobody can move.
var pinnedAction = regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)

// The pipelines in examples/ are files to copy: they are YAML, call larder as it is, and pin the actions that they
// take.
func TestExamplePipelines(t *testing.T) {
	commands := 0
	for name, content := range exampleFiles(t, ".yml") {
		var document yaml.Node
		if err := yaml.Unmarshal(content, &document); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, text := range scalars(&document) {
			for _, words := range larderCommands(text) {
				commands++
				checkCommand(t, name, words)
			}
		}
		for _, action := range valuesOf(&document, "uses") {
			if !pinnedAction.MatchString(action) {
				t.Errorf("%s: %s is not pinned to a commit", name, action)
			}
		}
	}
	if commands < 4 {
		t.Errorf("the examples call larder %d times, want once each", commands)
	}
}

// job is a job of GitHub's or GitLab's, as far as what it may do and what it runs.
type job struct {
	Permissions map[string]string
	IDTokens    map[string]any `yaml:"id_tokens"`
	Needs       any
	Steps       []struct {
		Uses, Run string
		With, Env map[string]string
	}
	Before []string `yaml:"before_script"`
	Script []string
}

// builds is what runs the code of others: a compiler, and what calls one.
var builds = regexp.MustCompile(`\bgo (install|build|run|test)\b|\bgoreleaser (release|build)\b|^actions/setup-go@|^goreleaser/`)

// runs says whether the job runs anything like that.
func (j job) runs(what *regexp.Regexp) bool {
	lines := slices.Concat(j.Before, j.Script)
	for _, step := range j.Steps {
		lines = append(lines, step.Uses, step.Run)
		lines = slices.AppendSeq(lines, maps.Values(step.With))
		lines = slices.AppendSeq(lines, maps.Values(step.Env))
	}
	return slices.ContainsFunc(lines, what.MatchString)
}

// No pipeline that publishes builds anything in a job that holds credentials, and what larder it takes is for its
// owner to say: a commit or a release, and nothing that moves.
func TestExamplesBuildWithoutCredentials(t *testing.T) {
	published := 0
	for name, content := range exampleFiles(t, ".yml") {
		if !strings.HasSuffix(name, "/publish-module.yml") && !strings.HasSuffix(name, "/release-provider.yml") {
			continue
		}
		var whole struct {
			Permissions map[string]string
			Jobs        map[string]job
		}
		err := yaml.Unmarshal(content, &whole)
		if err == nil && whole.Jobs == nil { // GitLab's are at the top
			var top map[string]yaml.Node
			err = yaml.Unmarshal(content, &top)
			delete(top, "stages")
			whole.Jobs = map[string]job{}
			for name, node := range top {
				var j job
				err = errors.Join(err, node.Decode(&j))
				whole.Jobs[name] = j
			}
		}
		if err != nil || len(whole.Permissions) != 0 || len(whole.Jobs) < 2 {
			t.Errorf("%s: %d jobs, %v for all of them: %v", name, len(whole.Jobs), whole.Permissions, err)
		}
		secrets := regexp.MustCompile(`secrets\.|GPG_PRIVATE_KEY`)
		for at, j := range whole.Jobs {
			holds := j.Permissions["id-token"] != "" || j.IDTokens != nil || j.runs(secrets)
			if holds && j.runs(builds) {
				t.Errorf("%s: %s holds credentials, and builds", name, at)
			}
			if j.runs(regexp.MustCompile(`^larder publish`)) {
				published++
				if !holds || !strings.Contains(fmt.Sprint(j.Needs), "larder") {
					t.Errorf("%s: %s does not publish what another job has built: %+v", name, at, j)
				}
			}
		}
		if text := string(content); !strings.Contains(text, `LARDER_VERSION: ""`) || !strings.Contains(text, `larder@$LARDER_VERSION"`) || strings.Contains(text, "@main") {
			t.Errorf("%s does not ask which larder to take", name)
		}
	}
	if published != 4 {
		t.Errorf("%d jobs publish, want 4", published)
	}
}

// The commands in the documents are what larder takes, and the tokens and rules that they ask for are such as a registry
// lets in.
func TestDocumentedCommands(t *testing.T) {
	t.Setenv("LARDER_DATA", "")
	commands := 0
	for _, file := range documents(t) {
		for _, words := range documentedCommands(t, file) {
			commands++
			checkCommand(t, file, words)
			if (words[0] == "token" || words[0] == "trust") && !slices.Contains(words, "--stack") {
				checkRefusedByNone(t, file, words)
			}
		}
	}
	if commands < 30 {
		t.Errorf("the documents have %d commands, want all of them", commands)
	}
}

// checkRefusedByNone wants a command to ask for a registry. There is none.
func checkRefusedByNone(t *testing.T, file string, words []string) {
	t.Helper()
	command := newCommand()
	command.SetArgs(append(slices.Clone(words), "--data", "nowhere"))
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere: start it") {
		t.Errorf("%s: larder %s: %v", file, strings.Join(words, " "), err)
	}
}

// documents are those for users and operators.
func documents(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return append(files, "../../README.md", "../../examples/README.md")
}

// documentedCommands are the commands of larder in the lines for a shell in a document, as its arguments.
func documentedCommands(t *testing.T, file string) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var shell strings.Builder
	inShell := false
	for line := range strings.Lines(string(text)) {
		fence := strings.TrimSpace(line)
		if strings.HasPrefix(fence, "```") {
			inShell = !inShell && fence == "```sh"
			continue
		}
		if inShell {
			shell.WriteString(line)
		}
	}
	return larderCommands(shell.String())
}

var (
	// nextCommand is what stands before another command in a line for a shell.
	nextCommand = regexp.MustCompile(`&&|\||\$\(`)
	// call is a command that is larder's, perhaps with variables of its own.
	call = regexp.MustCompile(`^(?:[A-Za-z_]+=\S+ )*larder (.*?)(?:\)"?)?$`)
	// shellWord is a word of a line for a shell, bare or in quotes, or a comment.
	shellWord = regexp.MustCompile(`"[^"]*"|'[^']*'|#.*|[^\s"'#]+`)
)

// larderCommands are the commands of larder in lines for a shell, as its arguments.
func larderCommands(lines string) (commands [][]string) {
	for line := range strings.Lines(strings.ReplaceAll(lines, "\\\n", " ")) {
		for _, command := range nextCommand.Split(line, -1) {
			if arguments := call.FindStringSubmatch(strings.TrimSpace(command)); arguments != nil {
				commands = append(commands, shellWords(arguments[1]))
			}
		}
	}
	return commands
}

// shellWords are the words of a line for a shell, up to a comment, or to where it reads from or writes to.
func shellWords(line string) []string {
	var words []string
	for _, word := range shellWord.FindAllString(line, -1) {
		if strings.HasPrefix(word, "#") || word == ">" || word == "<" {
			break
		}
		words = append(words, strings.Trim(word, `"'`))
	}
	return words
}

// checkCommand wants larder to take this subcommand with these arguments and flags.
func checkCommand(t *testing.T, file string, words []string) {
	t.Helper()
	command, args, err := newCommand().Find(words)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	if err := command.ParseFlags(args); err != nil {
		t.Errorf("%s: larder %s: %v", file, strings.Join(words, " "), err)
		return
	}
	err = command.ValidateArgs(command.Flags().Args())
	if command.PreRunE != nil {
		err = errors.Join(err, command.PreRunE(command, command.Flags().Args()))
	}
	if err != nil {
		t.Errorf("%s: larder %s: %v", file, strings.Join(words, " "), err)
	}
}

// The pipelines that install ask for an identity that is for the registry which they install from, and have nothing that
// is secret.
func TestExampleInstalls(t *testing.T) {
	files := exampleFiles(t, ".yml")
	var github struct {
		Permissions map[string]string
	}
	var gitlab map[string]struct {
		IDTokens  map[string]struct{ Aud string } `yaml:"id_tokens"`
		Variables map[string]string
	}
	for name, pipeline := range map[string]any{"github-actions/install.yml": &github, "gitlab-ci/install.yml": &gitlab} {
		if err := yaml.Unmarshal(files[name], pipeline); err != nil || bytes.Contains(files[name], []byte("secrets.")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if github.Permissions["id-token"] != "write" || !bytes.Contains(files["github-actions/install.yml"], []byte("&audience=https://$LARDER_HOST")) {
		t.Errorf("GitHub's job asks for no identity for the registry: %v", github.Permissions)
	}
	for name, job := range gitlab {
		if aud := job.IDTokens["LARDER_ID_TOKEN"].Aud; aud != "https://"+job.Variables["LARDER_HOST"] {
			t.Errorf("GitLab's job %s has an identity for %q", name, aud)
		}
	}
}

// The trust policies in examples/ let one subject in for one audience, never everybody at the host.
func TestExampleTrustPolicies(t *testing.T) {
	files := exampleFiles(t, ".json")
	if len(files) != 2 {
		t.Errorf("%d trust policies, want one each for GitHub and GitLab", len(files))
	}
	for name, content := range files {
		var policy struct {
			Version   string
			Statement []struct {
				Effect, Action string
				Principal      struct{ Federated string }
				Condition      struct{ StringEquals, StringLike map[string]string }
			}
		}
		if err := json.Unmarshal(content, &policy); err != nil || len(policy.Statement) != 1 {
			t.Errorf("%s: one statement is wanted: %v", name, err)
			continue
		}
		statement := policy.Statement[0]
		if policy.Version != "2012-10-17" || statement.Effect != "Allow" || statement.Action != "sts:AssumeRoleWithWebIdentity" {
			t.Errorf("%s: %+v", name, policy)
		}
		_, host, found := strings.Cut(statement.Principal.Federated, ":oidc-provider/")
		if !found || statement.Condition.StringEquals[host+":aud"] == "" {
			t.Errorf("%s: the audience is open: %+v", name, statement)
		}
		subject := statement.Condition.StringLike[host+":sub"]
		if scope, ref, found := strings.Cut(subject, ":ref"); !found || strings.Contains(scope, "*") || ref == ":*" {
			t.Errorf("%s: the subject %q is not one repository's tags", name, subject)
		}
	}
}

// exampleFiles are the files below examples/ whose names end so.
func exampleFiles(t *testing.T, suffix string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	root := os.DirFS("../../examples")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != suffix {
			return err
		}
		content, err := fs.ReadFile(root, name)
		files[name] = content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// scalars are all texts of a document.
func scalars(node *yaml.Node) []string {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	var texts []string
	for _, child := range node.Content {
		texts = append(texts, scalars(child)...)
	}
	return texts
}

// valuesOf are the texts that stand under a key, wherever it is.
func valuesOf(node *yaml.Node, key string) []string {
	var values []string
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == key {
			values = append(values, child.Value)
		}
		values = append(values, valuesOf(child, key)...)
	}
	return values
}

// The unit for systemd is one. Only on Linux is there one to ask, and in CI there must be.
func TestExampleUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		const missing = "there is no systemd-analyze to ask about the unit: apt install systemd (it need not run)"
		if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	unit, err := os.ReadFile("../../examples/systemd/larder.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := bytes.ReplaceAll(unit, []byte("/usr/local/bin/larder"), []byte(self)) // which need not be installed
	file := filepath.Join(t.TempDir(), "larder.service")
	if err := os.WriteFile(file, here, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", file).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Without systemd-analyze the test of the unit is skipped, but not in CI.
func TestExampleUnitInCI(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CI needs it on Linux alone")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for ci, want := range map[string]string{"": "--- SKIP: TestExampleUnit", "true": "--- FAIL: TestExampleUnit"} {
		command := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^TestExampleUnit$")
		command.Env = []string{"CI=" + ci, "PATH=" + t.TempDir()}
		if out, err := command.CombinedOutput(); !strings.Contains(string(out), want) || (err == nil) != (ci == "") {
			t.Errorf("with CI=%s: %v\n%s", ci, err, out)
		}
	}
}
