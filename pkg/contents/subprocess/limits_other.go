//go:build !linux

package subprocess

import "os"

func ownExecutable() (string, error) { return os.Executable() }

// limitResources limits nothing here. The parent limits the time, and watchMemory the memory.
func limitResources() error { return nil }
