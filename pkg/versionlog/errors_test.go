package versionlog

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// What is wrong with one version is nothing that is wrong with storage, catalog or signer.
func TestIsOfVersion(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no error":              {nil, false},
		"its records":           {recordsError{errors.New("no JSON")}, true},
		"a record is too large": {&blob.TooLargeError{Size: 2, Limit: 1}, true},
		"too many packages":     {&UnsignableError{version: registry.Subject{Address: registry.ProviderAddress{}}}, true},
		"no room in the list":   {catalog.ErrNoRoom, true},
		"no record":             {registry.ErrNotFound, false},
		"the storage":           {io.ErrUnexpectedEOF, false},
	} {
		if got := IsOfVersion(test.err); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := IsOfVersion(errors.Join(errors.New("besides"), fmt.Errorf("wrapped: %w", errors.Join(test.err, io.EOF)))); got != test.want {
			t.Errorf("%s, wrapped: %v", name, got)
		}
	}
}
