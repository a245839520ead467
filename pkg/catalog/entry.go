package catalog

import "github.com/larder-registry/larder/pkg/registry"

// Entry is one version as a catalog has it.
type Entry struct {
	Cursor  string           // to go on after; opaque
	Subject registry.Subject // without build metadata: the state has it
	Seen    Seen
}

// Seen is at which revisions a catalog had a version's state and its entry in
// the listing; 0 where there was none.
type Seen struct{ State, Listed int }
