package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What a backup takes along is what nothing else can make again.
func TestIsKept(t *testing.T) {
	for name, want := range map[string]bool{
		CA: true, CACert: true, S3Credentials: true, SigningKey: true, NextSigningKey: true, "signing-key-0123456789ABCDEF.pem": true,
		Access: true, "of-a-newer-version.json": true,
		Env: false, Bundle: false, "ca-bundle-1234-5-.pem": false, ServerCert: false, Catalog: false, Socket: false, S3Socket: false, Lock: false,
		tempPrefix + "x": false, ".new-x": false,
	} {
		if got := IsKept(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What others than its owner may use is refused, with the command after which it
// is not: the folder, and all in it but certificates.
func TestPrivate(t *testing.T) {
	files := map[string]fs.FileMode{ // as they lie in a folder
		CA: 0o600, ServerCert: 0o600, S3Credentials: 0o600, SigningKey: 0o600, NextSigningKey: 0o600, "signing-key-0123456789ABCDEF.pem": 0o600,
		Catalog: 0o600, Access: 0o600, "access.db.bak": 0o600, Socket: 0o600, Lock: 0o600,
		CACert: 0o644, Bundle: 0o644, "ca-bundle-1234-5-.pem": 0o664, Env: 0o644,
	}
	made := func(t *testing.T) string {
		path := filepath.Join(t.TempDir(), "it's data")
		for _, folder := range []string{"", S3, S3Versions, Scratch} {
			if err := os.MkdirAll(filepath.Join(path, folder), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for name, mode := range files {
			if err := errors.Join(os.WriteFile(filepath.Join(path, name), nil, mode), os.Chmod(filepath.Join(path, name), mode)); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	open := func(path string) error {
		d, err := Open(path)
		if err == nil {
			err = d.Close()
		}
		return err
	}
	if err := open(made(t)); err != nil {
		t.Errorf("as it should be: %v", err)
	}
	for name, mode := range map[string]fs.FileMode{
		"": 0o777, "s3": 0o701, S3: 0o710, S3Versions: 0o704, Scratch: 0o755,
		CA: 0o640, ServerCert: 0o604, S3Credentials: 0o644, SigningKey: 0o620, NextSigningKey: 0o602, "signing-key-0123456789ABCDEF.pem": 0o640,
		Catalog: 0o640, Access: 0o660, "access.db.bak": 0o604, Socket: 0o666, Lock: 0o666,
	} {
		path := made(t)
		at := filepath.Join(path, name)
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
		err := open(path)
		if err == nil {
			t.Errorf("%q with mode %o is taken", name, mode)
			continue
		}
		_, command, _ := strings.Cut(err.Error(), " with  ")
		command, _, found := strings.Cut(command, "  and")
		if !found || !strings.Contains(err.Error(), at) || !strings.HasPrefix(command, "chmod ") {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if out, err := exec.Command("sh", "-euc", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", command, err, out)
		}
		if err := open(path); err != nil {
			t.Errorf("%q: after %s: %v", name, command, err)
		}
	}
}

// One command is for all that is wrong. A link counts for what it leads to, and
// one that leads nowhere for nothing.
func TestPrivateAtOnce(t *testing.T) {
	path, elsewhere := filepath.Join(t.TempDir(), "data"), t.TempDir()
	if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(elsewhere, 0o755), os.Symlink(elsewhere, filepath.Join(path, "s3")), os.Symlink("nowhere", filepath.Join(path, "gone")),
		os.WriteFile(filepath.Join(path, SigningKey), nil, 0o600), os.Chmod(filepath.Join(path, SigningKey), 0o644)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if err == nil || !strings.Contains(err.Error(), "chmod go= "+filepath.Join(path, "s3")+" "+filepath.Join(path, SigningKey)+"  ") {
		t.Errorf("%v", err)
	}
}

// Who is not the data folder's owner is told who is. What has another cause stays as it is.
func TestAsOwner(t *testing.T) {
	theirs, owner := "/", "root"
	if os.Geteuid() == 0 {
		theirs, owner = t.TempDir(), "'#4242424'" // nobody has that number
		if err := os.Chown(theirs, 4242424, 0); err != nil {
			t.Fatal(err)
		}
	}
	denied := fmt.Errorf("connect: %w", fs.ErrPermission)
	if err := AsOwner(theirs, denied); !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), ": run the command as that user, with  sudo -u "+owner) {
		t.Errorf("of a folder of %s: %v", owner, err)
	}
	for path, err := range map[string]error{t.TempDir(): denied, theirs: fs.ErrNotExist, filepath.Join(t.TempDir(), "nowhere"): denied, "": nil} {
		if got := AsOwner(path, err); got != err {
			t.Errorf("%q, %v: %v", path, err, got)
		}
	}
}
