// Package registry is the vocabulary of Larder: the addresses of modules and
// providers, their versions and platforms, the records that are the truth
// about them, and the states that follow from those records.
//
// # Records and states
//
// Every version of a module or provider has a log of records under
// registry/records/ in the bucket: 00000001.json, 00000002.json, and so on.
// A record is created once, under the next free number, by a conditional
// write, and never changed. So all writers agree on one order, each of them
// decides on the whole history before its own record, and whoever finds its
// number taken reads what came in between and decides again.
//
// [ModuleVersion] and [ProviderVersion] are what a log adds up to. Their
// Revision is the number of the last record in them. A catalog stores states
// and listings by revision, a newer one always replacing an older one, and can
// be rebuilt from the logs alone.
package registry

import "errors"

// Errors of the vocabulary. Callers wrap them; compare with [errors.Is].
var (
	// ErrNotFound says that there is no such module, provider, version or
	// package, or none that the caller may know of.
	ErrNotFound = errors.New("not found")

	// ErrNoRoom says that something has grown larger than the catalog can
	// hold. It is of what was to be stored, and of nothing else.
	ErrNoRoom = errors.New("the catalog has no room for it")

	// ErrUnauthorized says that the caller has not shown who they are.
	ErrUnauthorized = errors.New("unauthorized")
)
