package disktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The disk is as large as it was asked for.
func TestRun(t *testing.T) {
	Run(t, "1m", func(t *testing.T, folder string) {
		file := filepath.Join(folder, "file")
		if err := os.WriteFile(file, make([]byte, 1<<19), 0o600); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(file, make([]byte, 1<<20+1), 0o600); err == nil {
			t.Error("it has room for more than 1 MiB")
		}
	})
}

// Where there can be no such disk, a test is skipped, but not in CI; either says what is missing.
func TestUnavailable(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CI needs it on Linux alone")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for ci, want := range map[string]string{"": "--- SKIP: TestRun", "true": "--- FAIL: TestRun"} {
		command := exec.CommandContext(t.Context(), self, "-test.v", "-test.run=^TestRun$")
		command.Env = []string{"CI=" + ci, "PATH=" + t.TempDir()}
		out, err := command.CombinedOutput()
		said := string(out)
		if !strings.Contains(said, want) || !strings.Contains(said, missing[:strings.IndexByte(missing, '\n')]) || (err == nil) != (ci == "") {
			t.Errorf("with CI=%s: %v\n%s", ci, err, said)
		}
	}
}
