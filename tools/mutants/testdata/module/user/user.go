// Package user depends on tiny.
package user

import "tiny.example/tiny"

// Use uses it.
func Use() bool { return tiny.Unreached(" yes ") && !tiny.Unreached("no") }
