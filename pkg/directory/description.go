package directory

import (
	"context"

	"github.com/larder-registry/larder/pkg/registry"
)

// Description is what a version says of itself, as far as an [Entry] has it.
type Description struct {
	Text                       string
	Inputs, Outputs, Resources []string // see [Entry]
}

// Contents describes versions.
type Contents interface {
	// Describe describes the version of a state. If its documentation was never read, the
	// description is empty.
	//
	// Errors are those of storage.
	Describe(ctx context.Context, s registry.State) (Description, error)
}
