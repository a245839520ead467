package registry

import (
	"fmt"
	"strings"
)

// Folder is where everything of a kind lies: in the inbox, among the records, and
// under [Prefix].
type Folder string

// The folders. No address is in two of them.
const (
	Modules   Folder = "modules"
	Providers Folder = "providers"
	Mirror    Folder = "mirror" // providers of other registries
)

// Address names a module or a provider: it is a [ModuleAddress] or a
// [ProviderAddress]. Two addresses are equal if they name the same.
type Address interface {
	fmt.Stringer // unique in its folder

	// Folder is where it lies.
	Folder() Folder

	// New is the state of a version before its first record.
	New(v Version) State
}

// State is what the log of a version adds up to, so far: a [*ModuleVersion] or a
// [*ProviderVersion].
type State interface {
	// Subject is the version that has this state.
	Subject() Subject

	// Apply adds the next record of the log. A record that this version of Larder
	// does not know is an error: a newer one wrote it.
	Apply(r Record) error

	// NextRecordKey is the key of the record that comes after the last one.
	NextRecordKey() string

	// Listed is the version's entry in the listing of its address.
	Listed() Listed

	// Listable says whether the version belongs in that listing.
	Listable() bool
}

// Subject is a version of a module or of a provider.
type Subject struct {
	Address Address
	Version Version
}

// String is, for example, "module acme/vpc/aws 1.2.3"; without a version, the address alone.
func (s Subject) String() string {
	noun := "provider"
	if s.Address.Folder() == Modules {
		noun = "module"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", noun, s.Address, s.Version))
}

// New is the state of the version before its first record.
func (s Subject) New() State { return s.Address.New(s.Version) }

// LogPrefix is where the records of the version lie.
func (s Subject) LogPrefix() string { return RecordsPrefix + pathOf(s.Address, s.Version) }

// pathOf is where a version lies, among the records and under [Prefix].
func pathOf(a Address, v Version) string {
	return string(a.Folder()) + "/" + a.String() + "/" + v.Key() + "/"
}

// ParseAddress reads the address of something in a folder, as String writes it.
func ParseAddress(folder Folder, address string) (Address, error) {
	parts := strings.Split(address, "/")
	switch {
	case folder == Modules && len(parts) == 3:
		return ParseModuleAddress(parts[0], parts[1], parts[2])
	case folder == Providers && len(parts) == 2:
		return ParseProviderAddress(parts[0], parts[1])
	case folder == Mirror && len(parts) == 3:
		return ParseMirroredAddress(parts[0], parts[1], parts[2])
	default:
		return nil, fmt.Errorf("there is no address %q in a folder %q", address, folder)
	}
}
