package browse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// notRead is the problem of a version whose archive was published before there were documents,
// or whose document is one of an older reader.
const notRead = `The documentation of this version was not read yet. The operator of the registry can have it read with "larder reindex --contents".`

// entryOverhead is what a kept document takes beside its bytes, roughly.
const entryOverhead = 256

// document reads a document, and says whether there is one.
func document[D any](ctx context.Context, b *Browser, key string, decode func([]byte) (D, error)) (d D, known bool, _ error) {
	kept, ok := b.documents.Get(key)
	ok = ok && kept.fresh()
	if !ok {
		var err error
		kept.read = time.Now().Round(0)
		kept.body, err = b.Documents.Get(ctx, key, 0, contents.MaxDocument+1)
		if errors.Is(err, registry.ErrNotFound) {
			return d, false, nil
		}
		if err != nil {
			return d, false, fmt.Errorf("read %s: %w", key, err)
		}
	}
	d, err := decode(kept.body)
	if err != nil {
		return d, false, fmt.Errorf("read %s: %w", key, err)
	}
	if !ok {
		b.documents.Put(key, kept, entryOverhead+len(key)+cap(kept.body))
	}
	return d, true, nil
}

// text is the Markdown of a page. That its texts are missing, where the index is not, is a
// failure of storage and not a page that is not there.
func (b *Browser) text(ctx context.Context, key string, page contents.Page) (string, error) {
	if page.Length == 0 {
		return "", nil
	}
	if page.Offset < 0 || page.Length < 0 || page.Length > contents.MaxPage {
		return "", fmt.Errorf("read %s: the index has a page of %d bytes at %d", key, page.Length, page.Offset)
	}
	text, err := b.Documents.Get(ctx, key, page.Offset, page.Length)
	if errors.Is(err, registry.ErrNotFound) {
		return "", fmt.Errorf("read %s: it is not there, and its index is", key)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", key, err)
	}
	if int64(len(text)) != page.Length {
		return "", fmt.Errorf("read %s: it has %d bytes at %d, and the index says %d", key, len(text), page.Offset, page.Length)
	}
	return string(text), nil
}

// stored joins two texts so that other texts do not join to the same.
func stored(version, listing []byte) []byte {
	joined := make([]byte, 0, len(version)+len(listing)+8)
	joined = append(strconv.AppendInt(joined, int64(len(version)), 10), ':')
	return append(append(joined, version...), listing...)
}
