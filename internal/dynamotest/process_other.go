//go:build !linux

package dynamotest

import "syscall"

// diesWithTest is what Linux alone can do: elsewhere it takes [Run].
func diesWithTest() *syscall.SysProcAttr { return nil }
