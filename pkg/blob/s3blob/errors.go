package s3blob

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/larder-registry/larder/internal/awserror"
	"github.com/larder-registry/larder/pkg/registry"
)

// errDiskFull is what the gateway of a single node says with status 507, in words for
// its operator.
var errDiskFull = errors.New("the disk of the registry is full: make room on it, as larder prune does, and try again")

// failed says what could not be done with which object, and wraps
// registry.ErrNotFound where S3 has no such object version.
func failed(action, key string, err error) error {
	switch {
	case notFound(err):
		return fmt.Errorf("%s %q in the bucket: %w", action, key, registry.ErrNotFound)
	case awserror.Status(err) == http.StatusInsufficientStorage:
		return fmt.Errorf("%s %q in the bucket: %w", action, key, errDiskFull)
	}
	return fmt.Errorf("%s %q in the bucket: %w", action, key, err)
}

// notFound looks at the status too, for an answer to HEAD has no code. A
// delete marker, asked for by its version, is 405.
func notFound(err error) bool {
	switch awserror.Code(err) {
	case "NoSuchBucket": // a wrong setting, not a missing object
		return false
	case "NoSuchKey", "NoSuchVersion", "NotFound":
		return true
	}
	status := awserror.Status(err)
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// alreadyExists says that a conditional creation lost.
func alreadyExists(err error) bool { return awserror.Status(err) == http.StatusPreconditionFailed }

// inTheWay says that a key cannot be the path of a file beside those there are, as
// the gateway of a single node says it.
func inTheWay(err error) bool {
	code := awserror.Code(err)
	return code == "ExistingObjectIsDirectory" || code == "ObjectParentIsFile"
}

// noVersion says that an object has no such version, as the Versity gateway (1.8.0) says
// it of one that was removed: the ids that it is asked about are its own.
func noVersion(err error) bool { return awserror.Code(err) == "InvalidArgument" }

// noRoom says that tags and metadata are more than an object's file can have, as the
// gateway of a single node says it.
func noRoom(err error) bool { return awserror.Code(err) == "MetadataTooLarge" }
