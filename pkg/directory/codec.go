package directory

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// format is that of the shards. A change that older releases would read wrong needs
	// another one.
	format = 1

	// maxDocument is the longest JSON of a shard, in bytes. Compressed, it has at most
	// [catalog.MaxDirectoryShard].
	maxDocument = 8 << 20
)

// errUnreadable is for a shard that this release did not write.
var errUnreadable = errors.New("it is not as this version of larder writes it: upgrade larder, or build the directory again (larder reindex), which loses nothing")

// ShardOf is the number of the shard that has the entry of an address. It is never [BuiltShard].
func ShardOf(a registry.Address) int {
	sum := sha256.Sum256([]byte(string(a.Folder()) + "/" + a.String()))
	return 1 + int(binary.BigEndian.Uint32(sum[:])%(catalog.DirectoryShards-1))
}

// storedShard is the JSON of a shard. Equal entries make equal bytes.
type storedShard struct {
	Format    int           `json:"format"`
	Modules   []storedEntry `json:"modules,omitempty"` // by address
	Providers []storedEntry `json:"providers,omitempty"`
}

// storedEntry is the JSON of an entry. Names have no spaces, so each list is one text: that is
// read several times as fast as a list.
type storedEntry struct {
	Address     string            `json:"address"`
	Newest      registry.Version  `json:"newest"`
	Published   time.Time         `json:"published,omitzero"`
	Versions    int               `json:"versions"`
	Standing    registry.Standing `json:"standing,omitzero"`
	Description string            `json:"description,omitempty"`
	Source      string            `json:"source,omitempty"`
	Inputs      string            `json:"inputs,omitempty"`
	Outputs     string            `json:"outputs,omitempty"`
	Resources   string            `json:"resources,omitempty"`
}

func toStored(e Entry) storedEntry {
	return storedEntry{
		Address: e.Address.String(), Newest: e.Newest, Published: e.Published, Versions: e.Versions, Standing: e.Standing,
		Description: e.Description, Source: e.Source,
		Inputs: strings.Join(e.Inputs, " "), Outputs: strings.Join(e.Outputs, " "), Resources: strings.Join(e.Resources, " "),
	}
}

// entry is the entry of an address. Its names are read from the texts.
func (s storedEntry) entry(a registry.Address) Entry {
	return Entry{
		Address: a, Newest: s.Newest, Published: s.Published, Versions: s.Versions, Standing: s.Standing,
		Description: s.Description, Source: s.Source,
		Inputs: split(s.Inputs), Outputs: split(s.Outputs), Resources: split(s.Resources),
	}
}

// split is the names in a text; nil if there are none.
func split(names string) []string {
	if names == "" {
		return nil
	}
	return strings.Split(names, " ")
}

// encodeShard is the data of a shard. No entries are no data.
//
// Errors: [catalog.ErrNoRoom].
func encodeShard(entries []Entry) ([]byte, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	stored := storedShard{Format: format}
	for _, e := range entries {
		if e.Address.Folder() == registry.Modules {
			stored.Modules = append(stored.Modules, toStored(e))
		} else {
			stored.Providers = append(stored.Providers, toStored(e))
		}
	}
	byAddress := func(a, b storedEntry) int { return cmp.Compare(a.Address, b.Address) }
	slices.SortFunc(stored.Modules, byAddress)
	slices.SortFunc(stored.Providers, byAddress)
	document, err := json.Marshal(stored)
	if err != nil {
		return nil, err
	}
	data, err := compress(document)
	if err == nil && (len(document) > maxDocument || len(data) > catalog.MaxDirectoryShard) {
		err = fmt.Errorf("%w: %d addresses take %d bytes, and %d compressed", catalog.ErrNoRoom, len(entries), len(document), len(data))
	}
	return data, err
}

// decodeShard calls with each entry of a shard, and whether it is a module's.
func decodeShard(data []byte, each func(registry.Folder, storedEntry) error) error {
	if len(data) == 0 {
		return nil
	}
	document, err := decompress(data)
	if err != nil {
		return fmt.Errorf("%w (%w)", errUnreadable, err)
	}
	var stored storedShard
	if err := json.Unmarshal(document, &stored); err != nil {
		return fmt.Errorf("%w (%w)", errUnreadable, err)
	}
	if stored.Format != format {
		return fmt.Errorf("%w (its format is %d)", errUnreadable, stored.Format)
	}
	for _, e := range stored.Modules {
		if err := each(registry.Modules, e); err != nil {
			return err
		}
	}
	for _, e := range stored.Providers {
		if err := each(registry.Providers, e); err != nil {
			return err
		}
	}
	return nil
}

// readAddress reads the address of a stored entry.
func readAddress(folder registry.Folder, e storedEntry) (registry.Address, error) {
	a, err := registry.ParseAddress(folder, e.Address)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errUnreadable, err)
	}
	return a, nil
}

// decodeEntries is the entries of a shard.
func decodeEntries(data []byte) (entries []Entry, err error) {
	err = decodeShard(data, func(folder registry.Folder, e storedEntry) error {
		a, err := readAddress(folder, e)
		if err == nil {
			entries = append(entries, e.entry(a))
		}
		return err
	})
	return entries, err
}

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func compress(document []byte) ([]byte, error) {
	var data bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&data)
	_, err := w.Write(document)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

func decompress(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(document) > maxDocument {
		err = fmt.Errorf("it has more than %d bytes", maxDocument)
	}
	return document, err
}
