package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/larder-registry/larder/internal/transfer/modulearchive"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/signing"
)

// File is a file to upload.
type File struct {
	Name string // as the user gave it
	Path string // on disk
	Key  string // in the bucket
	Part *Part  // of the file at Path. Nil: all of it.

	// Source is the source from which it was made: see [registry.CheckSource].
	Source string
}

// isZip says whether it is a package, if it is a file of a provider's release.
func (f File) isZip() bool { return strings.HasSuffix(f.Key, ".zip") }

// isSignature says whether it is an author's signature.
func (f File) isSignature() bool { return strings.HasSuffix(f.Key, "_SHA256SUMS.sig") }

// Part is a part of a file, such as a file in an uncompressed archive.
type Part struct{ Offset, Size int64 } // in bytes

// open opens the file, and the content to upload, which is readable while the file is open.
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

// Release returns the files of a release of a provider, namespace/type. If the only path is a
// folder, such as GoReleaser's dist, they are the files in it that may belong to a release.
func Release(provider string, paths []string) ([]File, error) {
	namespace, typ, ok := strings.Cut(provider, "/")
	if !ok {
		return nil, fmt.Errorf("%q is not a provider address <namespace>/<type>", provider)
	}
	address, err := registry.ParseProviderAddress(namespace, typ)
	if err != nil {
		return nil, err
	}
	if paths, err = inFolder(address, paths); err != nil {
		return nil, err
	}
	files := make([]File, len(paths))
	for i, path := range paths {
		files[i] = File{Name: path, Path: path, Key: address.UploadKey(filepath.Base(path))}
	}
	return files, nil
}

// inFolder returns the files of a release in a folder, if that is the only path.
func inFolder(address registry.ProviderAddress, paths []string) ([]string, error) {
	if len(paths) != 1 {
		return paths, nil
	}
	if info, err := os.Stat(paths[0]); err != nil || !info.IsDir() {
		return paths, nil // an unreadable file is reported with all other problems
	}
	entries, err := os.ReadDir(paths[0])
	if err != nil {
		return nil, fmt.Errorf("the folder %s cannot be read: %w", paths[0], unwrapPath(err))
	}
	var found []string
	own, other := false, ""
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasPrefix(entry.Name(), "terraform-provider-") {
			continue
		}
		found = append(found, filepath.Join(paths[0], entry.Name()))
		if strings.HasPrefix(entry.Name(), "terraform-provider-"+address.Type+"_") {
			own = true
		} else if other == "" {
			other = entry.Name()
		}
	}
	switch {
	case own:
		return found, nil
	case other != "":
		return nil, fmt.Errorf("the folder %s has no file of the provider %s, but has %s: --to names another type", paths[0], address, other)
	default:
		return nil, fmt.Errorf("the folder %s has no file of a provider's release: a package is named terraform-provider-%s_<version>_<os>_<arch>.zip", paths[0], address.Type)
	}
}

// AuthorKeys reads a file of an author's public keys.
func AuthorKeys(path string) ([]signing.PublicKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := signing.ReadKeyFile(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(file.Keys) == 0 {
		return nil, fmt.Errorf("%s has no public key in it", path)
	}
	return signing.NewestForms(file.Keys)
}

// Module returns the archive of a module, namespace/name/system. It first packs a folder, to
// a file that cleanUp removes.
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

// moduleKey returns a function that makes the key of a module's archive from its file name.
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
	return func(filename string) string { return inbox.ModuleKey(address, v, filename) }, nil
}
