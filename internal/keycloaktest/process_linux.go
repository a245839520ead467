package keycloaktest

import "syscall"

// diesWithStarter has the kernel kill Keycloak when the process ends that
// started it, however it does.
func diesWithStarter() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
