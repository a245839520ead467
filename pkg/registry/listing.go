package registry

import (
	"iter"
	"slices"
	"strings"
)

// Listing is every version of one module or provider, in ascending order of
// precedence. Withdrawn versions stay in it, so that a late writer does not list them
// again. Clients are shown those of [Listing.Offered].
type Listing []Listed

// Listed is one version in a listing. A module's has no protocols and platforms,
// and a provider's no source.
type Listed struct {
	Version   Version    `json:"version"`
	Revision  int        `json:"revision"`
	Protocols []string   `json:"protocols,omitempty"` // each major once, with its highest minor
	Platforms []Platform `json:"platforms,omitempty"`
	Standing  Standing   `json:"standing,omitzero"`
	Source    string     `json:"source,omitempty"` // see [CheckSource]
}

// Offered is the versions that may be chosen: all but those withdrawn.
func (l Listing) Offered() iter.Seq[Listed] {
	return func(yield func(Listed) bool) {
		for _, entry := range l {
			if entry.Standing.State != Withdrawn && !yield(entry) {
				return
			}
		}
	}
}

// Newest is the highest offered version that is not a pre-release, if there is one.
func (l Listing) Newest() (newest Listed, ok bool) {
	for entry := range l.Offered() {
		if !entry.Version.Prerelease() {
			newest, ok = entry, true
		}
	}
	return newest, ok
}

// Shown is the version that stands for the address where one version is shown: the newest, or
// if every offered version is a pre-release, the highest of them. It is false if none is
// offered.
func (l Listing) Shown() (shown Listed, ok bool) {
	if newest, ok := l.Newest(); ok {
		return newest, true
	}
	for entry := range l.Offered() {
		shown, ok = entry, true
	}
	return shown, ok
}

// Sizes estimates the length of the listing in JSON, in bytes. Clients are answered
// with the platforms of each version; stored are each set of platforms and each source
// once.
func (l Listing) Sizes() (answered, stored int) {
	const perVersion, perStanding, perPlatform, perSet, perSource, perText = 48, 48, 18, 48, 20, 2 // names of fields, quotes and the like
	seen := map[string]bool{}
	for _, entry := range l {
		var set strings.Builder
		for _, platform := range entry.Platforms {
			set.WriteString(platform.OS + "_" + platform.Arch + ",")
		}
		for _, protocol := range entry.Protocols {
			set.WriteString(protocol + ",")
		}
		offered := set.Len() + perText*(len(entry.Platforms)+len(entry.Protocols))
		version := perVersion + len(entry.Version.String())
		if entry.Standing.State != "" {
			version += perStanding + len(entry.Standing.Message)
		}
		if entry.Source != "" {
			stored += perSource
			if key := "source " + entry.Source; !seen[key] {
				seen[key] = true
				stored += len(entry.Source) + perText
			}
		}
		answered += version + offered + perPlatform*len(entry.Platforms)
		stored += version
		if !seen[set.String()] {
			seen[set.String()] = true
			stored += perSet + offered
		}
	}
	return answered, stored
}

// Source is the source of the highest offered version that has one.
func (l Listing) Source() (source string) {
	for entry := range l.Offered() {
		if entry.Source != "" {
			source = entry.Source
		}
	}
	return source
}

// With is the listing with an entry added, or replaced where it holds an older
// revision of the same version. It reports whether anything changed. l itself
// stays as it is.
func (l Listing) With(entry Listed) (Listing, bool) {
	at, found := l.search(entry.Version)
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

// Without is the listing without a version, whatever its build metadata. It
// reports whether anything changed. l itself stays as it is.
func (l Listing) Without(v Version) (Listing, bool) {
	at, found := l.search(v)
	if !found {
		return l, false
	}
	return slices.Delete(slices.Clone(l), at, at+1), true
}

// Find returns what is listed of a version, whatever its build metadata. It is zero,
// with revision 0, if the version is not listed.
func (l Listing) Find(v Version) Listed {
	if at, found := l.search(v); found {
		return l[at]
	}
	return Listed{}
}

func (l Listing) search(v Version) (at int, found bool) {
	return slices.BinarySearchFunc(l, v, func(e Listed, v Version) int { return e.Version.Compare(v) })
}
