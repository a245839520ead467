package registry

import "errors"

// Entry is one version as a catalog has it. Exactly one of the addresses is set.
type Entry struct {
	Cursor   string // to go on after; opaque
	Module   *ModuleAddress
	Provider *ProviderAddress
	Version  Version // without build metadata: the state has it
	Seen     Seen
}

// Seen is at which revisions a catalog had a version's state and its entry in
// the listing; 0 where there was none.
type Seen struct{ State, Listed int }

// ErrChanged says that a catalog has changed since it was seen: somebody else
// wrote to it, and whoever wants to correct it looks again.
var ErrChanged = errors.New("the catalog has changed since it was looked at")
