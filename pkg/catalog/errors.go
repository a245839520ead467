package catalog

import (
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/registry"
)

// ErrNoRoom says that what shall be stored is larger than the catalog can hold.
var ErrNoRoom = errors.New("the catalog has no room for it")

// ErrChanged says that somebody else has written to the catalog since it was read.
// Read it again.
var ErrChanged = errors.New("the catalog has changed since it was looked at")

// ErrUnauthorized says that the caller has not shown who they are.
var ErrUnauthorized = errors.New("unauthorized")

// ErrOtherBuild is the [registry.ErrNotFound] for a version that is published with other
// build metadata. It can never be published with those that were asked for.
var ErrOtherBuild = fmt.Errorf("%w: it has other build metadata", registry.ErrNotFound)

// ErrDenied is the [registry.ErrNotFound] for what a caller may not read, whether it
// exists or not.
var ErrDenied = fmt.Errorf("%w: the token has no scope for it", registry.ErrNotFound)

// UnauthorizedError is the [ErrUnauthorized] for a caller without a good token.
type UnauthorizedError struct{ Why string }

func (e *UnauthorizedError) Error() string { return ErrUnauthorized.Error() + ": " + e.Why }

// Unwrap makes it an [ErrUnauthorized].
func (e *UnauthorizedError) Unwrap() error { return ErrUnauthorized }
