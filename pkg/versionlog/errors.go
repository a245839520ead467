package versionlog

import (
	"errors"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
)

// recordsError is an error in what the records of a version hold. Others come from what
// they are read from or written to.
type recordsError struct{ error }

func (e recordsError) Unwrap() error { return e.error }

// IsOfVersion says whether an error is of one version, whatever there is besides:
// its records, or that there is no room for it.
func IsOfVersion(err error) bool {
	var records recordsError
	var unsignable *UnsignableError
	var tooLarge *blob.TooLargeError
	return errors.As(err, &records) || errors.As(err, &unsignable) || errors.As(err, &tooLarge) || errors.Is(err, catalog.ErrNoRoom)
}
