//go:build !linux

package enginetest

import "syscall"

// DiesWithParent works only on Linux: elsewhere the process that starts an engine must end it.
func DiesWithParent() *syscall.SysProcAttr { return nil }
