package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/larder-registry/larder/internal/transfer/mirrorarchive"
	"github.com/larder-registry/larder/pkg/archive"
)

// intoFile writes a new file.
func intoFile(path string, write func(*os.File) error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) // less the umask
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// inspect computes the h1 hash of a downloaded package. The error may be that a registry would
// not take the package.
func inspect(ctx context.Context, r mirrorarchive.Release, p mirrorarchive.Package) (h1 string, err error) {
	file, err := os.Open(p.Path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	checked, err := archive.CheckProvider(ctx, file, p.Size, archive.Provider{Type: r.Address.Type})
	if err != nil {
		return "", fmt.Errorf("no registry would take it: %w", err)
	}
	return checked.H1, nil
}

// checkHashes compares a package with the hashes that a mirror names. It ignores hashes of
// unknown schemes, as the clients do.
func checkHashes(named []string, p mirrorarchive.Package) error {
	known := false
	for _, want := range named {
		for _, have := range []string{p.H1, "zh:" + p.SHA256} {
			scheme, _, _ := strings.Cut(have, ":")
			if !strings.HasPrefix(want, scheme+":") {
				continue
			}
			if want != have {
				return fmt.Errorf("the mirror says that its hash is %.100q, but it is %s", want, have)
			}
			known = true
		}
	}
	if !known {
		return errors.New("the mirror names no h1: or zh: hash of it, so it cannot be verified")
	}
	return nil
}
