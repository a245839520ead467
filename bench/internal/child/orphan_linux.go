package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Begin starts a command that ends with this process, however that ends.
func Begin(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starts() <- func() { started <- command.Start() }
	return <-started
}

// starts takes what the thread that starts all commands does. Linux sends the signal when the
// thread that started a command ends, and this thread ends with the process.
var starts = sync.OnceValue(func() chan<- func() {
	todo := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range todo {
			do()
		}
	}()
	return todo
})
