package awstest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/larder-registry/larder/internal/s3test"
)

// onlyS3 is the variable that makes a test binary an S3.
const onlyS3 = "AWSTEST_ONLY_S3"

// Main must be called at the beginning of TestMain. In the process that [StartS3] starts, it
// serves and does not return; otherwise it does nothing.
func Main() {
	if os.Getenv(onlyS3) == "" {
		return
	}
	if err := serveS3(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveS3 prints its server, and serves until its standard input ends.
func serveS3() error {
	dir, err := os.MkdirTemp("", "s3")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the folder for that
	stdout := os.Stdout
	if os.Stdout, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil { // where the gateway chats
		return err
	}
	server := s3test.Start(process{dir: dir})
	if err := json.NewEncoder(stdout).Encode(server); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is the part of a test that an S3 needs, for the lifetime of the process.
type process struct {
	testing.TB
	dir string
}

func (process) Helper()                  {}
func (process) Cleanup(func())           {} // the process ends
func (process) Context() context.Context { return context.Background() }
func (p process) TempDir() string        { return p.dir }
func (p process) Chdir(dir string)       { p.check(os.Chdir(dir)) }
func (p process) Fatal(args ...any)      { p.check(errors.New(fmt.Sprint(args...))) }
func (p process) Fatalf(format string, args ...any) {
	p.check(fmt.Errorf(format, args...))
}

// check ends the process unless all is well.
func (p process) check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "the S3 process:", err)
		os.Exit(1)
	}
}

// StartS3 starts a real S3 until the test ends. It is another process of this test binary,
// because it changes its working directory. TestMain must call [Main].
func StartS3(t testing.TB) *s3test.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(self)
	process.Env = append(os.Environ(), onlyS3+"=1")
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(stdin.Close(), process.Wait()); err != nil {
			t.Errorf("the S3 process: %v", err)
		}
	})
	server, err := readServer(stdout)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// readServer reads the server that the process prints, and goes on reading its output, so that
// the process never waits.
func readServer(stdout io.Reader) (*s3test.Server, error) {
	lines := bufio.NewReader(stdout)
	var server s3test.Server
	line, err := lines.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &server)
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the process
	if err != nil {
		return nil, fmt.Errorf("the S3 process said %q: %w", line, err)
	}
	return &server, nil
}
