// With runs a command with a Keycloak beside it, which its tests share:
//
//	with COMMAND [ARGUMENT...]
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/larder-registry/larder/internal/keycloaktest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: with COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	os.Exit(run())
}

// run returns the command's exit status.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := keycloaktest.With(ctx, os.Args[1], os.Args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		return exit.ExitCode() // the command has said why
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
