package versionlog

import (
	"errors"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
)

// recordsError says that the records of a version are wrong. Other errors are of the storage.
type recordsError struct{ error }

func (e recordsError) Unwrap() error { return e.error }

// IsOfVersion says whether an error is about one version: its records are wrong, or there
// is no room for it. Any other error may be about all versions.
func IsOfVersion(err error) bool {
	var records recordsError
	var unsignable *UnsignableError
	var tooLarge *blob.TooLargeError
	return errors.As(err, &records) || errors.As(err, &unsignable) || errors.As(err, &tooLarge) || errors.Is(err, catalog.ErrNoRoom)
}
