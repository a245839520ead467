// Package enginetest is what DynamoDB Local and Keycloak have in common: a pom.xml says which
// version is fetched into .cache of the repository, and tests run them.
package enginetest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Engine is a program that tests run.
type Engine struct {
	Folder  string // of the fetched engine
	Pom     []byte // the pom.xml of the wanted version
	Missing string // the message if it has not been fetched
}

// Folder returns the folder of an engine by its name in .cache. It must be called before a test
// changes the working directory.
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

// Fetched says whether the engine is here, in the wanted version.
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
