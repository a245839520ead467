package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// CPU is the processor's time that a process has taken, and 0 on a system that does not say
// it under /proc. It is that of the scheduler, by thread, in nanoseconds: a turn may take less
// than the 10 ms that the times in /proc/<pid>/stat are counted in. Go ends no threads.
func CPU(pid int) (sum time.Duration) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // the thread may have ended
		sum += parseRun(string(text))
	}
	return sum
}

// parseRun is the first field of what the scheduler says of a thread: how long it ran.
func parseRun(schedstat string) time.Duration {
	first, _, _ := strings.Cut(schedstat, " ")
	run, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(run)
}

// PeakMemory is the most memory that a process has had, in bytes, and 0 if the system does not
// say it under /proc.
func PeakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	return parsePeak(string(status))
}

func parsePeak(status string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
