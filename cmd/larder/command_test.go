package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/check/findings"
	"github.com/spf13/cobra"
)

// What is wrong with a command line is said before anything is done.
func TestWrongCommandLines(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("LARDER_BUCKET", "")
	t.Setenv("LARDER_DATA", "")
	t.Setenv("LARDER_HOST", "")
	t.Setenv("HOME", t.TempDir())
	for line, want := range map[string]string{
		"doctor":                                  "too few arguments: use larder doctor HOST",
		"doctor http://registry.example.com":      "https",
		"doctor registry.example.com/v1":          "more than a host",
		"doctor a.example.com --module acme":      "--module",
		"doctor a.example.com --provider acme":    "--provider",
		"doctor a.example.com --platform x_y":     "give --provider",
		"doctor a.example.com --token-env NOBODY": "no token in NOBODY",
		"preflight":                                             "BucketName",
		"preflight --bucket-name acme-registry":                 "--region",
		"preflight extra":                                       "too many arguments: use larder preflight",
		"publish a.zip":                                         "say one of --to and --module",
		"publish --to acme/widget":                              "too few arguments: use larder publish FILE...",
		"publish a.zip --to acme":                               "--to",
		"publish a.zip --to Acme/widget":                        "lower-case",
		"publish a.zip --to acme/w --version 1":                 "--version goes with --module, which is missing",
		"publish . --module acme/vpc/aws":                       "--module goes with --version, which is missing",
		"publish . --module acme/vpc --version 1.0.0":           "<namespace>/<name>/<system>",
		"publish . --module acme/vpc/aws --version v1.0.0":      "leading v",
		"publish a b --module acme/vpc/aws --version 1.0.0":     "one archive, not 2",
		"publish a.zip --to acme/w":                             "LARDER_BUCKET",
		"publish a.zip --to acme/w --bucket b":                  "--region",
		"publish a.zip --to acme/w --bucket b --timeout 0s":     "--no-wait",
		"publish nowhere --module acme/vpc/aws --version 1.0.0": "nowhere",
		"deprecate acme/widget 1.0.0":                           "--message is missing: what is wrong with it and what to use instead, in one line",
		"deprecate acme/widget --message no":                    "too few arguments: use larder deprecate ",
		"deprecate acme/widget v1.0.0 --message no":             "leading v",
		"deprecate Acme/widget 1.0.0 --message no":              "lower-case",
		"deprecate widget 1.0.0 --message no":                   "namespace/name/system",
		"deprecate a/b/c/d 1.0.0 --message no":                  "namespace/name/system",
		"deprecate acme/widget 1.0.0 --message \x1b":            "one line",
		"withdraw acme/w 1.0.0 --data d --stack s":              "--data and --stack do not go together: say one of them",
		"withdraw acme/w 1.0.0 --stack=":                        "--stack is empty",
		"withdraw acme/w 1.0.0 --data=":                         "--data is empty",
		"withdraw acme/w 1.0.0 --stack s":                       "--region",
		"withdraw acme/w 1.0.0 --region eu-central-1":           "give --stack",
		"restore acme/widget 1.0.0 --message yes":               "unknown flag",
		"restore acme/vpc/aws 1.0.0 --data nowhere":             "/nowhere: start it",
		"keys extra":                 "unknown command",
		"keys --data nowhere":        "/nowhere: start it",
		"keys rotate --data nowhere": "/nowhere: start it",
		"keys resign --stack s":      "--region",
		"verify all":                 "too many arguments: use larder verify",
		"search":                     "too few arguments: use larder search TEXT...",
		"search x":                   "which registry? Give its host with --registry, or in LARDER_HOST",
		"search x --registry=":       "--registry is empty",
		"search x --registry a/b":    "more than a host",
		"search x --limit 0":         "from 1 to 100",
		"search x --limit 101":       "from 1 to 100",
		"search x --kind people":     "not a kind",
		"show":                       "too few arguments: use larder show ADDRESS",
		"show acme":                  "is not an address",
		"show a/b/c/d":               "is not an address",
		"show Acme/widget":           "lower-case",
		"show a/b --version 1":       "--version",
		"show a/b/c --json --part x": "--json and --part do not go together",
		"show a/b --registry ftp://": "https",
		"mcp":                        "which registry?",
		"mcp x":                      "too many arguments: use larder mcp",
		"version x":                  "too many arguments: use larder version",
		"list --registry a --data d": "--registry and --data do not go together",
		"list a/b/c/d --registry a":  "is not an address",
		"list ? --registry a":        "is not a namespace",
		"list a b":                   "too many arguments: use larder list",
		"list --data nowhere":        "--stack; readers name the registry's host with --registry",
		"uploads --status good":      "--status: \"good\" is not a status: give rejected, pending, ignored, published, all",
		"uploads --data nowhere":     "/nowhere: start it",
		"publish a.zip --to acme/w --bucket b --region r --author-key nowhere": "--author-key: open nowhere",
		"publish a.zip --module acme/vpc/aws --version 1.0.0 --author-key k":   "--author-key and --module do not go together",
		"verify --data nowhere":                                   "/nowhere: start it",
		"reindex --again":                                         "--again is for --contents",
		"reindex --bucket b --table t":                            "unknown flag",
		"reindex --data nowhere":                                  "/nowhere: start it",
		"token create --scope x":                                  "--name is missing: a name for the token",
		"token create --name ci":                                  "--scope is missing: a scope of the token; may be repeated",
		"token create --name ci --scope providers:acme":           "--scope",
		"token create --name ci --scope write":                    "is not a scope",
		"trust add x --claim a=b --scope x":                       "say one of --issuer, --github, --gitlab and --login",
		"trust add x --github --gitlab --claim a=b --scope x":     "--github and --gitlab do not go together: say one of them",
		"trust add x --login --audience a --claim a=b --scope x":  "--audience and --login do not go together: say one of them",
		"trust add x --login --scope x":                           "--claim is missing: a claim that must fit, as name=pattern",
		"trust add x --login --claim a --scope x":                 "NAME=PATTERN",
		"trust add x --login --claim a=b":                         "say --scope or --upload",
		"trust add x --login --claim a=b --scope x":               "is not a scope",
		"trust add x --login --claim a=b --scope x --lifetime 1y": "--lifetime",
		"trust add": "too few arguments: use larder trust add NAME (",
		"publish a.zip --to acme/w --module acme/vpc/aws --version 1.0.0": "--to and --module do not go together",
		"trust add x --github --gitlab --login --claim a=b --scope x":     "--github and --gitlab and --login do not go together",
		"trust add x --login --claim a=b --scope x --data d --stack s":    "--data and --stack do not go together",
		"mirror add hashicorp/time 1 2":                                   "too many arguments: use larder mirror add ",
		"token list extra":                                                "too many arguments: use larder token list",
		"trust remove":                                                    "too few arguments: use larder trust remove NAME",
		"trust list --data nowhere":                                       "/nowhere: start it",
		"token list --data nowhere":                                       "/nowhere: start it",
		"token revoke":                                                    "say which tokens end",
		"token revoke ci --data nowhere":                                  "/nowhere: start it",
		"mirror extra":                                                    "unknown command",
		"backup extra":                                                    "unknown command",
		"token extra":                                                     "unknown command",
		"trust extra":                                                     "unknown command",
		"uploader extra":                                                  "unknown command",
		"mirror add":                                                      "too few arguments: use larder mirror add ADDRESS [VERSION-CONSTRAINT]",
		"prune all":                                                       "too many arguments: use larder prune",
		"prune --older-than x":                                            `--older-than: "x" does not fit: remove what was uploaded, overwritten or deleted so many days ago`,
		"publish a.zip --to acme/w --timeout soon":                        `--timeout: "soon" does not fit: how long to wait for the outcomes`,
		"list --json=perhaps":                                             `--json: "perhaps" does not fit: write the versions as one JSON document`,
		"prune --data=":                                                   "--data is empty",
		"env --data=":                                                     "--data is empty",
		"prune --data nowhere":                                            "/nowhere is not the data folder of a registry",
		"backup create":                                                   "too few arguments: use larder backup create DIR|-",
		"backup restore":                                                  "too few arguments: use larder backup restore DIR|-",
		"backup verify a b":                                               "too many arguments: use larder backup verify DIR|-",
		"mirror add time":                                                 "not a provider address",
		"mirror add a/b/c/d":                                              "not a provider address",
		"mirror add Hashicorp/time":                                       "lower-case",
		"mirror add localhost/a/b":                                        "not the hostname of a registry",
		"mirror add a.example:8443/a/b":                                   "has a port",
		"mirror add hashicorp/time newest":                                "not a version constraint",
		"mirror add hashicorp/time 1 --platform x":                        "--platform",
		"mirror add hashicorp/time":                                       "LARDER_BUCKET",
		"mirror add hashicorp/time --bucket b":                            "--region",
		"mirror add 127.0.0.1/a/b --bucket b --region r":                  "not a public address",
		"mirror export carry.tar --from a.example":                        "too few arguments: use larder mirror export FILE",
		"mirror export carry.tar hashicorp/time":                          "--from is missing: the host of the mirror's registry, or the URL of any mirror",
		"mirror export carry.tar time --from a":                           "not a provider address",
		"mirror export carry.tar a/b@ --from a":                           "after the @",
		"mirror export carry.tar a/b@x --from a":                          "not a version constraint",
		"mirror export carry.tar a/b --from ftp://a":                      "https",
		"mirror export nowhere/c.tar a/b --from a":                        "nowhere",
		"mirror export c a/b --from a --platform x":                       "--platform",
		"mirror export c a/b --from a --token-env NO":                     "no token in NO",
		"mirror import":                                                   "too few arguments: use larder mirror import FILE",
		"mirror import carry.tar":                                         "LARDER_BUCKET",
		"mirror import carry.tar --timeout 0s --bucket b":                 "--no-wait",
		"mirror import nowhere.tar --bucket b --region eu-central-1":      "nowhere.tar",
		"mirror add hashicorp/time --platform all --platform a_b":         "give either",
	} {
		command := newCommand()
		command.SetArgs(strings.Fields(line))
		if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("larder %s: %v, want %q", line, err, want)
		}
	}
}

// Every line of an example is a command that larder takes.
func TestExamples(t *testing.T) {
	commands := newCommand().Commands()
	for i := 0; i < len(commands); i++ {
		command := commands[i]
		commands = append(commands, command.Commands()...)
		examples := larderCommands(command.Example)
		if command.Example != "" && len(examples) < strings.Count(strings.ReplaceAll(command.Example, "\\\n", ""), "\n")+1 {
			t.Errorf("%s: not every line is an example of it:\n%s", command.CommandPath(), command.Example)
		}
		for _, words := range examples {
			checkCommand(t, command.CommandPath(), words)
		}
	}
	if len(commands) < 30 {
		t.Errorf("larder has %d commands, want all of them", len(commands))
	}
}

func TestReport(t *testing.T) {
	run := func(_ context.Context, list *findings.List) {
		list.OK("a.good", "fine")
		list.Fail("a.bad", "mend it", "broken")
	}
	for _, asJSON := range []bool{false, true} {
		var out strings.Builder
		command := &cobra.Command{}
		command.SetContext(t.Context())
		command.SetOut(&out)
		if err := report(command, asJSON, "it", run); err == nil || err.Error() != "1 of 2 checks failed" {
			t.Errorf("%v", err)
		}
		if json.Valid([]byte(out.String())) != asJSON || !strings.Contains(out.String(), "a.bad") {
			t.Errorf("as JSON %v: %s", asJSON, out.String())
		}
		command.SetOut(failingWriter{})
		if err := report(command, asJSON, "it", run); !errors.Is(err, errFull) {
			t.Errorf("nowhere to write: %v", err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	command := &cobra.Command{}
	command.SetContext(cancelled)
	command.SetOut(new(strings.Builder))
	if err := report(command, false, "it", run); err == nil || err.Error() != "interrupted" {
		t.Errorf("interrupted: %v", err)
	}
}

var errFull = errors.New("no space left")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
