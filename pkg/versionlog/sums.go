package versionlog

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/shasums"
)

// Sums returns a SHA256SUMS of all accepted packages.
//
// Errors: [*UnsignableError].
func Sums(s *registry.ProviderVersion) (shasums.Sums, error) {
	lines := make(map[string]string, len(s.Packages))
	for _, pkg := range s.Packages {
		lines[s.Address.PackageFilename(s.Version, pkg.Platform)] = pkg.SHA256
	}
	document, err := shasums.New(lines)
	if err != nil {
		return shasums.Sums{}, &UnsignableError{len(s.Packages), s.Subject(), err}
	}
	return document, nil
}

// UnsignableError says that a version has more packages than fit into a SHA256SUMS.
type UnsignableError struct {
	packages int
	version  registry.Subject
	cause    error
}

func (e *UnsignableError) Error() string {
	return fmt.Sprintf("the %d packages of %s cannot be signed: %v", e.packages, e.version, e.cause)
}

func (e *UnsignableError) Unwrap() error { return e.cause }

// CheckListed returns an error if an author's SHA256SUMS lists a file with another sha256,
// or if it must list the file and does not.
func CheckListed(sums shasums.Sums, name, sha256 string, must bool) error {
	listed, ok := sums.SHA256(name)
	switch {
	case !ok && must:
		return fmt.Errorf("the author's SHA256SUMS does not list %s", name)
	case ok && listed != sha256:
		return fmt.Errorf("the author's SHA256SUMS lists %s with another sha256 (%s; this file: %s)", name, listed, sha256)
	default:
		return nil
	}
}
