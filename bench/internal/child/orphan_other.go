//go:build !linux

package child

import "os/exec"

// Begin starts a command. Only on Linux it ends with this process, however that ends.
func Begin(command *exec.Cmd) error { return command.Start() }
