package catalog

import (
	"errors"
	"fmt"

	"github.com/larder-registry/larder/pkg/registry"
)

// ErrNoRoom says that something has grown larger than the catalog can hold. It is
// of what was to be stored, and of nothing else.
var ErrNoRoom = errors.New("the catalog has no room for it")

// ErrChanged says that a catalog has changed since it was seen: somebody else
// wrote to it, and whoever wants to correct it looks again.
var ErrChanged = errors.New("the catalog has changed since it was looked at")

// ErrUnauthorized says that the caller has not shown who they are.
var ErrUnauthorized = errors.New("unauthorized")

// ErrOtherBuild is the [registry.ErrNotFound] of a version that is published with other
// build metadata than was asked for, and never will be with that.
var ErrOtherBuild = fmt.Errorf("%w: it has other build metadata", registry.ErrNotFound)

// ErrDenied is the [registry.ErrNotFound] of what a caller may not read, whether it is
// there or not.
var ErrDenied = fmt.Errorf("%w: the token has no scope for it", registry.ErrNotFound)

// UnauthorizedError is the [ErrUnauthorized] of a caller without a good token.
type UnauthorizedError struct{ Why string }

func (e *UnauthorizedError) Error() string { return ErrUnauthorized.Error() + ": " + e.Why }

// Unwrap makes it an [ErrUnauthorized].
func (e *UnauthorizedError) Unwrap() error { return ErrUnauthorized }
