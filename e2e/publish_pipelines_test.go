package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pipeline is an example of a job: its variables, and the lines that matter.
type pipeline struct {
	host   string // whose pipeline it is
	env    map[string]string
	script string
}

// forEachPipeline runs test as a subtest for the file of that name for each host.
func forEachPipeline(t *testing.T, name string, test func(t *testing.T, p pipeline)) {
	for _, p := range []pipeline{
		gitHubPipeline(t, filepath.Join("../examples/github-actions", name), "Publish"),
		gitLabPipeline(t, filepath.Join("../examples/gitlab-ci", name)),
	} {
		t.Run(p.host, func(t *testing.T) { test(t, p) })
	}
}

// gitHubPipeline reads a workflow in which one job has a step of that name.
func gitHubPipeline(t testing.TB, file, name string) pipeline {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(readFile(t, file), &workflow); err != nil {
		t.Fatal(err)
	}
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Name == name {
				return pipeline{"github", job.Env, step.Run}
			}
		}
	}
	t.Fatalf("%s has no step named %s", file, name)
	return pipeline{}
}

// gitLabPipeline reads a file with a job publish, whose script is one line.
func gitLabPipeline(t testing.TB, file string) pipeline {
	t.Helper()
	var jobs struct {
		Publish struct {
			Variables map[string]string
			Script    []string
		}
	}
	if err := yaml.Unmarshal(readFile(t, file), &jobs); err != nil {
		t.Fatal(err)
	}
	if len(jobs.Publish.Script) != 1 {
		t.Fatalf("%s has no job publish with a script of one line", file)
	}
	return pipeline{"gitlab", jobs.Publish.Variables, jobs.Publish.Script[0]}
}

// run runs the line in dir as for a pushed tag, against r and with other values for some of the job's variables, and
// returns what it printed.
func (p pipeline) run(t testing.TB, r *registry, dir, tag string, variables map[string]string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(larder, filepath.Join(bin, "larder")); err != nil {
		t.Fatal(err)
	}
	env := maps.Clone(p.env)
	for name, value := range variables {
		if _, ok := env[name]; !ok {
			t.Errorf("the job has no variable %s", name)
		}
		env[name] = value
	}
	if env["LARDER_BUCKET"] == "" || env["AWS_REGION"] == "" {
		t.Errorf("the job's variables do not say where the registry is: %v", p.env)
	}
	maps.Copy(env, r.vars)
	env["PATH"] = bin + string(os.PathListSeparator) + os.Getenv("PATH")
	env["GITHUB_REF_NAME"], env["CI_COMMIT_TAG"] = tag, tag
	return command{dir: dir, env: env, argv: []string{"bash", "-euc", p.script}}.must(t)
}

// The examples of pipelines publish a module as a pushed tag says.
func TestModulePipelines(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	forEachPipeline(t, "publish-module.yml", func(t *testing.T, p pipeline) {
		address := "pushed-by-" + p.host + "/network/aws"
		out := p.run(t, r, "testdata/network", "v1.2.3", map[string]string{"MODULE": address})
		checkSays(t, out, published)
		if listed := r.moduleVersions(t, address); !slices.Equal(listed, []string{"1.2.3"}) {
			t.Errorf("listed: %v", listed)
		}
	})
}
