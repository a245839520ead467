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
// [ModuleVersion] and [ProviderVersion] are what a log adds up to, and each is a
// [State]. Their Revision is the number of the last record in them. A catalog stores states
// and listings by revision, a newer one always replacing an older one, and can
// be rebuilt from the logs alone.
package registry

import "errors"

// ErrNotFound says that there is no such module, provider, version, package or
// object, or none that the caller may know of. Callers wrap it; compare with
// [errors.Is].
var ErrNotFound = errors.New("not found")
