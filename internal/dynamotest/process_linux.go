package dynamotest

import "syscall"

// diesWithTest has the kernel kill the engine when the test binary ends,
// however it does.
func diesWithTest() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
