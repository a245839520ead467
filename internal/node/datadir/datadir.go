// Package datadir is the folder in which a single node keeps all that it needs after a
// restart: keys, credentials, tokens, the bucket and the catalog.
//
// The folder belongs to one server at a time. Every file that this package writes is
// absent or whole, whenever the process is killed.
package datadir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The names of the files and folders in a data folder.
const (
	// Env is the file to source for the AWS CLI, Terraform and OpenTofu.
	Env = "env"
	// Bundle holds the system's root certificates and the local CA's.
	Bundle = "ca-bundle.pem"
	// CACert is the local CA's certificate alone, for installing elsewhere.
	CACert = "ca.pem"
	// CA holds the local CA's private key together with its certificate.
	CA = "ca-key.pem"
	// ServerCert holds the current server certificate with its private key.
	ServerCert = "server.pem"
	// S3Credentials holds the access keys of the bucket.
	S3Credentials = "s3-credentials.json"
	// S3 is the folder of the bucket's current objects, S3Versions the folder of the
	// earlier ones.
	S3         = "s3/objects"
	S3Versions = "s3/versions"
	// SigningKey is the private key that signs SHA256SUMS documents.
	SigningKey = "signing-key.pem"
	// NextSigningKey is the new signing key, while it is being changed.
	NextSigningKey = "signing-key-next.pem"
	// Socket is the socket by which operators' commands reach the server.
	Socket = "control.sock"
	// S3Socket is the socket by which the node itself reaches its bucket, while it serves.
	S3Socket = "s3.sock"
	// Catalog is the database file; it can be rebuilt from the bucket.
	Catalog = "catalog.db"
	// LastRun is the ID of the last run. The catalog has the same one, unless it is older
	// or of another bucket.
	LastRun = "s3/last-run"
	// Access is the database file of tokens and rules of trust. They are nowhere else.
	Access = "access.db"
	// Lock is the file that a process locks while it holds the folder.
	Lock = "lock"
	// Scratch is the folder for archives that are being inspected.
	Scratch = "scratch"
)

const tempPrefix = ".tmp-"

// leftovers are the beginnings of the names of unfinished files: of this package, and of
// package signing.
var leftovers = []string{tempPrefix, ".new-"}

// ErrInUse reports that another process holds the data folder.
var ErrInUse = errors.New("the data folder is in use")

// A Dir is a data folder that this process holds alone.
type Dir struct {
	path string
	lock *os.File
}

// Open creates the folder path (mode 0700) if it is missing, and locks it for this process
// until Close. It removes the unfinished files of a process that was killed. It refuses a
// folder with a line break in its path, and a folder that others than its owner may use,
// or of which they may use keys, credentials or databases.
//
// Errors: ErrInUse when another process holds the folder.
func Open(path string) (*Dir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("data folder %q is not an absolute path", path)
	}
	if strings.ContainsAny(path, "\n\r") {
		return nil, fmt.Errorf("data folder %q has a line break in its path, which breaks shell scripts and lines of the log: choose another folder with LARDER_DATA", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	if err := refuseOthers(path); err != nil {
		return nil, err
	}
	lock, err := acquire(filepath.Join(path, Lock))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: lock}
	if err := errors.Join(d.removeLeftovers(), d.checkPrivate()); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// acquire locks the lock file, and writes the process's ID to it. The system unlocks it
// when the process ends, for whatever reason.
func acquire(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, AsOwner(filepath.Dir(path), fmt.Errorf("open the data folder's lock: %w", err))
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := os.ReadFile(path)
		f.Close()
		return nil, fmt.Errorf("%w: process %s works with %s; wait for its end, stop it, or choose another folder with LARDER_DATA",
			ErrInUse, strings.TrimSpace(string(holder)), filepath.Dir(path))
	}
	if err == nil {
		err = note(f, fmt.Appendln(nil, os.Getpid()))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the data folder: %w", Hint(err))
	}
	return f, nil
}

// note replaces the content of a file. It writes before it truncates: on a full disk,
// others could take the room that it gave up first.
func note(f *os.File, data []byte) error {
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
}

func (d *Dir) removeLeftovers() error {
	for _, folder := range []string{"", filepath.Dir(LastRun)} {
		entries, err := os.ReadDir(d.Path(folder))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the data folder: %w", err)
		}
		for _, e := range entries {
			if slices.ContainsFunc(leftovers, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }) {
				if err := os.Remove(filepath.Join(d.Path(folder), e.Name())); err != nil {
					return fmt.Errorf("remove a leftover from the data folder: %w", err)
				}
			}
		}
	}
	return nil
}

// Close unlocks the folder for other processes.
func (d *Dir) Close() error { return d.lock.Close() }

// Path returns the absolute path of the file or folder name in the folder, and of the
// folder itself for the name "".
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Folder returns the path of the folder name inside the data folder. It creates a missing
// one with mode 0700.
func (d *Dir) Folder(name string) (string, error) {
	path := d.Path(name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", fmt.Errorf("create a folder in the data folder: %w", Hint(err))
	}
	return path, nil
}

// WriteFile replaces the file name by data, mode 0600. At any moment the file is the old
// one or the new one; on return it is durably the new one. A file that has data already
// stays as it is, so that a start on a full disk does not fail.
func (d *Dir) WriteFile(name string, data []byte) error {
	write := d.replace
	if old, err := os.ReadFile(d.Path(name)); err == nil && bytes.Equal(old, data) {
		write = func(string, []byte) error { return sync(filepath.Dir(d.Path(name))) }
	}
	if err := write(name, data); err != nil {
		return fmt.Errorf("write %s: %w", d.Path(name), Hint(err))
	}
	return nil
}

// Hint adds advice to the error of a full disk. It returns other errors as they are.
func Hint(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: the disk of the data folder is full; make room on it, and try again", err)
	}
	return err
}

func (d *Dir) replace(name string, data []byte) (err error) {
	folder, base := filepath.Split(d.Path(name))
	temp, err := os.CreateTemp(folder, tempPrefix+base+"-") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temp.Close()
			os.Remove(temp.Name())
		}
	}()
	if _, err := temp.Write(data); err != nil {
		return err
	}
	if err := temp.Sync(); err != nil {
		return err
	}
	if err := temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), d.Path(name)); err != nil {
		return err
	}
	return sync(folder)
}

// Supersede durably replaces the file name by the file next, and keeps the old one as the
// file kept, unless that exists already. At any moment the file name is the old one or the
// next one.
func (d *Dir) Supersede(name, next, kept string) error {
	if err := os.Link(d.Path(name), d.Path(kept)); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("keep the old %s: %w", name, err)
	}
	if err := os.Rename(d.Path(next), d.Path(name)); err != nil {
		return fmt.Errorf("replace %s: %w", d.Path(name), err)
	}
	return sync(d.path)
}

// sync makes a rename in a folder durable.
func sync(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// LoadOrCreate returns the content of the file name. It first writes a missing one, mode
// 0600, with the content that create returns.
func (d *Dir) LoadOrCreate(name string, create func() ([]byte, error)) ([]byte, error) {
	data, err := os.ReadFile(d.Path(name))
	if !errors.Is(err, fs.ErrNotExist) {
		if err != nil {
			err = fmt.Errorf("read from the data folder: %w", err)
		}
		return data, err
	}
	if data, err = create(); err != nil {
		return nil, err
	}
	return data, d.WriteFile(name, data)
}

// Remove deletes the file name. A missing file is not an error.
func (d *Dir) Remove(name string) error {
	if err := os.Remove(d.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove from the data folder: %w", err)
	}
	return nil
}
