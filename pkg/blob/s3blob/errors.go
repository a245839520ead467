package s3blob

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/larder-registry/larder/internal/awserror"
	"github.com/larder-registry/larder/pkg/registry"
)

// errDiskFull is status 507 of a single node's gateway, in words for its operator.
var errDiskFull = errors.New("the disk of the registry is full: make room on it, as larder prune does, and try again")

// failed adds to an error what was being done with which object. It wraps
// registry.ErrNotFound if S3 has no such object version.
func failed(action, key string, err error) error {
	switch {
	case isNotFound(err):
		return fmt.Errorf("%s %q in the bucket: %w", action, key, registry.ErrNotFound)
	case awserror.Status(err) == http.StatusInsufficientStorage:
		return fmt.Errorf("%s %q in the bucket: %w", action, key, errDiskFull)
	}
	return fmt.Errorf("%s %q in the bucket: %w", action, key, err)
}

// isNotFound also looks at the status, since an answer to HEAD has no code. The answer for
// the version of a delete marker is 405.
func isNotFound(err error) bool {
	switch awserror.Code(err) {
	case "NoSuchBucket": // a wrong setting, not a missing object
		return false
	case "NoSuchKey", "NoSuchVersion", "NotFound":
		return true
	}
	status := awserror.Status(err)
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// alreadyExists says whether a conditional creation found an object.
func alreadyExists(err error) bool { return awserror.Status(err) == http.StatusPreconditionFailed }

// isInTheWay says whether the gateway of a single node cannot store a key, because another
// key is a folder or a file in its path.
func isInTheWay(err error) bool {
	code := awserror.Code(err)
	return code == "ExistingObjectIsDirectory" || code == "ObjectParentIsFile"
}

// isUnknownVersion says whether an object has no such version. The Versity gateway (1.8.0)
// has this code for a removed version; no other invalid id is sent.
func isUnknownVersion(err error) bool { return awserror.Code(err) == "InvalidArgument" }

// isTagsTooLarge says whether tags and metadata are more than the gateway of a single node
// can store with an object's file.
func isTagsTooLarge(err error) bool { return awserror.Code(err) == "MetadataTooLarge" }
