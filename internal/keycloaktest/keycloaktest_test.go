package keycloaktest

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onlyStart makes this test binary start a Keycloak, say which process that is
// and hang.
const onlyStart = "KEYCLOAKTEST_ONLY_START"

func TestMain(m *testing.M) {
	if os.Getenv(onlyStart) != "" {
		p, err := launch()
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(p.cmd.Process.Pid)
		select {}
	}
	os.Exit(Run(m))
}

// needKeycloak is for tests that start one. Whether it serves is for the
// end-to-end tests, which log in with it.
func needKeycloak(t *testing.T) {
	t.Helper()
	program.Need(t)
	t.Setenv("TMPDIR", t.TempDir())
}

// TestDiesWithStarter kills a test binary, which can do nothing about its
// Keycloak.
func TestDiesWithStarter(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends Keycloak with a process that was killed")
	}
	needKeycloak(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), onlyStart+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(output, &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("Keycloak does not run: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	for deadline := time.Now().Add(10 * time.Second); !dead(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("Keycloak lives on, and is killed: %v", syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}

// dead says that a process has ended, whether or not anybody has taken note.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}

// TestWith holds that a command knows where to ask for Keycloak, and that nothing
// of Keycloak is left when the command has ended, however that was.
func TestWith(t *testing.T) {
	needKeycloak(t)
	err := With(t.Context(), "sh", "-c", `[ "$`+variable+`" ] && ls "$TMPDIR"/keycloak*/key.pem >/dev/null && exit 3`)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 3 {
		t.Errorf("With = %v, want the command's exit status, 3", err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestStartFails holds that tests which share a Keycloak hear why it did not
// start.
func TestStartFails(t *testing.T) {
	needKeycloak(t)
	found := program.Folder
	program.Folder = t.TempDir()
	t.Cleanup(func() { program.Folder = found })
	p, err := launch()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	server := httptest.NewServer(p.answers())
	t.Cleanup(server.Close)
	if _, err := ask(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "QuarkusEntryPoint") {
		t.Errorf("a Keycloak without its jar: %v", err)
	}
}
