package locals3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/larder-registry/larder/internal/node/front"
	"github.com/larder-registry/larder/internal/node/sigv4"
)

// refusal is an error in S3's shape.
type refusal struct {
	status        int
	code, message string
}

var (
	methodNotAllowed = refusal{http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource."}
	invalidURI       = refusal{http.StatusBadRequest, "InvalidURI", "Could not parse the specified URI: the path must begin with the bucket."}
	invalidKey       = refusal{http.StatusBadRequest, "InvalidURI", "Could not parse the specified URI: a key must be UTF-8, without control characters."}
	unlistedKey      = refusal{http.StatusBadRequest, "InvalidArgument", "No part of a key can be .sgwtmp: this endpoint lists nothing that is below such a folder."}
	noLength         = refusal{http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header."}
	noUpgrade        = refusal{http.StatusBadRequest, "InvalidRequest", "This endpoint speaks no other protocol: send no Upgrade header."}
	noForms          = refusal{http.StatusNotImplemented, "NotImplemented", "Uploads by a form are not implemented, nor is the content type multipart/form-data: put the object."}
	tooLarge         = refusal{http.StatusBadRequest, "EntityTooLarge", "The request's body is larger than any that such a request needs."}
	slowDown         = refusal{http.StatusServiceUnavailable, "SlowDown", "Too many requests are under way: please reduce your request rate."}
	timedOut         = refusal{http.StatusBadRequest, "RequestTimeout", "Your socket connection to the server was not read from or written to within the timeout period."}
	incomplete       = refusal{http.StatusBadRequest, "IncompleteBody", "The request's body ended early, or cannot be read."}
	internal         = refusal{http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again."}
)

// unauthenticated returns the answer to a request that the verifier has refused.
func unauthenticated(err error) *refusal {
	for _, known := range []struct {
		err    error
		status int
		code   string
	}{
		{sigv4.ErrAnonymous, http.StatusForbidden, "AccessDenied"},
		{sigv4.ErrExpired, http.StatusForbidden, "AccessDenied"},
		{sigv4.ErrUnknownKey, http.StatusForbidden, "InvalidAccessKeyId"},
		{sigv4.ErrMismatch, http.StatusForbidden, "SignatureDoesNotMatch"},
		{sigv4.ErrSkewed, http.StatusForbidden, "RequestTimeTooSkewed"},
		{sigv4.ErrTwice, http.StatusBadRequest, "InvalidArgument"},
		{sigv4.ErrUnsupported, http.StatusBadRequest, "InvalidRequest"},
		{sigv4.ErrMalformed, http.StatusBadRequest, "AuthorizationHeaderMalformed"},
	} {
		if errors.Is(err, known.err) {
			return &refusal{known.status, known.code, err.Error()}
		}
	}
	return &internal
}

// bodyFailed returns the answer if a client's body could not be read, and nil for other
// errors.
func bodyFailed(err error) *refusal {
	var bad *bodyError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &tooLarge
	case !errors.As(err, &bad):
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &timedOut
	default:
		return &incomplete
	}
}

// keepAliveBody is the largest body, in bytes, that is discarded so that the connection can
// have another request. With a larger one, the connection ends with the refusal.
const keepAliveBody = 64 << 10

// answer refuses a request, and discards its body.
func (f *refusal) answer(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(front.HeaderTimeout))
	if r.ContentLength < 0 || r.ContentLength > keepAliveBody {
		w.Header().Set("Connection", "close")
	}
	if f.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(f.status)
	if r.Method == http.MethodHead {
		return
	}
	var message bytes.Buffer
	if err := xml.EscapeText(&message, []byte(f.message)); err != nil {
		return // never: it writes to memory
	}
	_, _ = fmt.Fprintf(w, "%s<Error><Code>%s</Code><Message>%s</Message></Error>\n", xml.Header, f.code, message.String())
}
