package boltcatalog

import (
	"github.com/larder-registry/larder/internal/sizedlru"
	"go.etcd.io/bbolt"
)

// How many bytes of values are kept of a file.
const (
	recentItems  = 16 << 20
	recentTokens = 1 << 20
)

// recentOverhead is what a kept value takes beside its bytes, roughly.
const recentOverhead = 256

// recent has values as they were read, so that a large one is not copied, nor a small one
// decoded, for each request. A value is right for as long as nobody has written to the file.
type recent[V any] struct {
	values *sizedlru.Cache[string, recentValue[V]]
}

type recentValue[V any] struct {
	value V
	as    int // the last transaction that had written by then
}

func newRecent[V any](room int) recent[V] {
	return recent[V]{sizedlru.New[string, recentValue[V]](room)}
}

// get is what read makes of the stored bytes of a key, which it must copy. It returns
// missing if there are none.
func (r recent[V]) get(tx *bbolt.Tx, bucket []byte, key string, read func(stored []byte) (V, error), missing error) (V, error) {
	last := tx.ID()
	if kept, ok := r.values.Get(key); ok && kept.as == last {
		return kept.value, nil
	}
	stored := tx.Bucket(bucket).Get([]byte(key))
	if stored == nil {
		return *new(V), missing
	}
	value, err := read(stored)
	if err == nil {
		r.values.Put(key, recentValue[V]{value, last}, recentOverhead+len(key)+2*len(stored))
	}
	return value, err
}
