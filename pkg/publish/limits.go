package publish

import (
	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/shasums"
	"github.com/larder-registry/larder/pkg/signing"
)

// Limits of what is published. What an archive may hold is limited by package
// archive.
const (
	// MaxUpload is the largest object that is published, in bytes: 5 GiB, the
	// most that S3 copies in one request.
	MaxUpload = 5 << 30

	// maxStateDocument is the largest record or outcome, in bytes.
	maxStateDocument = 16 << 20

	// maxAttempts is how often a record is tried under the next number.
	// Each failed try means that another writer of the same version went
	// on, and a version has few.
	maxAttempts = 1000
)

// maxSize is the largest upload of its kind, in bytes.
func (u upload) maxSize() int64 {
	switch u.kind {
	case releaseSHA256SUMS:
		return shasums.MaxSize
	case releaseSignature:
		return signing.MaxSignature
	case releaseManifest:
		return archive.MaxManifest
	case authorKeys:
		return signing.MaxKeyFile
	case mirrorDocument:
		return maxMirrorDocument
	default:
		return MaxUpload
	}
}

// checkSize rejects a file that is too large to be read.
func checkSize(size, limit int64) error {
	if size > limit {
		return reject("the file has %d bytes; such a file has %d at most", size, limit)
	}
	return nil
}
