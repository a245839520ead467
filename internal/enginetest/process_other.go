//go:build !linux

package enginetest

import "syscall"

// DiesWithParent is what Linux alone can do: elsewhere whoever starts an engine has to
// end it.
func DiesWithParent() *syscall.SysProcAttr { return nil }
