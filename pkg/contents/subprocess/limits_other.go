//go:build !linux

package subprocess

import "os"

func ownExecutable() (string, error) { return os.Executable() }

// limitResources limits nothing here. The parent limits the time, and watch the memory.
func limitResources() error { return nil }

// closeOnExec does nothing here: a process has the files that this one was started with.
func closeOnExec() {}
