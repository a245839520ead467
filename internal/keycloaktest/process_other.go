//go:build !linux

package keycloaktest

import "syscall"

// diesWithStarter is what Linux alone can do: elsewhere it takes [Run] or [With].
func diesWithStarter() *syscall.SysProcAttr { return nil }
