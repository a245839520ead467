package main

import (
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/internal/transfer/upload"
)

// An upload in parts that fails at its end is told once, and not by a library, too.
func TestUploadLogsNothing(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": s3test.StartFull(t), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
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
