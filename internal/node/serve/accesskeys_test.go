package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/control"
)

// Access keys come, change and go while the node serves, and so does the file to source.
func TestAccessKeys(t *testing.T) {
	r := start(t, localSettings(t))
	before := r.env(t, "AWS_ACCESS_KEY_ID")
	secrets := []string{r.env(t, "AWS_SECRET_ACCESS_KEY")}

	created := r.ask(t, control.Request{CreateUploader: &control.CreateUploader{Name: "acme-ci", Namespaces: []string{"acme"}}}).UploaderCreated
	secrets = append(secrets, created.SecretAccessKey)
	if created.S3URL != r.env(t, "AWS_ENDPOINT_URL_S3") || created.Region != r.env(t, "AWS_REGION") || created.Bucket != r.env(t, "LARDER_BUCKET") {
		t.Errorf("created %+v", created)
	}
	put := func(id, secret string) error {
		body := []byte("x")
		return r.bucketOf(t, id, secret).Put(t.Context(), "modules/acme/README.md", bytes.NewReader(body), int64(len(body)))
	}
	if err := put(created.AccessKeyID, created.SecretAccessKey); err != nil {
		t.Error(err)
	}
	r.waitForLog(t, `msg="upload ignored" key=modules/acme/README.md`, "by=acme-ci")
	if listed := r.ask(t, control.Request{ListUploaders: &control.ListUploaders{}}).Uploaders.Uploaders; !reflect.DeepEqual(listed, []access.Uploader{created.Uploader}) {
		t.Errorf("listed %+v", listed)
	}

	rotated := r.ask(t, control.Request{RotateAccess: &control.RotateAccess{}}).AccessRotated
	if after := r.env(t, "AWS_ACCESS_KEY_ID"); after == before || after != rotated.AccessKeyID || rotated.Env != filepath.Join(r.data, datadir.Env) {
		t.Errorf("rotated to %+v, and a shell has %s", rotated, after)
	}
	if err := put(before, secrets[0]); err == nil || !strings.Contains(err.Error(), "InvalidAccessKeyId") {
		t.Errorf("the operator's old key: %v", err)
	}
	r.upload(t, "modules/acme/NOTES.md", []byte("x"))
	r.waitForLog(t, `msg="upload ignored" key=modules/acme/NOTES.md`, "by=operator")
	for _, key := range [][2]string{{r.env(t, "AWS_ACCESS_KEY_ID"), r.env(t, "AWS_SECRET_ACCESS_KEY")}, {created.AccessKeyID, created.SecretAccessKey}} {
		if err := put(key[0], key[1]); err != nil {
			t.Error(err)
		}
	}
	r.ask(t, control.Request{RevokeUploader: &control.RevokeUploader{Which: "acme-ci"}})
	if err := put(created.AccessKeyID, created.SecretAccessKey); err == nil || !strings.Contains(err.Error(), "InvalidAccessKeyId") {
		t.Errorf("a revoked key: %v", err)
	}
	secrets = append(secrets, r.env(t, "AWS_SECRET_ACCESS_KEY"))
	for _, want := range []string{
		`who=operator what="create uploader \"acme-ci\": upload to acme" allowed=true`,
		`who=operator what="make new access keys for the bucket" allowed=true`,
		`who=operator what="revoke uploader \"acme-ci\"" allowed=true`,
	} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, r.log)
		}
	}
	if slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(r.log.String(), secret) }) {
		t.Error("the log has a secret")
	}
}

// waitForLog waits for a line of the log that begins with a message and ends with
// something else.
func (r *running) waitForLog(t *testing.T, message, end string) {
	t.Helper()
	eventually(t, func() error {
		for line := range strings.Lines(r.log.String()) {
			if strings.Contains(line, message) && strings.HasSuffix(line, end+"\n") {
				return nil
			}
		}
		return fmt.Errorf("the log does not say %s … %s:\n%s", message, end, r.log)
	})
}

// A link that was handed out before the keys were changed is good until it dies, and
// so are those that are handed out then.
func TestLinksOutliveTheirKey(t *testing.T) {
	r := start(t, localSettings(t))
	archive := archivetest.Module(t, "# empty\n")
	r.upload(t, "modules/acme/hello/null/1.0.0.tar.gz", archive)
	link := func() (url string) {
		t.Helper()
		eventually(t, func() error {
			response, body := r.get(t, "/v1/modules/acme/hello/null/1.0.0/download", "")
			if url = response.Header.Get("X-Terraform-Get"); url == "" {
				return fmt.Errorf("no link: %s: %s\n%s", response.Status, body, r.log)
			}
			return nil
		})
		return url
	}
	links := []string{link()}
	for range 2 {
		r.ask(t, control.Request{RotateAccess: &control.RotateAccess{}})
		links = append(links, link())
	}
	for _, url := range links {
		response, err := r.client(t).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !bytes.Equal(body, archive) {
			t.Errorf("a link: %s, %d bytes, %v", response.Status, len(body), err)
		}
	}
	if key := func(link string) string { _, rest, _ := strings.Cut(link, "X-Amz-Credential="); return rest[:20] }; key(links[0]) == key(links[1]) || key(links[1]) == key(links[2]) {
		t.Error("links are signed with a key that was replaced")
	}
}

// Where the file to source cannot be written, it is said that the keys are new.
func TestRotateWithoutTheFile(t *testing.T) {
	r := start(t, localSettings(t))
	if err := os.Remove(filepath.Join(r.data, datadir.CACert)); err != nil {
		t.Fatal(err)
	}
	registry, err := reach.Find(t.Context(), reach.Options{Data: r.data})
	if err != nil {
		t.Fatal(err)
	}
	_, err = registry.Ask(t.Context(), control.Request{RotateAccess: &control.RotateAccess{}})
	want := fmt.Sprintf("the access keys are new, and the operator's old one is good for nothing, but the file to source could not be written: "+
		"environment file: open %s: no such file or directory; mend that, and ask for new keys again", filepath.Join(r.data, datadir.CACert))
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
