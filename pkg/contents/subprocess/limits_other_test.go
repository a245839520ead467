//go:build !linux

package subprocess

func openFiles() []string { return nil }
