package registry

import "slices"

// Listing is every listed version of one module or provider, in ascending
// order of precedence.
type Listing []Listed

// Listed is one version in a listing. A module's has a version and a revision
// alone.
type Listed struct {
	Version   Version    `json:"version"`
	Revision  int        `json:"revision"`
	Protocols []string   `json:"protocols,omitempty"` // each major once, with its highest minor
	Platforms []Platform `json:"platforms,omitempty"`
}

// With is the listing with an entry added, or replaced where it holds an older
// revision of the same version. It reports whether anything changed; l itself
// never does.
func (l Listing) With(entry Listed) (Listing, bool) {
	at, found := l.find(entry.Version)
	if !found {
		return slices.Insert(slices.Clone(l), at, entry), true
	}
	if l[at].Revision >= entry.Revision {
		return l, false
	}
	updated := slices.Clone(l)
	updated[at] = entry
	return updated, true
}

// Revision is the revision at which a version is listed, whatever its build
// metadata, and 0 where it is not.
func (l Listing) Revision(v Version) int {
	if at, found := l.find(v); found {
		return l[at].Revision
	}
	return 0
}

func (l Listing) find(v Version) (at int, found bool) {
	return slices.BinarySearchFunc(l, v, func(e Listed, v Version) int { return e.Version.Compare(v) })
}
