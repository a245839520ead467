package directory

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// Limits of an entry. With them, 400 addresses of the longest kind fit into a shard once their
// names are compressed, and 100,000 addresses into the directory.
const (
	// MaxDescription is the longest description, in characters.
	MaxDescription = 300

	// MaxNames is how many inputs, outputs and resources an entry has together, and MaxName
	// the longest of them, in bytes. A longer name is cut, and still found by its beginning.
	MaxNames = 500
	MaxName  = 64
)

// bounded is a description within the limits of an entry: of too many names it has the types
// of resources first, then inputs, then outputs.
func (d Description) bounded() Description {
	room := MaxNames
	d.Resources, room = boundedNames(d.Resources, room)
	d.Inputs, room = boundedNames(d.Inputs, room)
	d.Outputs, _ = boundedNames(d.Outputs, room)
	d.Text = firstCharacters(strings.Join(strings.Fields(strings.ToValidUTF8(d.Text, "")), " "), MaxDescription)
	return d
}

// boundedNames is up to a number of names, in order, each once, and how many more there may be.
func boundedNames(names []string, room int) (kept []string, left int) {
	kept = make([]string, 0, len(names))
	for _, name := range names {
		if name = cutName(name); name != "" {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	kept = kept[:min(len(kept), room)]
	if len(kept) == 0 {
		return nil, room
	}
	return kept, room - len(kept)
}

// cutName is a name as an entry has it. A name with spaces or control characters is no name.
func cutName(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }) {
		return ""
	}
	if len(name) <= MaxName {
		return name
	}
	at := MaxName
	for !utf8.RuneStart(name[at]) {
		at--
	}
	return name[:at]
}

// firstCharacters is the beginning of a text, which must be valid UTF-8.
func firstCharacters(text string, most int) string {
	n := 0
	for at := range text {
		if n++; n > most {
			return text[:at]
		}
	}
	return text
}

// fit is the data of a shard with all entries. If they are too large, the largest lose their
// names first, then their descriptions, then their sources. If there is no room for the addresses
// alone, those namespaces lose some that have the most: whoever fills a shard must not keep others
// out of it. The entries themselves are not changed.
func fit(entries []Entry) ([]byte, error) {
	data, err := encodeShard(entries)
	if !errors.Is(err, catalog.ErrNoRoom) {
		return data, err
	}
	entries = slices.Clone(entries)
	for _, shed := range []struct {
		size func(Entry) int
		drop func(*Entry)
	}{
		{namesSize, func(e *Entry) { e.Inputs, e.Outputs, e.Resources = nil, nil, nil }},
		{func(e Entry) int { return len(e.Description) }, func(e *Entry) { e.Description = "" }},
		{func(e Entry) int { return len(e.Source) }, func(e *Entry) { e.Source = "" }},
	} {
		slices.SortFunc(entries, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(shed.size(b), shed.size(a)), cmp.Compare(a.Address.String(), b.Address.String()))
		})
		for part := range slices.Chunk(entries, portion(entries)) {
			for i := range part {
				shed.drop(&part[i])
			}
			if data, err = encodeShard(entries); !errors.Is(err, catalog.ErrNoRoom) {
				return data, err
			}
		}
	}
	return fitFewer(entries)
}

// portion is how many entries change between two tries: each is a compression of the whole.
func portion(entries []Entry) int { return max(1, (len(entries)+9)/10) }

// fitFewer is the data of a shard with as many of its entries as there is room for. Of each
// namespace, the first by address stay.
func fitFewer(entries []Entry) (data []byte, err error) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
	met, ranks := map[string]int{}, map[registry.Address]int{}
	for _, e := range entries {
		namespace := partsOf(e.Address.String())[0]
		ranks[e.Address] = met[namespace]
		met[namespace]++
	}
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(ranks[a.Address], ranks[b.Address]) })
	for step := portion(entries); len(entries) > 0; entries = entries[:max(0, len(entries)-step)] {
		if data, err = encodeShard(entries); !errors.Is(err, catalog.ErrNoRoom) {
			return data, err
		}
	}
	return data, err
}

func namesSize(e Entry) (size int) {
	for _, names := range [][]string{e.Inputs, e.Outputs, e.Resources} {
		for _, name := range names {
			size += len(name) + 1
		}
	}
	return size
}
