package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/logtest"
)

// asCommand makes the test's binary be the larder command.
const asCommand = "TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// node is a single node that runs in a process of its own, in a folder in which
// commands are run, too.
type node struct {
	dir  string
	env  []string // beside what every command has
	log  logtest.Log
	stop func()
}

func newNode(t *testing.T, env ...string) *node {
	t.Helper()
	n := &node{dir: t.TempDir(), env: env}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(n.dir, "larder")); err != nil {
		t.Fatal(err)
	}
	n.start(t)
	t.Cleanup(func() { n.stop() })
	return n
}

// command is a command that runs in the node's folder and knows nothing but the
// larder command and the system.
func (n *node) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = n.dir
	command.Env = []string{
		asCommand + "=1", "PATH=" + n.dir + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + n.dir,
		"LARDER_ADDR=127.0.0.1:0", "LARDER_S3_ADDR=127.0.0.1:0",
	}
	command.Env = append(command.Env, n.env...)
	return command
}

func (n *node) start(t *testing.T) {
	t.Helper()
	server := n.command(context.WithoutCancel(t.Context()), filepath.Join(n.dir, "larder"), "serve")
	server.Stderr = &n.log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	n.stop = func() {
		n.stop = func() {}
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil {
			t.Errorf("larder serve: %v\n%s", err, &n.log)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(n.dir, ".larder", "env")); err == nil {
			return
		}
		select {
		case err := <-ended:
			n.stop = func() {}
			t.Fatalf("larder serve: %v\n%s", err, &n.log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("larder serve does not serve")
		}
	}
}

// shell runs lines of a shell, and returns what they print and whether they succeed.
func (n *node) shell(t *testing.T, script string) (out string, ok bool) {
	t.Helper()
	output, err := n.command(t.Context(), "sh", "-euc", script).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(output), err == nil
}

// must runs lines of a shell that succeed, and print something.
func (n *node) must(t *testing.T, script string, prints ...string) (out string) {
	t.Helper()
	out, ok := n.shell(t, script)
	if !ok {
		t.Fatalf("%s: failed\n%s", script, out)
	}
	for _, want := range prints {
		if !strings.Contains(out, want) {
			t.Errorf("%s: printed\n%s\nwant %q", script, out, want)
		}
	}
	return out
}

// mustFail runs lines of a shell that fail, and say why.
func (n *node) mustFail(t *testing.T, script string, says ...string) {
	t.Helper()
	out, ok := n.shell(t, script)
	if ok {
		t.Errorf("%s: succeeded and printed\n%s", script, out)
	}
	for _, want := range says {
		if !strings.Contains(out, want) {
			t.Errorf("%s: printed\n%s\nwant %q", script, out, want)
		}
	}
}

// publish publishes the provider acme/widget 1.0.0 and the module
// acme/network/aws 1.2.3.
func (n *node) publish(t *testing.T) {
	t.Helper()
	pkg := archivetest.Provider(t, "terraform-provider-widget_v1.0.0", "#!/bin/sh\n")
	err := errors.Join(
		os.WriteFile(filepath.Join(n.dir, "terraform-provider-widget_1.0.0_linux_amd64.zip"), pkg, 0o600),
		os.Mkdir(filepath.Join(n.dir, "network"), 0o700),
		os.WriteFile(filepath.Join(n.dir, "network", "main.tf"), []byte("# nothing\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	n.must(t, `. .larder/env
		larder publish terraform-provider-widget_1.0.0_linux_amd64.zip --to acme/widget
		larder publish network --module acme/network/aws --version 1.2.3`, "published")
}

// get reads a document of the registry.
func (n *node) get(t *testing.T, path string, into any) {
	t.Helper()
	status, body := n.ask(t, path, "")
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %d: %v", path, status, err)
	}
}

// ask asks the registry for a document, with a token unless that is empty.
func (n *node) ask(t *testing.T, path, token string) (status int, body []byte) {
	t.Helper()
	ca, err := os.ReadFile(filepath.Join(n.dir, ".larder", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	host := n.must(t, `. .larder/env; printf %s "$LARDER_HOST"`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}
