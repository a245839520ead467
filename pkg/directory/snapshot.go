package directory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// snapshot is the directory as a view keeps it. It never changes.
type snapshot struct {
	shards             [catalog.DirectoryShards]shardMark
	modules, providers []*indexed // by address
}

// shardMark says which state of a shard is in a snapshot.
type shardMark struct {
	revision uint64
	asked    time.Time // before it was read
}

// keptShard is a shard that was read.
type keptShard struct {
	number             int
	mark               shardMark
	modules, providers []*indexed // by address
}

// stale is the shards that a head has in another state. A shard that was read after the head is
// newer. If it was read before and has a higher revision, somebody has removed the directory,
// and its revisions begin again.
func (s *snapshot) stale(head catalog.DirectoryHead, asked time.Time) (numbers []int) {
	for number, revision := range head {
		mark := s.shards[number]
		if number != BuiltShard && (mark.revision < revision || mark.revision > revision && mark.asked.Before(asked)) {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// with is the snapshot with some shards replaced.
func (s *snapshot) with(shards []keptShard) *snapshot {
	next := *s
	var replaced [catalog.DirectoryShards]bool
	var modules, providers []*indexed
	for _, shard := range shards {
		next.shards[shard.number] = shard.mark
		replaced[shard.number] = true
		modules, providers = append(modules, shard.modules...), append(providers, shard.providers...)
	}
	next.modules, next.providers = merge(s.modules, modules, &replaced), merge(s.providers, providers, &replaced)
	return &next
}

// merge is the kept entries of all shards that are not replaced, and those that replace them, by
// address.
func merge(kept, added []*indexed, replaced *[catalog.DirectoryShards]bool) []*indexed {
	slices.SortFunc(added, func(a, b *indexed) int { return cmp.Compare(a.path, b.path) })
	all := make([]*indexed, 0, len(kept)+len(added))
	for _, e := range kept {
		if replaced[e.shard] {
			continue
		}
		for len(added) > 0 && added[0].path < e.path {
			all, added = append(all, added[0]), added[1:]
		}
		all = append(all, e)
	}
	return append(all, added...)
}

// indexed is an entry as a view keeps it: what is searched is one text, and the names are read
// from it when the entry is in an answer. It is the address of its entry.
type indexed struct {
	registry.Address
	path  string // the address
	shard uint8
	entry storedEntry // its names are parts of the text, if that is the same

	// text has four parts, in lower case, the best to be found in first: the name; namespace
	// and system; the description; inputs, outputs and resources. ends are the ends of the
	// first three.
	text string
	ends [3]uint32
}

// String is the address. A [registry.Address] makes it anew each time.
func (e *indexed) String() string { return e.path }

// index reads a shard.
func index(shard catalog.DirectoryShard, asked time.Time) (keptShard, error) {
	kept := keptShard{number: shard.Number, mark: shardMark{shard.Revision, asked}}
	err := decodeShard(shard.Data, func(folder registry.Folder, stored storedEntry) error {
		a, err := readAddress(folder, stored)
		if err != nil {
			return err
		}
		e := newIndexed(a, stored)
		if e.shard = uint8(shard.Number); folder == registry.Modules {
			kept.modules = append(kept.modules, e)
		} else {
			kept.providers = append(kept.providers, e)
		}
		return nil
	})
	return kept, err
}

func newIndexed(a registry.Address, stored storedEntry) *indexed {
	e := &indexed{Address: a, path: stored.Address, entry: stored}
	parts := partsOf(e.path)
	name, rest := parts[1], parts[0]+" "+parts[2]
	names := strings.Join([]string{stored.Inputs, stored.Outputs, stored.Resources}, " ")
	lower, description := strings.ToLower(names), strings.ToLower(stored.Description)
	e.text = name + "\n" + rest + "\n" + description + "\n" + lower
	e.ends = [3]uint32{uint32(len(name)), uint32(len(name) + 1 + len(rest)), uint32(len(name) + 1 + len(rest) + 1 + len(description))}
	if lower == names { // as nearly always: the names need not be kept twice
		at := int(e.ends[2]) + 1
		for _, list := range []*string{&e.entry.Inputs, &e.entry.Outputs, &e.entry.Resources} {
			length := len(*list)
			*list = e.text[at : at+length]
			at += length + 1
		}
	}
	return e
}

// partsOf is namespace, name and system of an address. A provider has its type for a name, and no
// system.
func partsOf(path string) (parts [3]string) {
	namespace, name, _ := strings.Cut(path, "/")
	name, system, _ := strings.Cut(name, "/")
	return [3]string{namespace, name, system}
}
