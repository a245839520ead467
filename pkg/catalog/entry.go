package catalog

import "github.com/larder-registry/larder/pkg/registry"

// Entry is one version as a catalog has it.
type Entry struct {
	Cursor  string           // to go on after; opaque
	Subject registry.Subject // without build metadata: the state has it
	Seen    Seen
}

// Seen has the revisions of a version's state and of its entry in the listing when they
// were read; 0 for one that was missing.
type Seen struct{ State, Listed int }
