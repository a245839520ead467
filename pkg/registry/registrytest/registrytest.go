// Package registrytest makes values of package registry for tests.
package registrytest

import (
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
)

// Version parses a version, which must be valid.
func Version(t testing.TB, text string) registry.Version {
	t.Helper()
	v, err := registry.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
