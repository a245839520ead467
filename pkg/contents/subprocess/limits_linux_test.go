package subprocess

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/archive"
)

// openFiles are the targets of all descriptors of this process.
func openFiles() (targets []string) {
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}

// TestNoFiles holds that a process gets none of the files that this one was started with.
func TestNoFiles(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	inherited, err := syscall.Open(secret, syscall.O_RDONLY, 0) // not closed on exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited) //nolint:errcheck // read only
	m, err := New().Module(context.Background(), zeros{}, hookFiles, "zip")
	if err != nil || !strings.Contains(m.Root.Readme, "pipe:") || strings.Contains(m.Root.Readme, secret) {
		t.Errorf("%v, and the process has\n%s", err, m.Root.Readme)
	}
}

// orphaned is the variable of a process that starts a reader and ends.
const orphaned = "LARDER_TEST_ORPHANED"

// TestEndsWithParent holds that a process ends soon after its parent was killed, though it asks
// for nothing and takes no processor time.
func TestEndsWithParent(t *testing.T) {
	if os.Getenv(orphaned) != "" {
		leaveReader(t)
		return
	}
	said, open, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEndsWithParent$")
	parent.Env, parent.Stderr = append(os.Environ(), orphaned+"=1"), open
	err = parent.Run()
	open.Close() //nolint:errcheck // the processes have it
	if err == nil {
		t.Fatal("the parent was not killed")
	}
	said.SetReadDeadline(time.Now().Add(20 * time.Second)) //nolint:errcheck // of a pipe
	if _, err := io.Copy(io.Discard, said); err != nil {   // it ends when all who have it have ended
		t.Errorf("the process goes on: %v", err)
	}
}

// leaveReader starts a process that sleeps, and kills this one.
func leaveReader(t *testing.T) {
	command, err := reexec(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if err := (task{kind: moduleTask, format: archive.Zip, size: hookSleep}).send(in); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)                    // it is asleep by then
	syscall.Kill(os.Getpid(), syscall.SIGKILL) //nolint:errcheck // of this process
	select {}
}
