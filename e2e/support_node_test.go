package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is a data folder and the `larder serve` that runs on it.
type node struct {
	*registry
	data string            // LARDER_DATA
	name string            // LARDER_HOSTNAME, which leads nowhere
	more map[string]string // further settings

	process *exec.Cmd
	ended   chan struct{} // closed when process has ended
	exit    error         // how it ended, once ended is closed
}

// startNode runs a registry on a new data folder for as long as the test runs. It is for tests of one machine: its
// files, its process. So the test runs only with that door.
func startNode(t testing.TB) *node {
	t.Helper()
	only(t, singleNode)
	n := newNode(filepath.Join(t.TempDir(), "data"))
	n.resume(t)
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("the registry's log ends:\n%s", n.logTail())
		}
	})
	return n
}

func newNode(data string) *node {
	n := &node{data: data}
	n.registry = &registry{log: n.logTail, wholeLog: n.wholeLog, named: []string{"--data", data}}
	return n
}

// launchSharedNode starts the node that tests share, and returns what ends it.
func launchSharedNode() (*registry, func() bool, error) {
	n := newNode(filepath.Join(scratch, "shared"))
	if err := n.launch(); err != nil {
		return nil, func() bool { return true }, err
	}
	return n.registry, func() bool { n.kill(); return true }, nil
}

// resume starts the registry's process, again or for the first time, and waits until it serves.
func (n *node) resume(t testing.TB) {
	t.Helper()
	if err := n.launch(); err != nil {
		t.Fatal(err)
	}
}

// launch starts the process on the addresses that it had before, or on free ones, and waits for its env file.
func (n *node) launch() error {
	if err := os.Remove(n.envFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	log, err := os.OpenFile(n.data+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()

	cmd := exec.Command(larder, "serve")
	cmd.Dir = filepath.Dir(n.data)
	cmd.Env = environment(n.settings())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	n.process, n.ended = cmd, make(chan struct{})
	go func() {
		n.exit = cmd.Wait()
		close(n.ended)
	}()
	if err := n.awaitEnv(); err != nil {
		n.kill()
		return fmt.Errorf("larder serve: %w\n%s", err, n.logTail())
	}
	return n.connect()
}

// settings are the environment of `larder serve`.
func (n *node) settings() map[string]string {
	settings := map[string]string{
		"LARDER_DATA":    n.data,
		"LARDER_ADDR":    "127.0.0.1:0",
		"LARDER_S3_ADDR": "127.0.0.1:0",
	}
	if n.name != "" {
		settings["LARDER_HOSTNAME"] = n.name
	}
	if n.host != "" {
		settings["LARDER_ADDR"] = n.host
		settings["LARDER_S3_ADDR"] = strings.TrimPrefix(n.vars["AWS_ENDPOINT_URL_S3"], "https://")
	}
	maps.Copy(settings, n.more)
	return settings
}

func (n *node) envFile() string { return filepath.Join(n.data, "env") }

// awaitEnv waits until the process has written its env file, which it does when it serves.
func (n *node) awaitEnv() error {
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(n.envFile()); err == nil {
			return nil
		}
		select {
		case <-n.ended:
			return fmt.Errorf("it ended before it served: %v", n.exit)
		case <-deadline:
			return errors.New("no env file yet")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// connect reads the env file as a shell does.
func (n *node) connect() error {
	vars, err := source(n.envFile())
	if err != nil {
		return err
	}
	if n.name != "" {
		vars["LARDER_HOST"] = n.host
	}
	return n.registry.connect(vars)
}

// source returns what sourcing an env file under `set -eu` sets. The shell has an AWS profile and a session token,
// which must be unset afterwards.
func source(file string) (map[string]string, error) {
	stray := map[string]string{"AWS_PROFILE": "stray", "AWS_SESSION_TOKEN": "stray"}
	out, err := command{env: stray, argv: []string{"sh", "-euc", `. "$1"; env`, "sh", file}}.run()
	if err != nil {
		return nil, err
	}
	vars := map[string]string{}
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "LARDER_") || name == "SSL_CERT_FILE" {
			vars[name] = value
		}
	}
	return vars, nil
}

// stop ends the process as an operator does, and fails the test unless it ends cleanly.
func (n *node) stop(t testing.TB) {
	t.Helper()
	if err := n.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
		if n.exit != nil {
			t.Fatalf("larder serve ended on SIGTERM with %v\n%s", n.exit, n.logTail())
		}
	case <-time.After(patience):
		t.Fatalf("larder serve runs on after SIGTERM\n%s", n.logTail())
	}
}

// kill ends the process at once, with all that it started: `kill -9`. It does nothing to a dead process.
func (n *node) kill() {
	select {
	case <-n.ended:
	default:
		_ = syscall.Kill(-n.process.Process.Pid, syscall.SIGKILL)
		<-n.ended
	}
}

// logTail returns the last lines of what the process wrote.
func (n *node) logTail() []byte {
	const lines = 20
	all := bytes.SplitAfter(n.wholeLog(), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], nil)
}

func (n *node) wholeLog() []byte {
	log, _ := os.ReadFile(n.data + ".log")
	return log
}
