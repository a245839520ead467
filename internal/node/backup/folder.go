package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/larder-registry/larder/pkg/registry"
)

// flush brings all that was written to the disk: in one call, because there may be many
// files.
var flush = func() { syscall.Sync() }

// partial is the end of the names of unfinished files.
const partial = ".part"

// folder is a backup that is written to a folder.
type folder struct {
	root *os.Root
	lock *os.File
	old  map[string]entry // of the backup that is there already, by path
}

// openFolder makes a folder, or opens a folder that has a backup, finished or not.
func openFolder(name string) (_ *folder, err error) {
	if err := os.MkdirAll(name, 0o700); err != nil {
		return nil, fmt.Errorf("make the backup's folder: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("other users of this machine can read or write %s, and a backup holds keys: end that with  chmod go= , or choose a new folder", name)
	}
	f := &folder{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.lock, err = os.Open(name); err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another backup is being written to %s", name)
	}
	if f.root, err = os.OpenRoot(name); err != nil {
		return nil, err
	}
	return f, f.readOld(name)
}

// readOld reads the manifest of the backup that the folder has.
func (f *folder) readOld(name string) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if n := e.Name(); n != manifestName && n != manifestName+partial && n+"/" != registry.Prefix && !stateName.MatchString(n) {
			return fmt.Errorf("%s holds %s, which does not belong to a backup: choose a new folder", name, n)
		}
	}
	m, err := readManifest(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: nothing can be added to the backup there: %w: choose a new folder", name, err)
	}
	f.old = map[string]entry{}
	for _, e := range m.Files {
		f.old[e.Path] = e
	}
	return nil
}

func readManifest(root *os.Root) (m manifest, err error) {
	file, _, err := openFile(root, manifestName)
	if err != nil {
		return manifest{}, err
	}
	defer file.Close() //nolint:errcheck // read only
	return parseManifest(file)
}

func parseManifest(r io.Reader) (m manifest, err error) {
	limited := &io.LimitedReader{R: r, N: maxManifest}
	if err := json.NewDecoder(limited).Decode(&m); err != nil {
		return manifest{}, fmt.Errorf("%s cannot be read: %w", manifestName, err)
	}
	if m.Format != format {
		return manifest{}, fmt.Errorf("%s has the format %.100q, and this larder reads %q", manifestName, m.Format, format)
	}
	return m, nil
}

// has implements target.
func (f *folder) has(name string, size int64) (entry, bool) {
	e, known := f.old[name]
	if !known || e.Size != size {
		return entry{}, false
	}
	info, err := f.root.Lstat(name)
	return e, err == nil && info.Mode().IsRegular() && info.Size() == size
}

// write implements target.
func (f *folder) write(name string, size int64, body io.Reader) (err error) {
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := f.root.OpenFile(name+partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(file, body)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if n != size {
		return fmt.Errorf("it has %d bytes, not %d", n, size)
	}
	return f.root.Rename(name+partial, name)
}

// finish implements target. At the end it removes the files of an earlier backup that
// this one does not have.
func (f *folder) finish(m manifest) error {
	flush() // all that the manifest names
	if err := writeManifest(f, m); err != nil {
		return err
	}
	if err := f.lock.Sync(); err != nil {
		return err
	}
	named := map[string]bool{manifestName: true}
	for _, e := range m.Files {
		named[e.Path] = true
	}
	return fs.WalkDir(f.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && stateName.MatchString(name) && name != stateAt(m.Time):
			if err := f.root.RemoveAll(name); err != nil {
				return err
			}
			return fs.SkipDir
		case !d.IsDir() && !named[name]:
			return f.root.Remove(name)
		}
		return nil
	})
}

func (f *folder) close() {
	if f.root != nil {
		_ = f.root.Close()
	}
	if f.lock != nil {
		_ = f.lock.Close()
	}
}
