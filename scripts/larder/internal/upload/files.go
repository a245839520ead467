package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/larder-registry/larder/pkg/publish"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/scripts/larder/internal/modulearchive"
)

// File is a file and where it is to go.
type File struct {
	Name string // as the user gave it
	Path string // where it lies
	Key  string // in the bucket
	Part *Part  // of the file at Path. Nil: all of it.

	// Source is of what source it was made: see [registry.CheckSource].
	Source string
}

// Part is a part of a file: as an archive holds another file as it is.
type Part struct{ Offset, Size int64 } // in bytes

// open opens what is to be uploaded, as long as the file is open that it lies in.
func (f File) open() (file *os.File, content *io.SectionReader, err error) {
	if file, err = os.Open(f.Path); err != nil {
		return nil, nil, err
	}
	if f.Part != nil {
		return file, io.NewSectionReader(file, f.Part.Offset, f.Part.Size), nil
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, io.NewSectionReader(file, 0, info.Size()), nil
}

// Release is the files of a provider, which is written namespace/type.
func Release(provider string, paths []string) ([]File, error) {
	namespace, typ, ok := strings.Cut(provider, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not a provider address <namespace>/<type>", provider)
	}
	address, err := registry.ParseProviderAddress(namespace, typ)
	if err != nil {
		return nil, err
	}
	files := make([]File, len(paths))
	for i, path := range paths {
		files[i] = File{Name: path, Path: path, Key: publish.ProviderKey(address, filepath.Base(path))}
	}
	return files, nil
}

// Module is the archive of a module, which is written namespace/name/system. A
// folder is packed first, to a file that cleanUp removes.
func Module(ctx context.Context, module, version, path string) (file File, cleanUp func(), err error) {
	keyOf, err := moduleKey(module, version)
	if err != nil {
		return File{}, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return File{}, nil, err
	}
	if !info.IsDir() {
		return File{Name: path, Path: path, Key: keyOf(path)}, func() {}, nil
	}
	packed, err := os.CreateTemp("", "larder-module-*"+modulearchive.Ext)
	if err != nil {
		return File{}, nil, err
	}
	cleanUp = func() { _ = os.Remove(packed.Name()) }
	if err := errors.Join(modulearchive.Pack(ctx, path, packed), packed.Close()); err != nil {
		cleanUp()
		return File{}, nil, err
	}
	return File{Name: path, Path: packed.Name(), Key: keyOf(packed.Name())}, cleanUp, nil
}

// moduleKey says where the archive of a module goes, by its file name.
func moduleKey(module, version string) (func(filename string) string, error) {
	parts := strings.Split(module, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("%q is not a module address <namespace>/<name>/<system>", module)
	}
	address, err := registry.ParseModuleAddress(parts[0], parts[1], parts[2])
	if err != nil {
		return nil, err
	}
	v, err := registry.ParseVersion(version)
	if err != nil {
		return nil, err
	}
	return func(filename string) string { return publish.ModuleKey(address, v, filename) }, nil
}
