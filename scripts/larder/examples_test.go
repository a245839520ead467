package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
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
			for line := range strings.Lines(text) {
				if words := strings.Fields(line); len(words) > 1 && words[0] == "larder" {
					commands++
					checkCommand(t, name, words[1:])
				}
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

// checkCommand wants larder to take this subcommand with these flags.
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
	if err := command.ValidateFlagGroups(); err != nil {
		t.Errorf("%s: larder %s: %v", file, strings.Join(words, " "), err)
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
