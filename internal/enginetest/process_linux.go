package enginetest

import "syscall"

// DiesWithParent has the kernel kill an engine when the process ends that started it,
// however it does.
func DiesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
