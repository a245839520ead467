package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/larder-registry/larder/internal/shell"
)

// others is the permissions of the group and all other users of the machine.
const others fs.FileMode = 0o077

// refuseOthers refuses paths that others than their owner may use. The error says how to
// mend that.
func refuseOthers(paths ...string) error {
	var open, quoted []string
	for _, path := range paths {
		info, err := os.Stat(path) // follows a link
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("find out who may use the data folder: %w", err)
		}
		if info.Mode()&others != 0 {
			open = append(open, fmt.Sprintf("%s (mode %04o)", path, info.Mode().Perm()))
			quoted = append(quoted, shell.Quote(path))
		}
	}
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf("other users of this machine can read or write %s, where keys, credentials and tokens are kept: "+
		"end that with  chmod go= %s  and, if they may have read them, have new ones made",
		strings.Join(open, ", "), strings.Join(quoted, " "))
}

// AsOwner adds advice to the error of a data folder of another user: who that is, and what
// to do. It returns other errors as they are.
func AsOwner(path string, err error) error {
	info, failed := os.Stat(path)
	if !errors.Is(err, fs.ErrPermission) || failed != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return err
	}
	owner := "#" + strconv.FormatUint(uint64(stat.Uid), 10) // as sudo takes it
	if u, err := user.LookupId(owner[1:]); err == nil {
		owner = u.Username
	}
	return fmt.Errorf("%w: %s belongs to the user %s: run the command as that user, with  sudo -u %s", err, path, owner, shell.Quote(owner))
}

// checkPrivate refuses a folder of which others than its owner may use anything but
// certificates. They cannot reach the files deeper in the bucket.
func (d *Dir) checkPrivate() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	var paths []string
	for _, e := range entries {
		if !isPublic(e.Name()) {
			paths = append(paths, d.Path(e.Name()))
		}
	}
	return refuseOthers(append(paths, d.Path(S3), d.Path(S3Versions))...)
}

// madeAnew are the files that a start or a shell makes again from the others.
var madeAnew = []string{Env, ServerCert, Catalog, Socket, S3Socket, Lock}

// IsKept says whether a backup must have a file of a data folder: every file that a start
// or a shell does not make again.
func IsKept(name string) bool {
	isLeftover := slices.ContainsFunc(leftovers, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	isBundle := isPublic(name) && name != CACert
	return !isLeftover && !isBundle && !slices.Contains(madeAnew, name)
}

// isPublic says that others may read a file. The file to source has a secret, but the node
// removes it before it serves, and writes it anew for its owner alone.
func isPublic(name string) bool {
	bundle := strings.TrimSuffix(Bundle, ".pem") // those that shells write are named after it
	return name == CACert || strings.HasPrefix(name, bundle) || name == Env
}
