// Package modulearchive packs the folder of a module. The same folder always gives the same
// bytes, as long as the gzip compressor of the Go release is the same: files come in the order
// of their names, with no times, no owners and one of two modes.
//
// It does not check what it packs: a symbolic link becomes a symbolic link in the archive, and
// the checks of archives refuse it later.
package modulearchive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/larder-registry/larder/internal/transfer/terraformignore"
	"github.com/larder-registry/larder/pkg/archive"
)

// Ext is the extension of an archive.
const Ext = ".tar.gz"

// Pack writes a tar.gz of a folder to w, without the files that the folder's .terraformignore
// excludes. It refuses a folder with more files, or more bytes in them, than a module may have.
func Pack(ctx context.Context, dir string, w io.Writer) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := list(ctx, root)
	if err != nil {
		return fmt.Errorf("pack %s: %w", dir, err)
	}
	gz := gzip.NewWriter(w)
	tw := tar.NewWriter(gz)
	for _, file := range files {
		if err := add(ctx, tw, root, file); err != nil {
			return fmt.Errorf("pack %s: %w", dir, err)
		}
	}
	return errors.Join(tw.Close(), gz.Close())
}

// list returns all files of the module, in the order of their names.
func list(ctx context.Context, root *os.Root) ([]string, error) {
	rules, err := ignoreRules(root)
	if err != nil {
		return nil, err
	}
	var files []string
	var size int64
	err = fs.WalkDir(root.FS(), ".", func(file string, entry fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || entry.IsDir() || rules.Excludes(file) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files = append(files, file)
		if size += info.Size(); size > archive.MaxModuleExpanded || len(files) > archive.MaxFiles {
			return fmt.Errorf("there are more than %d files or %d MiB in it: exclude in %s what does not belong to the module",
				archive.MaxFiles, archive.MaxModuleExpanded>>20, terraformignore.Filename)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

func ignoreRules(root *os.Root) (terraformignore.Rules, error) {
	file, err := root.OpenFile(terraformignore.Filename, os.O_RDONLY|syscall.O_NONBLOCK, 0) // so that it does not wait for a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return terraformignore.Defaults(), nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", terraformignore.Filename)
	}
	return terraformignore.Parse(file)
}

// add writes a file, or what is in its place.
func add(ctx context.Context, tw *tar.Writer, root *os.Root, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return addSpecial(tw, root, name, info)
	}
	file, err := root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: mode(info)}); err != nil {
		return err
	}
	if n, err := io.Copy(tw, io.LimitReader(file, info.Size())); err != nil || n != info.Size() {
		return errors.Join(err, fmt.Errorf("%s: read %d of its %d bytes", name, n, info.Size()))
	}
	return nil
}

// addSpecial writes a file that is not a regular one, with its type.
func addSpecial(tw *tar.Writer, root *os.Root, name string, info fs.FileInfo) error {
	var target string
	if info.Mode().Type() == fs.ModeSymlink {
		var err error
		if target, err = root.Readlink(name); err != nil {
			return err
		}
	}
	found, err := tar.FileInfoHeader(info, target)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return tw.WriteHeader(&tar.Header{Typeflag: found.Typeflag, Name: name, Linkname: found.Linkname, Mode: mode(info)})
}

// mode returns the mode in the archive: executable if the file is.
func mode(info fs.FileInfo) int64 {
	if info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}
