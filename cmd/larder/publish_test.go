package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/transfer/upload"
)

// An upload in parts that fails at its end is told once, and not by a library, too.
func TestUploadLogsNothing(t *testing.T) {
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch query := r.URL.Query(); {
		case query.Has("uploads"):
			_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
		case r.Method == http.MethodPut:
			w.Header().Set("ETag", `"1"`)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusInsufficientStorage)
			_, _ = io.WriteString(w, "<Error><Code>InsufficientStorage</Code><Message>The disk is full.</Message></Error>")
		}
	}))
	defer full.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": full.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "eu-central-1", "HOME": t.TempDir(), "LARDER_BUCKET": "larder",
	} {
		t.Setenv(name, value)
	}
	file := filepath.Join(t.TempDir(), "1.0.0.zip")
	if err := os.WriteFile(file, make([]byte, 20<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var logged, out strings.Builder
	was := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(was)
	command := newPublishCommand()
	command.SetContext(t.Context())
	inbox, err := openInbox(command, upload.Options{NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := inbox.Publish(t.Context(), []upload.File{{Name: "1.0.0.zip", Path: file, Key: "modules/acme/vpc/aws/1.0.0.zip"}}, &out, progress.New(io.Discard, false))
	if err == nil || len(reports) != 1 || !strings.Contains(strings.Join(reports[0].Reasons, ""), "The disk is full.") {
		t.Errorf("%+v, %v", reports, err)
	}
	if logged.Len() > 0 {
		t.Errorf("the log says %q", &logged)
	}
}
