package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// Describe implements [directory.Contents].
func (s *Store) Describe(ctx context.Context, state registry.State) (directory.Description, error) {
	from, _ := sourceOf(state)
	data, err := s.Document(ctx, state)
	if errors.Is(err, registry.ErrNotFound) {
		return directory.Description{}, nil
	}
	if err != nil {
		return directory.Description{}, err
	}
	if from.isProviders() {
		return s.describeProvider(ctx, from, data)
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
	d.Text = contents.FirstParagraph(m.Root.Readme)
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

// describeProvider describes a provider by its overview and the names of its other pages.
func (s *Store) describeProvider(ctx context.Context, from source, document []byte) (d directory.Description, err error) {
	provider, err := contents.DecodeProvider(document)
	if err != nil {
		return directory.Description{}, nil // as above
	}
	for _, page := range provider.Pages {
		if page.Category != contents.Overview {
			d.Resources = append(d.Resources, page.Slug)
			continue
		}
		if d.Text = contents.PlainText(page.Description); d.Text == "" {
			if d.Text, err = s.beginning(ctx, from, page); err != nil {
				return directory.Description{}, err
			}
		}
	}
	d.Resources = sorted(d.Resources)
	return d, nil
}

// beginning is the first paragraph of a page, or "" if its text is not there.
func (s *Store) beginning(ctx context.Context, from source, page contents.Page) (string, error) {
	text, err := blob.ReadRange(ctx, s.config.Bucket, from.pages(), page.Offset, min(page.Length, contents.MaxParagraph+1))
	if errors.Is(err, registry.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the overview: %w", err)
	}
	return contents.FirstParagraph(string(text)), nil
}

// sorted puts names in order, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
