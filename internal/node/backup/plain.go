package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/registry"
)

// readPlain reads the files below registry/ in a folder, as objects.
func readPlain(ctx context.Context, name string, p *progress.Progress, visit visitor) (_ Summary, err error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return Summary{}, err
	}
	defer root.Close() //nolint:errcheck // read only
	files, total, err := plainFiles(root)
	if err != nil {
		return Summary{}, fmt.Errorf("%s: %w", name, err)
	}
	r := &reading{ctx: ctx, visit: visit, check: newCheck(), bar: p.Begin("the copy of registry/", total)}
	defer func() { r.bar.End(err) }()
	for _, path := range files {
		if err := r.plainFile(root, path); err != nil {
			return Summary{}, err
		}
	}
	return r.end(manifest{}, nil)
}

// plainFiles are the files below registry/, in their order.
func plainFiles(root *os.Root) (files []string, total int64, err error) {
	err = fs.WalkDir(root.FS(), strings.TrimSuffix(registry.Prefix, "/"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && !info.Mode().IsRegular() {
			err = errNotRegular(path)
		}
		if err == nil {
			files, total = append(files, path), total+info.Size()
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("it has no folder registry: name the folder that the bucket's registry/ was copied into")
	}
	return files, total, err
}

func (r *reading) plainFile(root *os.Root, path string) error {
	file, size, err := openFile(root, path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // read only
	_, err = r.read(path, size, file)
	return err
}
