package dynamotest

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/enginetest"
)

const (
	// heap is only for requests: tables are in SQLite's own memory.
	heap = "-Xmx256m"

	// quickly limits the optimiser of the virtual machine: the process is too short for it.
	quickly = "-XX:TieredStopAtLevel=1"

	startTimeout = time.Minute
	portAttempts = 5 // another process may take the free port that was found
)

//go:embed pom.xml
var pom []byte

var local = enginetest.Engine{Folder: enginetest.Folder("dynamodb-local"), Pom: pom, Missing: missing}

// launch starts DynamoDB Local. If it cannot, the test ends.
func launch(t testing.TB) (endpoint string, stop func()) {
	t.Helper()
	local.Need(t)
	var err error
	for range portAttempts {
		if endpoint, stop, err = run(); err == nil {
			return endpoint, stop
		}
	}
	t.Fatalf("start DynamoDB Local, which needs Java 17 or newer: %v", err)
	return "", nil
}

// run starts a process on a free port and waits until it answers.
func run() (endpoint string, stop func(), err error) {
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	var output bytes.Buffer
	cmd := exec.Command("java", heap, "-XX:+UseSerialGC", quickly,
		"-Djava.library.path="+local.Folder, "-cp", filepath.Join(local.Folder, "*"),
		"software.amazon.dynamodb.services.local.main.ServerRunner",
		"-inMemory", "-sharedDb", "-disableTelemetry", "-port", port)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &output, &output, enginetest.DiesWithParent()
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it only ends by being killed, or with its reason in the output
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Kill() // fails where it has ended
		<-ended
	}
	endpoint = "http://127.0.0.1:" + port
	if err := await(endpoint, ended); err != nil {
		stop()
		return "", nil, fmt.Errorf("%w: %s", err, output.Bytes())
	}
	return endpoint, stop, nil
}

// await returns when the engine gives any answer.
func await(endpoint string, ended <-chan struct{}) error {
	timeout := time.After(startTimeout)
	for {
		response, err := http.Get(endpoint)
		if err == nil {
			return response.Body.Close()
		}
		select {
		case <-ended:
			return errors.New("it ended")
		case <-timeout:
			return fmt.Errorf("no answer after %v: %w", startTimeout, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, errors.Join(err, listener.Close())
}
