package registry

import "time"

// ModuleVersion is what the log of a module version adds up to.
type ModuleVersion struct {
	Address   ModuleAddress `json:"address"`
	Version   Version       `json:"version"`
	Revision  int           `json:"revision"`
	Archive   ModuleArchive `json:"archive"`
	Standing  Standing      `json:"standing,omitzero"`
	Published time.Time     `json:"published,omitzero"` // when its archive was accepted; zero in states that older releases stored
}

// New is an empty [*ModuleVersion].
func (a ModuleAddress) New(v Version) State { return &ModuleVersion{Address: a, Version: v} }

// Subject implements [State].
func (m *ModuleVersion) Subject() Subject { return Subject{m.Address, m.Version} }

// NextRecordKey implements [State].
func (m *ModuleVersion) NextRecordKey() string {
	return RecordKey(m.Subject().LogPrefix(), m.Revision+1)
}

// Apply adds the next record of the log. A record that this version of Larder
// does not know is an error: a newer one wrote it.
func (m *ModuleVersion) Apply(r Record) error {
	switch {
	case r.Kind == KindModule && r.Module != nil:
		if m.Archive = *r.Module; m.Revision == 0 {
			m.Published = r.Time
		}
	case r.Kind == KindStanding && r.Standing.hasKnownState():
		m.Standing = r.Standing.ofVersion()
	default:
		return unknownRecord(m.Address, m.Revision+1, r.Kind)
	}
	m.Version = r.Version
	m.Revision++
	return nil
}

// Listed is the version's entry in the module's listing.
func (m *ModuleVersion) Listed() Listed {
	return Listed{Version: m.Version, Revision: m.Revision, Standing: m.Standing, Source: m.Archive.Source}
}

// Listable implements [State]: a module has all that serving it needs in its first
// record.
func (m *ModuleVersion) Listable() bool { return true }
