package store

import (
	"context"
	"errors"
	"slices"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// Describe implements [directory.Contents].
func (s *Store) Describe(ctx context.Context, state registry.State) (directory.Description, error) {
	data, err := s.Document(ctx, state)
	if errors.Is(err, registry.ErrNotFound) {
		return directory.Description{}, nil
	}
	if err != nil {
		return directory.Description{}, err
	}
	module, err := contents.DecodeModule(data)
	if err != nil {
		// It is derived, and verify says that it is wrong. It must not keep the version from
		// being listed.
		return directory.Description{}, nil
	}
	return describeModule(module), nil
}

// describeModule describes a module by its root and its submodules: both can be called. Its
// examples cannot.
func describeModule(m contents.Module) (d directory.Description) {
	d.Text = firstParagraph(m.Root.Readme)
	for _, part := range append([]contents.Part{m.Root}, m.Submodules...) {
		for _, input := range part.Inputs {
			d.Inputs = append(d.Inputs, input.Name)
		}
		for _, output := range part.Outputs {
			d.Outputs = append(d.Outputs, output.Name)
		}
		for _, resource := range part.Resources {
			d.Resources = append(d.Resources, resource.Type)
		}
	}
	d.Inputs, d.Outputs, d.Resources = sorted(d.Inputs), sorted(d.Outputs), sorted(d.Resources)
	return d
}

// sorted puts names in order, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
