// Package enginetest is what DynamoDB Local and Keycloak have in common: programs that
// are fetched, as a pom.xml says, into .cache of the repository, and that tests run.
package enginetest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Engine is a program that tests run.
type Engine struct {
	Folder  string // where it is when it has been fetched
	Pom     []byte // the pom.xml of the version that is wanted
	Missing string // what is said where it has not been fetched
}

// Folder is the one of an engine by its name in .cache. It is to be asked for before any
// test can change the working directory.
func Folder(name string) string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, ".cache", name)
}

// Fetched says that the engine is here, of the version that is wanted.
func (e Engine) Fetched() bool {
	copied, err := os.ReadFile(filepath.Join(e.Folder, "pom.xml"))
	return err == nil && bytes.Equal(copied, e.Pom)
}

// Need skips a test where the engine has not been fetched, or fails it if CI is set.
func (e Engine) Need(t testing.TB) {
	t.Helper()
	switch {
	case e.Fetched():
	case os.Getenv("CI") != "":
		t.Fatal(e.Missing)
	default:
		t.Skip(e.Missing)
	}
}
