package backup

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/larder-registry/larder/internal/node/datadir"
)

// files adds the files of the data folder.
func (c *creation) files(ctx context.Context) error {
	if err := c.tokens(ctx); err != nil || c.options.WithoutKeys {
		return err
	}
	const tries = 3
	var err error
	for range tries { // the signing key may change meanwhile
		var files map[string][]byte
		if files, err = readFiles(c.data); err != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := c.add(ctx, c.state("data/"+name), int64(len(files[name])), bytes.NewReader(files[name])); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("read the data folder: %w", err)
}

// readFiles reads the files of a data folder that a backup keeps.
func readFiles(data string) (map[string][]byte, error) {
	entries, err := os.ReadDir(data)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if !e.Type().IsRegular() || !datadir.IsKept(e.Name()) || e.Name() == datadir.Access {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(data, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// tokens adds the tokens and the rules of trust.
func (c *creation) tokens(ctx context.Context) error {
	body, size, err := c.access(ctx)
	if err != nil {
		return fmt.Errorf("copy tokens and rules: %w", err)
	}
	defer body.Close() //nolint:errcheck // read only
	return c.add(ctx, c.state("data/"+datadir.Access), size, body)
}
