package awstest

import (
	"hash/fnv"
	"maps"
	"net/http"
	"slices"
	"sync"
)

// keyLocks let only one request change an object at a time. S3 changes an object in one step. The
// local S3 needs several, between which an overwritten version can be missed, and its tags lost.
type keyLocks [256]sync.RWMutex

// serialize keeps requests for the same object apart, unless they only read.
func (l *keyLocks) serialize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer l.lock(readS3Request(r))()
		next.ServeHTTP(w, r)
	})
}

// lock locks the objects of a request, always in the same order.
func (l *keyLocks) lock(r s3Request) (unlock func()) {
	changes := map[byte]bool{}
	if source, err := r.copied(); err == nil && source.key != "" {
		changes[lockOf(source.bucket, source.key)] = false
	}
	switch r.operation() {
	case "UploadPart", "UploadPartCopy": // they do not change an object yet
	case "GetObject", "HeadObject", "GetObjectTagging":
		changes[lockOf(r.bucket, r.key)] = false
	default:
		changes[lockOf(r.bucket, r.key)] = r.key != ""
	}
	var unlocks []func()
	for _, n := range slices.Sorted(maps.Keys(changes)) {
		if changes[n] {
			l[n].Lock()
			unlocks = append(unlocks, l[n].Unlock)
		} else {
			l[n].RLock()
			unlocks = append(unlocks, l[n].RUnlock)
		}
	}
	return func() {
		for _, unlock := range unlocks {
			unlock()
		}
	}
}

func lockOf(bucket, key string) byte {
	h := fnv.New32a()
	h.Write([]byte(bucket + "/" + key)) //nolint:errcheck // never fails
	return byte(h.Sum32())
}
