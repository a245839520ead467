package subprocess

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ownExecutable is the file of this process. It is the right one also when another version
// has been installed under its name since.
func ownExecutable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// limitResources limits processor time and memory, and forbids files.
func limitResources() error {
	used, err := dataInUse()
	if err != nil {
		used = 0
	}
	seconds := uint64(MaxTime.Seconds())
	for resource, limit := range map[int]syscall.Rlimit{
		syscall.RLIMIT_CPU:   {Cur: seconds, Max: seconds}, // Go ignores the signal of a lower Cur
		syscall.RLIMIT_DATA:  {Cur: used + MaxMemory, Max: used + MaxMemory},
		syscall.RLIMIT_CORE:  {},
		syscall.RLIMIT_FSIZE: {},
	} {
		if err := lower(resource, limit); err != nil {
			return fmt.Errorf("limiting resource %d: %w", resource, err)
		}
	}
	return nil
}

// closeOnExec lets no process that is started from now on have a file that this process has
// been started with. What it opens by itself is closed there anyway. An older kernel cannot do
// that.
func closeOnExec() {
	unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) //nolint:errcheck // see above
}

// lower sets a limit, unless there is a lower one.
func lower(resource int, limit syscall.Rlimit) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	limit.Cur, limit.Max = min(limit.Cur, now.Cur), min(limit.Max, now.Max)
	return syscall.Setrlimit(resource, &limit)
}

// dataInUse is how much writable memory this process has mapped, in bytes. A race detector
// maps far more than it uses.
func dataInUse() (uint64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return 0, fmt.Errorf("/proc/self/statm has %d fields", len(fields))
	}
	pages, err := strconv.ParseUint(fields[5], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}
