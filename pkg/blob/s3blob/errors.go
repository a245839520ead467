package s3blob

import (
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
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
	case errorStatus(err) == http.StatusInsufficientStorage:
		return fmt.Errorf("%s %q in the bucket: %w", action, key, errDiskFull)
	}
	return fmt.Errorf("%s %q in the bucket: %w", action, key, err)
}

// notFound looks at the status too, for an answer to HEAD has no code. A
// delete marker, asked for by its version, is 405.
func notFound(err error) bool {
	switch errorCode(err) {
	case "NoSuchBucket": // a wrong setting, not a missing object
		return false
	case "NoSuchKey", "NoSuchVersion", "NotFound":
		return true
	}
	status := errorStatus(err)
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// alreadyExists says that a conditional creation lost.
func alreadyExists(err error) bool { return errorStatus(err) == http.StatusPreconditionFailed }

// inTheWay says that a key cannot be the path of a file beside those there are, as
// the gateway of a single node says it.
func inTheWay(err error) bool {
	code := errorCode(err)
	return code == "ExistingObjectIsDirectory" || code == "ObjectParentIsFile"
}

// noVersion says that an object has no such version, as the Versity gateway (1.8.0) says
// it of one that was removed: the ids that it is asked about are its own.
func noVersion(err error) bool { return errorCode(err) == "InvalidArgument" }

// noRoom says that tags and metadata are more than an object's file can have, as the
// gateway of a single node says it.
func noRoom(err error) bool { return errorCode(err) == "MetadataTooLarge" }

func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// errorStatus is the HTTP status of S3's answer, 0 where there was none.
func errorStatus(err error) int {
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}
