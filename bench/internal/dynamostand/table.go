package dynamostand

import (
	"encoding/base64"
	"maps"
	"slices"
)

// attribute is a value of one of the types that the table has. Only one of them is set.
type attribute struct {
	S *string `json:",omitempty"`
	N *string `json:",omitempty"`
	B *string `json:",omitempty"` // base64
}

// item is the attributes of an item, by name.
type item map[string]attribute

// text is the text of an attribute, and empty if it is not a text.
func (i item) text(name string) string {
	if s := i[name].S; s != nil {
		return *s
	}
	return ""
}

// size is the size of an item as DynamoDB counts it, in bytes.
func (i item) size() (sum int) {
	for name, value := range i {
		sum += len(name)
		switch {
		case value.S != nil:
			sum += len(*value.S)
		case value.N != nil:
			sum += len(*value.N)/2 + 2
		case value.B != nil:
			sum += base64.StdEncoding.DecodedLen(len(*value.B))
		}
	}
	return sum
}

// partition is the items of one PK.
type partition struct {
	items map[string]*stored
	names []string // of the items, sorted
}

// stored is an item, and what a request for it needs.
type stored struct {
	item item
	json []byte
	size int
}

const (
	partitionKey = "PK"
	sortKey      = "SK"
)

// find is an item, or nil.
func (s *Stand) find(key item) *stored {
	p := s.partitions[key.text(partitionKey)]
	if p == nil {
		return nil
	}
	return p.items[key.text(sortKey)]
}

// put stores an item, in the place of the one with the same keys.
func (s *Stand) put(i item) {
	name, sort := i.text(partitionKey), i.text(sortKey)
	p := s.partitions[name]
	if p == nil {
		p = &partition{items: map[string]*stored{}}
		s.partitions[name] = p
	}
	if at, ok := slices.BinarySearch(p.names, sort); !ok {
		p.names = slices.Insert(p.names, at, sort)
	}
	p.items[sort] = &stored{i, encode(i), i.size()}
}

func (s *Stand) delete(key item) {
	name, sort := key.text(partitionKey), key.text(sortKey)
	p := s.partitions[name]
	if p == nil {
		return
	}
	if at, ok := slices.BinarySearch(p.names, sort); ok {
		p.names = slices.Delete(p.names, at, at+1)
		delete(p.items, sort)
	}
	if len(p.names) == 0 {
		delete(s.partitions, name)
	}
}

// sortedPartitions is the names of all partitions from one on.
func (s *Stand) sortedPartitions(from string) []string {
	names := slices.Sorted(maps.Keys(s.partitions))
	at, _ := slices.BinarySearch(names, from)
	return names[at:]
}
