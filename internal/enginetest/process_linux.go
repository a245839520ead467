package enginetest

import "syscall"

// DiesWithParent makes the kernel kill an engine when its parent process ends, for any reason.
func DiesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
