package dynamocatalog

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	revisionAttribute = "revision"
	chunksAttribute   = "chunks"
	dataAttribute     = "data"

	// maxData is the most data in an item, in bytes: DynamoDB's 400 KiB without
	// 4 KiB for the other attributes, which have limits of their own.
	maxData = 396 << 10

	// maxDocument is the longest JSON that is written or read, in bytes.
	maxDocument = 64 << 20
)

func key(partition, name string) wire.Item {
	return wire.Item{wire.Text(PartitionKey, partition), wire.Text(SortKey, name)}
}

func newItem(partition, name string, revision int, data []byte) wire.Item {
	return append(key(partition, name), wire.Number(revisionAttribute, revision), wire.Bytes(dataAttribute, data))
}

// revisionIs is the condition that an item has a revision; for 0, that it does not exist.
func revisionIs(revision int) (condition string, values wire.Item) {
	if revision == 0 {
		return "attribute_not_exists(" + PartitionKey + ")", nil
	}
	return revisionAttribute + " = :read", wire.Item{wire.Number(":read", revision)}
}

func compress(document []byte) ([]byte, error) {
	if len(document) > maxDocument {
		return nil, fmt.Errorf("it has %d bytes before compression, and %d are allowed", len(document), maxDocument)
	}
	var data bytes.Buffer
	w := gzip.NewWriter(&data)
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// decompress reads the data of an item, or of a listing's chunks, one in each line. It is
// base64, as DynamoDB sends it.
func decompress(data []byte) ([]byte, error) {
	compressed := make([]byte, 0, base64.StdEncoding.DecodedLen(len(data)))
	for chunk := range bytes.SplitSeq(data, newline) {
		var err error
		if compressed, err = base64.StdEncoding.AppendDecode(compressed, chunk); err != nil {
			return nil, fmt.Errorf("%w: %w", errForeign, err)
		}
	}
	r := gzipReaders.Get().(*gzip.Reader)
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(compressed)); err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	var document bytes.Buffer
	document.Grow(likelySize(compressed) + bytes.MinRead)
	if _, err := document.ReadFrom(io.LimitReader(r, maxDocument+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	if document.Len() > maxDocument {
		return nil, fmt.Errorf("%w: it has more than %d bytes", errForeign, maxDocument)
	}
	return document.Bytes(), nil
}

// gzipReaders are kept because each takes far more memory than most documents.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// likelySize is the length that gzip data say they have in their last four bytes, up to
// maxLikely.
func likelySize(compressed []byte) int {
	const maxLikely = 256 << 10 // the data may be wrong
	if len(compressed) < 4 {
		return 0
	}
	return int(min(binary.LittleEndian.Uint32(compressed[len(compressed)-4:]), maxLikely))
}

// newline separates the chunks of a listing.
var newline = []byte("\n")

// getItem is nil if there is no such item, or if the lookup does not want it.
func (c *Catalog) getItem(ctx context.Context, key wire.Item, lookup *access.Lookup) (wire.Item, error) {
	if lookup == nil {
		return c.client.GetItem(ctx, wire.Get{Table: c.name, Key: key})
	}
	return c.getWithToken(ctx, lookup, key)
}

func decodeState(data []byte, s registry.State) error {
	document, err := decompress(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(document, s); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

// stateItem is the item of a state, or an error if the state does not fit.
func stateItem(s registry.State) (wire.Item, error) {
	document, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	data, err := compress(document)
	if err != nil {
		return nil, err
	}
	if len(data) > maxData {
		return nil, fmt.Errorf("%w: it has %d bytes, and an item of DynamoDB has room for %d: only its public signing keys can be so large, so export them without other people's signatures (gpg --export-options export-minimal)", catalog.ErrNoRoom, len(data), maxData)
	}
	return newItem(layout.Partition(s.Subject().Address), layout.Version(s.Subject().Version), s.Listed().Revision, data), nil
}

// putState stores a state unless the stored one has its revision or a higher one.
func (c *Catalog) putState(ctx context.Context, s registry.State) error {
	i, err := stateItem(s)
	if err != nil {
		return err
	}
	err = c.client.PutItem(ctx, wire.Put{
		Table:     c.name,
		Item:      i,
		Condition: "attribute_not_exists(" + PartitionKey + ") OR " + revisionAttribute + " < :revision",
		Values:    wire.Item{wire.Number(":revision", s.Listed().Revision)},
	})
	if conditionFailed(err) {
		return nil
	}
	return err
}
