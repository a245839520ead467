package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// command is a program that runs to its end, in an environment of its own.
type command struct {
	dir  string
	env  map[string]string // beside the bare environment
	argv []string
}

// run returns what the command wrote to its standard output. Its error holds all that it wrote.
func (c command) run() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	cmd.Env = environment(c.env)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s: %w\n%s%s", strings.Join(c.argv, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// must is run for a command that has to succeed.
func (c command) must(t testing.TB) string {
	t.Helper()
	stdout, err := c.run()
	if err != nil {
		t.Fatal(err)
	}
	return stdout
}

// environment is a minimal environment and vars. It inherits no credentials and no settings of clients.
func environment(vars map[string]string) []string {
	all := map[string]string{"PATH": os.Getenv("PATH"), "HOME": scratch, "TMPDIR": os.TempDir(), "LC_ALL": "C"}
	maps.Copy(all, vars)
	env := make([]string, 0, len(all))
	for name, value := range all {
		env = append(env, name+"="+value)
	}
	return env
}

// eventually calls condition until it returns nil, and fails the test with its last error when it does not.
func eventually(t testing.TB, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
