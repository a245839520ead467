// Package disktest runs tests on a small disk, which they can fill.
package disktest

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// small names the folder of the small disk, in a process that has one.
const small = "TEST_ON_SMALL_DISK"

// missing says why there is no small disk, and what to do.
const missing = `no small disk can be mounted here, which a test fills: unshare and mount must be there (apt install util-linux), and a user
namespace must be allowed to mount a tmpfs. On a machine, allow it with  sysctl kernel.apparmor_restrict_unprivileged_userns=0
or  sysctl kernel.unprivileged_userns_clone=1 , whichever it has; in a container of Docker, start that with  --cap-add SYS_ADMIN
--security-opt apparmor=unconfined  (and  --security-opt seccomp=unconfined  where it does not run as root)`

// Run calls test in a process whose folder for temporary files is a disk of so many bytes, in mount's words: "16m". It
// starts that process, with the same test alone. Where no such disk can be mounted, the test is skipped, but on Linux not
// in CI.
func Run(t *testing.T, size string, test func(t *testing.T, folder string)) {
	t.Helper()
	if folder := os.Getenv(small); folder != "" {
		test(t, folder)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	const mount = `mount -t tmpfs -o "size=$1" none "$2"; `
	if out, err := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-euc", mount, "sh", size, folder).CombinedOutput(); err != nil {
		unavailable(t, err, out)
	}
	command := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-euc", mount+`shift 2; exec "$@"`, "sh", size, folder, self, "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), small+"="+folder, "TMPDIR="+folder)
	command.WaitDelay = time.Minute
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func unavailable(t *testing.T, err error, out []byte) {
	t.Helper()
	if os.Getenv("CI") != "" && runtime.GOOS == "linux" {
		t.Fatalf("%s: %v\n%s", missing, err, out)
	}
	t.Skipf("%s: %v\n%s", missing, err, out)
}
