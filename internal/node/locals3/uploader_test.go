package locals3

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/pkg/access"
)

// uploader makes an uploader of some namespaces.
func (e *endpoint) uploader(t *testing.T, name string, namespaces ...string) Credentials {
	t.Helper()
	u, secret, err := e.Keys.CreateUploader(name, namespaces, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return Credentials{u.AccessKeyID, secret}
}

// What an uploader may do in its own namespaces, and nothing else of all that there is.
func TestUploaderInItsNamespaces(t *testing.T) {
	e := start(t, t.TempDir())
	root, up := e.Client(e.Root), e.Client(e.uploader(t, "ci", "acme", "labs"))
	put(t, root, "source", "source")
	may := map[string]bool{"put": true, "create": true, "multipart upload": true}
	for _, key := range []string{"providers/acme/widget/x.zip", "keys/acme/a.asc", "modules/labs/a b+c%2F%25é"} {
		for _, w := range writes {
			version := put(t, root, key, "upload")
			switch err := w.do(t, up, key, version); {
			case may[w.name] && err != nil:
				t.Errorf("%s at %s: %v", w.name, key, err)
			case !may[w.name]:
				wantCode(t, w.name+" at "+key, err, "AccessDenied")
			}
		}
		upload := beginUpload(t, up, key)
		upload.complete(t, up)
		_, err := up.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key, UploadId: aws.String(beginUpload(t, up, key).id)})
		if err != nil {
			t.Errorf("abort an upload to %s: %v", key, err)
		}
		if _, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key, VersionId: currentVersion(t, root, key)}); err != nil {
			t.Errorf("read the tags of %s: %v", key, err)
		}
		outcome := "registry/outcomes/" + key + ".json"
		put(t, root, outcome, "published")
		if got := get(t, up, outcome, ""); got != "published" {
			t.Errorf("the outcome of %s is %q", key, got)
		}
		folder := key[:strings.LastIndex(key, "/")+1]
		list, err := up.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket), Prefix: &folder})
		if err != nil || len(list.Contents) == 0 {
			t.Errorf("list %s: %v, %v", folder, list, err)
		}
	}
}

// What an access key is not good for has a line in the log, for its operator to see
// who has tried what, and not so many lines that they are in the way.
func TestDeniedUploadsAreLogged(t *testing.T) {
	e := start(t, t.TempDir())
	var sent counting
	sent.RoundTripper, e.outside.Transport = e.outside.Transport, &sent
	up := e.Client(e.uploader(t, "ci", "acme"))
	put(t, up, "modules/acme/x", "mine")
	before := sent.requests.Load()
	_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/evil/x\n"), Body: strings.NewReader("x")})
	wantCode(t, "elsewhere", err, "AccessDenied")
	// The line is written when the answer has gone.
	const want = `level=WARN msg="the access key is not good for that" by=ci method=PUT key="modules/evil/x\n" client=127.0.0.1`
	poll(t, "a line for what was refused", func() bool { return e.denied() > 0 })
	tries := int(sent.requests.Load() - before) // the client sends again what it has no answer to
	if log := e.log.String(); e.denied() > tries || !strings.Contains(log, want) {
		t.Errorf("of %d requests the log says\n%s", tries, log)
	}
	begin := time.Now()
	for range 100 {
		_, err := up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/evil/x")})
		wantCode(t, "elsewhere", err, "AccessDenied")
	}
	poll(t, "lines for the first of a hundred", func() bool { return e.denied() >= 20 })
	if got, most := e.denied(), tries+20+int(time.Since(begin)/time.Second); got > most {
		t.Errorf("%d lines of a hundred that were refused, want %d at most", got, most)
	}
}

// counting counts the requests that are sent.
type counting struct {
	http.RoundTripper
	requests atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// denied is how many lines tell what an access key was not good for.
func (e *endpoint) denied() int { return strings.Count(e.log.String(), "not good for that") }

// Whatever is not an uploader's own: nothing is written, removed, read or tagged there.
func TestUploaderElsewhere(t *testing.T) {
	e := start(t, t.TempDir())
	root, up := e.Client(e.Root), e.Client(e.uploader(t, "ci", "acme"))
	put(t, root, "source", "source")
	for _, key := range []string{
		"registry/outcomes/modules/acme/x.json", "registry/modules/acme/x",
		"modules/evil/x", "modules/acme-evil/x", "modules/acm/x", "keys/acme.asc",
		"mirror/registry.terraform.io/acme/x", "stray", "x/modules/acme/x", "modules/ACME/x",
	} {
		for _, w := range writes {
			version := put(t, root, key, "theirs")
			wantCode(t, w.name+" at "+key, w.do(t, up, key, version), "AccessDenied")
			if got := get(t, root, key, ""); got != "theirs" {
				t.Errorf("%s at %s made it %q", w.name, key, got)
			}
		}
		upload := beginUpload(t, root, key)
		for name, do := range map[string]func() error{
			"upload a part": func() error {
				_, err := up.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: aws.String(Bucket), Key: &key, UploadId: &upload.id, PartNumber: aws.Int32(2), Body: strings.NewReader("x")})
				return err
			},
			"complete an upload": func() error {
				_, err := up.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key, UploadId: &upload.id,
					MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{upload.part}}})
				return err
			},
			"abort an upload": func() error {
				_, err := up.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key, UploadId: &upload.id})
				return err
			},
			"list parts": func() error {
				_, err := up.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String(Bucket), Key: &key, UploadId: &upload.id})
				return err
			},
			"read": func() error {
				_, err := up.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &key, VersionId: currentVersion(t, root, key)})
				return err
			},
			"read the attributes": func() error {
				_, err := up.GetObjectAttributes(t.Context(), &s3.GetObjectAttributesInput{Bucket: aws.String(Bucket), Key: &key, ObjectAttributes: []types.ObjectAttributes{types.ObjectAttributesObjectSize}})
				return err
			},
			"read the tags": func() error {
				_, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key})
				return err
			},
			"hold": func() error {
				_, err := up.PutObjectLegalHold(t.Context(), &s3.PutObjectLegalHoldInput{Bucket: aws.String(Bucket), Key: &key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOn}})
				return err
			},
			"set the ACL": func() error {
				_, err := up.PutObjectAcl(t.Context(), &s3.PutObjectAclInput{Bucket: aws.String(Bucket), Key: &key, ACL: types.ObjectCannedACLPublicRead})
				return err
			},
		} {
			wantCode(t, name+" at "+key, do(), "AccessDenied")
		}
		if key == "registry/outcomes/modules/acme/x.json" { // which it may read
			continue
		}
		_, err := up.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &key})
		wantCode(t, "read "+key, err, "AccessDenied")
		_, err = up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/copy"), CopySource: aws.String(Bucket + "/" + key)})
		wantCode(t, "copy from "+key, err, "AccessDenied")
		own := beginUpload(t, up, "modules/acme/copy")
		_, err = up.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{Bucket: aws.String(Bucket), Key: &own.key, UploadId: &own.id, PartNumber: aws.Int32(2), CopySource: aws.String(Bucket + "/" + key)})
		wantCode(t, "copy a part from "+key, err, "AccessDenied")
	}
}

// No spelling of a key, a prefix or a source leads out of an uploader's namespaces.
func TestNoSpellingLeadsOut(t *testing.T) {
	e := start(t, t.TempDir())
	root, who := e.Client(e.Root), e.uploader(t, "ci", "acme")
	up := e.Client(who)
	const secret = "modules/evil/secret"
	version := put(t, root, secret, "theirs")
	put(t, root, "registry/outcomes/modules/acme/a/b/c/d/e/f/g.json", "own")
	for _, key := range []string{
		"registry/blob", "registry/outcomes-by-sha256/x.json", "registry/keys/authors/acme/x", "providers/evil/x", "keys/evil/x", "modules/acme.zip",
		"mirror/acme/x", "acme/x", "Modules/acme/x", "MODULES/ACME/x",
		"modules/acme/../evil/secret", "modules/acme/..//evil/secret", "modules/acme/./../evil/secret", "modules/acme/x/../../evil/secret",
		"keys/acme/../../modules/evil/secret", "modules/acme/../../modules/evil/secret", "modules/acme/../../registry/x", "modules/acme/../../../x",
		"/modules/evil/secret", "modules//evil/secret", "modules/acme/..", "modules/acme", "modules/acme/../../.sgwtmp/x",
	} {
		_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader("mine")})
		if err == nil {
			t.Errorf("put %q was accepted", key)
		}
		if _, err := up.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key}); err == nil {
			t.Errorf("an upload to %q was begun", key)
		}
		if _, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key}); err == nil {
			t.Errorf("read the tags of %q", key)
		}
		if _, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/copy"),
			CopySource: aws.String(Bucket + "/registry/outcomes/" + key)}); err == nil {
			t.Errorf("copied from %q", key)
		}
	}
	const outcome = Bucket + "/registry/outcomes/modules/acme/a/b/c/d/e/f/g.json"
	for _, source := range []string{
		Bucket + "/" + secret + "?versionId=" + version,
		Bucket + "%2F" + secret, Bucket + "/modules%2Fevil%2Fsecret", "/" + Bucket + "/" + secret, "//" + Bucket + "/" + secret,
		Bucket + "/" + secret + "?versionId=/../../../../registry/outcomes/modules/acme/x", Bucket + "/" + secret + "%3FversionId=/../../../../registry/outcomes/modules/acme/x",
		outcome + "/../../../../../../../../../../modules/evil/secret", outcome + "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/modules/evil/secret",
		Bucket + "/registry/outcomes/modules/acme/%252e%252e/%252e%252e/%252e%252e/%252e%252e/modules/evil/secret",
		outcome + "?versionId=../../../../../../.././env", outcome + "%3FversionId%3D../../../../../../.././env",
	} {
		if _, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/copy"), CopySource: &source}); err == nil {
			t.Errorf("copied from %q", source)
		}
	}
	if got := get(t, root, secret, ""); got != "theirs" {
		t.Errorf("what others have is now %q", got)
	}
	if status, body := e.raw(t, who, "GET", "/larder?list-type=2&prefix=modules/acme/"); status != 200 {
		t.Fatalf("list its own: %d, %s", status, body)
	}
	for _, query := range []string{
		"list-type=2", "list-type=2&prefix=", "list-type=2&prefix=modules/", "list-type=2&prefix=modules/acme", "list-type=2&prefix=modules/evil/", "list-type=2&prefix=modules/acme-evil/",
		"list-type=2&prefix=modules/acme/../evil/", "list-type=2&prefix=modules%2Facme%2F..%2Fevil%2F", "list-type=2&prefix=modules/evil/&prefix=modules/acme/", "list-type=2&prefix=modules/acme/&prefix=modules/evil/",
		"list-type=2&prefix=&prefix=modules/acme/", "list-type=2&prefix=MODULES/acme/", "prefix=modules/evil/", "list-type=2&Prefix=modules/acme/", "list-type=2&prefix=mirror/", "list-type=2&prefix=registry/outcomes/modules/acme/",
		"versions=&prefix=modules/acme/", "uploads=&prefix=modules/acme/", "versions=&prefix=modules/evil/", "location=", "versioning=", "policy=", "acl=", "tagging=",
	} {
		if status, body := e.raw(t, who, "GET", "/larder?"+query); strings.Contains(body, "secret") || status == 200 && strings.Contains(body, "<Key>") {
			t.Errorf("%s: %d, %s", query, status, body)
		} else if status != 403 && !strings.Contains(query, "modules/acme/") && !strings.Contains(query, "modules%2Facme%2F") {
			t.Errorf("%s: %d, want 403", query, status)
		}
	}
	if status, body := e.raw(t, who, "GET", "/"); status != 200 || strings.Contains(body, "<Name>") {
		t.Errorf("list the buckets: %d, %s", status, body)
	}
}

// raw sends a request as it stands, signed.
func (e *endpoint) raw(t *testing.T, who Credentials, method, target string) (int, string) {
	t.Helper()
	w := e.connect(t)
	w.send(t, e.head(t, who, method, target)+"\r\n")
	response, body := w.receive(t, method)
	return response.StatusCode, body
}

// An uploader is there at once, and gone at once, also for those who hold it at the
// end of its time; what it may do, its own key alone may.
func TestUploadersComeAndGo(t *testing.T) {
	path := t.TempDir()
	e := start(t, path)
	acme, labs := e.uploader(t, "ci-acme", "acme"), e.uploader(t, "ci-labs", "labs")
	put(t, e.Client(acme), "modules/acme/x", "x")
	_, err := e.Client(labs).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/x"), Body: strings.NewReader("x")})
	wantCode(t, "another uploader", err, "AccessDenied")

	want := []string{"ci-acme " + acme.AccessKeyID + " [acme]", "ci-labs " + labs.AccessKeyID + " [labs]"}
	check := func(keys *Keys, want ...string) {
		t.Helper()
		var got []string
		for _, u := range keys.Uploaders() {
			got = append(got, fmt.Sprint(u.Name, " ", u.AccessKeyID, " ", u.Namespaces))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("uploaders: %q, want %q", got, want)
		}
	}
	check(e.Keys, want...)
	if _, _, err := e.Keys.CreateUploader("ci-acme", []string{"labs"}, time.Time{}); !errors.Is(err, access.ErrExists) {
		t.Errorf("a second one of the name: %v", err)
	}
	if _, _, err := e.Keys.CreateUploader("ci", []string{"*"}, time.Time{}); err == nil || !strings.Contains(err.Error(), `"*" is not a namespace`) {
		t.Errorf("for everything: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.dir.Close()

	e = start(t, path)
	check(e.Keys, want...)
	put(t, e.Client(acme), "modules/acme/x", "x")
	if u, err := e.Keys.RevokeUploader("ci-acme"); err != nil || u.AccessKeyID != acme.AccessKeyID {
		t.Errorf("revoked %v, %v", u, err)
	}
	if u, err := e.Keys.RevokeUploader(labs.AccessKeyID); err != nil || u.Name != "ci-labs" {
		t.Errorf("revoked %v, %v", u, err)
	}
	for _, who := range []Credentials{acme, labs} {
		_, err := e.Client(who).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/x"), Body: strings.NewReader("x")})
		wantCode(t, "a revoked key", err, "InvalidAccessKeyId")
	}
	for _, which := range []string{"ci-acme", acme.AccessKeyID, "", e.Keys.Operator().AccessKeyID, e.Keys.Root().AccessKeyID, "operator", "registry"} {
		if _, err := e.Keys.RevokeUploader(which); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("revoke %q: %v", which, err)
		}
	}
	check(e.Keys)
}
