package s3test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// StartFull plays an S3 whose disk is full, and returns its endpoint. It takes the parts of an
// upload, and refuses to put them together: "The disk is full." It stops when the test ends.
func StartFull(t testing.TB) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch {
		case r.URL.Query().Has("uploads"):
			_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
		case r.Method == http.MethodPut:
			w.Header().Set("ETag", `"1"`)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusInsufficientStorage)
			_, _ = io.WriteString(w, "<Error><Code>InsufficientStorage</Code><Message>The disk is full.</Message></Error>")
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
