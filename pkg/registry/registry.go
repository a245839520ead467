// Package registry is the vocabulary of Larder: the addresses of modules and
// providers, their versions and platforms, the records that are the truth
// about them, and the states that follow from those records.
//
// # Records and states
//
// Every version of a module or provider has a log of records under
// registry/records/ in the bucket: 00000001.json, 00000002.json, and so on.
// A record is created once, under the next free number, by a conditional
// write, and never changed. So all writers agree on one order. Each of them decides
// on the whole history before its own record. A writer that finds its number taken
// reads what came in between and decides again.
//
// A log adds up to a [State]: a [ModuleVersion] or a [ProviderVersion]. Its Revision
// is the number of its last record. A catalog stores states and listings by revision,
// where a newer one always replaces an older one. It can be rebuilt from the logs
// alone.
package registry

import "errors"

// ErrNotFound says that there is no such module, provider, version, package or
// object, or that the caller may not know of it. Callers wrap it; compare with
// [errors.Is].
var ErrNotFound = errors.New("not found")
