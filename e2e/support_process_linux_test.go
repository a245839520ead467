package e2e

import "syscall"

// ownGroup puts a server into a process group of its own, and has the kernel kill it when the test dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
