package upload

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/inbox"
)

// long is more time than any of this takes.
const long = time.Minute

func quiet() *progress.Progress { return progress.New(io.Discard, false) }

// open starts an S3 and opens it as an inbox, with nothing of the environment of
// the one who runs the tests.
func open(t *testing.T, o Options) *Inbox {
	t.Helper()
	server := s3test.Start(t)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_ENDPOINT_URL_S3", server.Endpoint)
	t.Setenv("AWS_REGION", server.Region)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	o.Bucket = server.Bucket
	inbox, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return inbox
}

// files are new files of the given size, under keys that nothing has yet.
func files(t *testing.T, size int64, names ...string) []File {
	t.Helper()
	dir := t.TempDir()
	all := make([]File, len(names))
	for i, name := range names {
		all[i] = File{Name: name, Path: filepath.Join(dir, name), Key: "inbox/" + filepath.Base(dir) + "/" + name}
		if err := os.WriteFile(all[i].Path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(all[i].Path, max(size, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// tag plays the registry: it gives an upload its outcome.
func (in *Inbox) tag(t *testing.T, f File, version, status, reason string) {
	t.Helper()
	request := &s3.PutObjectTaggingInput{Bucket: &in.options.Bucket, Key: &f.Key, Tagging: &types.Tagging{TagSet: []types.Tag{
		{Key: aws.String("larder-status"), Value: &status}, {Key: aws.String("larder-reason"), Value: &reason}}}}
	if version != "" {
		request.VersionId = &version
	}
	if _, err := in.s3.PutObjectTagging(t.Context(), request); err != nil {
		t.Error(err)
	}
}

// registry tags every file, once it is there, with what its name says.
func (in *Inbox) registry(t *testing.T, all []File) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		for _, f := range all {
			for deadline := time.Now().Add(long); ; time.Sleep(5 * time.Millisecond) {
				if _, err := in.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &in.options.Bucket, Key: &f.Key}); err == nil {
					break
				} else if time.Now().After(deadline) {
					t.Error(err)
					return
				}
			}
			in.tag(t, f, "", f.Name, "because of "+f.Name)
		}
	}()
	return done
}

func TestPublishTellsEveryOutcome(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	for _, test := range []struct {
		names []string
		want  []string // lines of the table
		err   string
	}{
		{[]string{"published"}, []string{"published  published"}, ""},
		{[]string{"published", "ignored"}, []string{"published  published", "ignored    ignored    warning"}, ""},
		{[]string{"pending"}, []string{"pending  pending  because of pending"}, ""},
		{[]string{"rejected", "pending", "published"}, []string{"rejected   rejected   because of rejected", "pending    pending    because of pending"}, "of 3 files: 1 rejected"},
	} {
		all := files(t, 10, test.names...)
		done := inbox.registry(t, all)
		var out, log strings.Builder
		_, err := inbox.Publish(t.Context(), all, &out, progress.New(&log, false))
		<-done
		if got := errorText(err); got != test.err {
			t.Errorf("%v: %q, want %q", test.names, got, test.err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: no %q in\n%s", test.names, want, out.String())
			}
		}
		for _, name := range test.names {
			if !strings.Contains(log.String(), "100 %  "+name) {
				t.Errorf("%v: the log is\n%s", test.names, log.String())
			}
		}
	}
}

// What a file is made from goes up with it, whole or in parts.
func TestSourceGoesUp(t *testing.T) {
	inbox := open(t, Options{NoWait: true})
	for _, size := range []int64{10, 20 << 20} { // of which the latter goes in parts
		all := files(t, size, "with", "without")
		all[0].Source = "https://example.com/acme/network"
		if _, err := inbox.Publish(t.Context(), all, io.Discard, quiet()); err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			head, err := inbox.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &inbox.options.Bucket, Key: &f.Key})
			if err != nil {
				t.Fatal(err)
			}
			if got := head.Metadata["source"]; got != f.Source || strings.Contains(aws.ToString(head.ETag), "-") != (size > 16<<20) {
				t.Errorf("%s, %d bytes: the source is %q, want %q; ETag %s", f.Name, size, got, f.Source, aws.ToString(head.ETag))
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The outcome is that of the uploaded version, even if another one comes after it.
func TestOutcomeIsOfTheVersionUploaded(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	f := files(t, 10, "file")[0]
	mine, err := inbox.put(t.Context(), f, quiet())
	if err != nil {
		t.Fatal(err)
	}
	others, err := inbox.put(t.Context(), f, quiet())
	if err != nil || mine == others {
		t.Fatalf("versions %q and %q, %v", mine, others, err)
	}
	inbox.tag(t, f, others, "rejected", "another")
	inbox.tag(t, f, mine, "published", "")
	r := &result{File: f, version: mine}
	inbox.wait(t.Context(), []*result{r})
	if r.status != "published" || r.err != nil {
		t.Errorf("%+v", r)
	}
}

// A file that is pending until another one has come is waited for.
func TestPendingThatIsPublishedAfterAll(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	f := files(t, 10, "sums")[0]
	version, err := inbox.put(t.Context(), f, quiet())
	if err != nil {
		t.Fatal(err)
	}
	inbox.tag(t, f, version, "pending", "its signature is not here yet")
	r := &result{File: f, version: version}
	inbox.look(t.Context(), r)
	if r.status != "pending" || !r.mayChange() || r.unknown() {
		t.Fatalf("%+v", r)
	}
	inbox.tag(t, f, version, "published", "")
	inbox.wait(t.Context(), []*result{r})
	if r.status != "published" || len(r.reasons) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestPublishWithoutAnOutcome(t *testing.T) {
	inbox := open(t, Options{Timeout: time.Millisecond})
	var out strings.Builder
	_, err := inbox.Publish(t.Context(), files(t, 10, "one"), &out, quiet())
	if errorText(err) != "of 1 file: 1 without an outcome after 1ms" || !strings.Contains(out.String(), "unknown") {
		t.Errorf("in no time: %v\n%s", err, out.String())
	}
	inbox.options.NoWait = true
	out.Reset()
	if _, err := inbox.Publish(t.Context(), files(t, 10, "one"), &out, quiet()); err != nil || !strings.Contains(out.String(), "uploaded") {
		t.Errorf("without a wait: %v\n%s", err, out.String())
	}
	missing := files(t, 10, "missing", "there")
	if err := os.Remove(missing[0].Path); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if _, err := inbox.Publish(t.Context(), missing, &out, quiet()); errorText(err) != "of 2 files: 1 failed" || !strings.Contains(out.String(), "uploaded  there") {
		t.Errorf("one that cannot be read: %v\n%s", err, out.String())
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inbox.Publish(cancelled, files(t, 10, "one"), io.Discard, quiet()); !strings.Contains(errorText(err), "interrupted") {
		t.Errorf("interrupted: %v", err)
	}
}

const wrongCredentials = "the credentials are wrong, revoked, or for another server: on a single node larder uploader create makes new ones, and the operator's are in the file env of its data folder"

// What is uploaded for an author's word to be taken, and packages, may not wait.
func TestWhatMayNotWait(t *testing.T) {
	in := &Inbox{options: Options{Timeout: long}}
	const zip, sums, manifest = "providers/a/w/terraform-provider-w_1.0.0_linux_amd64.zip", "providers/a/w/terraform-provider-w_1.0.0_SHA256SUMS", "providers/a/w/terraform-provider-w_1.0.0_manifest.json"
	for _, test := range []struct {
		statuses map[string]inbox.Status
		want     string
	}{
		{map[string]inbox.Status{zip: "published", sums: "published", sums + ".sig": "published", manifest: "published"}, ""},
		{map[string]inbox.Status{zip: "published", sums: "pending", manifest: "pending"}, ""},
		{map[string]inbox.Status{zip: "published", sums: "pending", sums + ".sig": "pending"}, "of 3 files: the author's signature was not taken"},
		{map[string]inbox.Status{zip: "published", sums: "pending", sums + ".sig": "rejected"}, "of 3 files: 1 rejected, the author's signature was not taken"},
		{map[string]inbox.Status{zip: "pending"}, "of 1 file: 1 pending"},
		{map[string]inbox.Status{sums + ".sig": ""}, "of 1 file: 1 without an outcome after 1m0s"},
	} {
		var results []*result
		for key, status := range test.statuses {
			results = append(results, &result{File: File{Key: key}, status: status})
		}
		if got := errorText(in.conclude(results)); got != test.want {
			t.Errorf("%v: %q, want %q", test.statuses, got, test.want)
		}
	}
}

// An upload in parts that fails at its end is told with the server's words.
func TestUploadInPartsThatFails(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	t.Setenv("AWS_ENDPOINT_URL_S3", s3test.StartFull(t))
	small, err := Open(t.Context(), inbox.options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = small.put(t.Context(), files(t, 20<<20, "file")[0], quiet())
	if err == nil || small.explain(err) != "it could not be uploaded: The disk is full." {
		t.Error(err)
	}
}

// A pipeline that has not written its identity token is told so.
func TestPublishWithoutIdentity(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	missing := filepath.Join(t.TempDir(), "identity")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", missing)
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::000000000000:role/larder")
	pipeline, err := Open(t.Context(), inbox.options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = pipeline.put(t.Context(), files(t, 10, "file")[0], quiet())
	want := "it could not be uploaded: the identity token that AWS_WEB_IDENTITY_TOKEN_FILE names cannot be read: " +
		"unable to read file at " + missing + ": open " + missing + ": no such file or directory"
	if err == nil || pipeline.explain(err) != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

// Who uploads to the registry's own address, which knows no PUT, is told so.
func TestPublishToTheRegistry(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	front := httptest.NewServer(http.NotFoundHandler())
	defer front.Close()
	t.Setenv("AWS_ENDPOINT_URL_S3", front.URL)
	lost, err := Open(t.Context(), inbox.options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lost.put(t.Context(), files(t, 10, "file")[0], quiet())
	want := "it could not be uploaded: there is no bucket at that address: AWS_ENDPOINT_URL_S3, or endpoint_url of the profile, must be the bucket's, not the registry's"
	if err == nil || lost.explain(err) != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

// What a library says is told where nothing else can be, and then whole.
func TestExplain(t *testing.T) {
	in := &Inbox{options: Options{Bucket: "acme"}}
	for _, test := range []struct {
		err  error
		want string
	}{
		{&uploadError{&smithy.GenericAPIError{Code: "AccessDenied"}}, "it could not be uploaded: these credentials lack s3:PutObject on the bucket acme"},
		{&readError{&smithy.GenericAPIError{Code: "AccessDenied"}}, "it was uploaded, but its outcome cannot be read: these credentials lack s3:GetObjectTagging and s3:GetObjectVersionTagging on the bucket acme"},
		{&uploadError{&smithy.GenericAPIError{Code: "NoSuchBucket"}}, "it could not be uploaded: there is no bucket acme: --bucket or LARDER_BUCKET names it"},
		{&uploadError{&smithy.GenericAPIError{Code: "ExpiredToken"}}, "it could not be uploaded: the credentials have expired: log in again"},
		{&uploadError{&smithy.GenericAPIError{Code: "PermanentRedirect"}}, "it could not be uploaded: the bucket acme is in another region: name it with --region"},
		{&uploadError{&smithy.GenericAPIError{Code: "SlowDown", Message: "later"}}, "it could not be uploaded: api error SlowDown: later"},
		{&uploadError{&url.Error{Op: "Put", URL: "https://127.0.0.1:9443/a?b=c", Err: syscall.ECONNREFUSED}}, "it could not be uploaded: nobody answers at 127.0.0.1:9443: is the registry running, and is that its S3 address?"},
		{&uploadError{&url.Error{Op: "Put", URL: "https://127.0.0.1:9443/a?b=c", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}}, "it could not be uploaded: this machine does not trust the certificate of 127.0.0.1:9443: set AWS_CA_BUNDLE to a file with the CA that signed it"},
		{&uploadError{&smithy.GenericAPIError{Code: "InsufficientStorage", Message: "The disk is full."}}, "it could not be uploaded: The disk is full."},
		{&uploadError{&smithy.OperationError{ServiceID: "S3", OperationName: "PutObject", Err: &smithy.GenericAPIError{Code: "AccessDenied"}}}, "it could not be uploaded: these credentials lack s3:PutObject on the bucket acme"},
		{&uploadError{&smithy.OperationError{ServiceID: "S3", OperationName: "PutObject", Err: &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRoleWithWebIdentity",
			Err: &smithy.GenericAPIError{Code: "AccessDenied", Message: "no rule fits"}}}}, "it could not be uploaded: no access key was given: no rule fits"},
		{&uploadError{&net.DNSError{Name: "s3.example.com"}}, "it could not be uploaded: there is no host s3.example.com"},
		{&uploadError{errors.New("failed to refresh cached credentials, no EC2 IMDS role found")}, "it could not be uploaded: there are no credentials: those of a single node are in the file env of its data folder, and those for AWS are found as the AWS CLI finds them"},
		{errors.New("no such file"), "no such file"},
	} {
		if got := in.explain(fmt.Errorf("operation error: %w", test.err)); strings.Replace(got, "operation error: ", "", 1) != test.want {
			t.Errorf("got %s; want %s", got, test.want)
		}
	}
}

func TestPublishWithoutRights(t *testing.T) {
	inbox := open(t, Options{Timeout: long})
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	stranger, err := Open(t.Context(), inbox.options)
	if err != nil {
		t.Fatal(err)
	}
	f := files(t, 10, "file")
	var out strings.Builder
	f = append(f, files(t, 10, "second")...)
	reports, err := stranger.Publish(t.Context(), f, &out, quiet())
	want := "STATUS  FILE    NOTE\nfailed  file    it could not be uploaded: " + wrongCredentials + "\nfailed  second  as above\n"
	if errorText(err) != "of 2 files: 2 failed" || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
	for i, r := range reports {
		if want := (Report{f[i].Name, f[i].Key, "", "failed", []string{"it could not be uploaded: " + wrongCredentials}, nil}); !reflect.DeepEqual(r, want) {
			t.Errorf("reported is %+v, want %+v", r, want)
		}
	}
	version, err := inbox.put(t.Context(), f[0], quiet())
	if err != nil {
		t.Fatal(err)
	}
	r := &result{File: f[0], version: version}
	stranger.wait(t.Context(), []*result{r})
	if got := stranger.explain(r.err); got != "it was uploaded, but its outcome cannot be read: "+wrongCredentials {
		t.Errorf("%s", got)
	}
}

// A large file goes up in parts, as it is, and its progress is told.
func TestLargeFileGoesUpInParts(t *testing.T) {
	inbox := open(t, Options{NoWait: true})
	const size = 34 << 20
	f := files(t, size, "large")[0]
	var log strings.Builder
	if _, err := inbox.Publish(t.Context(), []File{f}, io.Discard, progress.New(&log, false)); err != nil {
		t.Fatal(err)
	}
	head, err := inbox.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &inbox.options.Bucket, Key: &f.Key})
	if err != nil || aws.ToInt64(head.ContentLength) != size || !strings.Contains(aws.ToString(head.ETag), "-5") {
		t.Errorf("%d bytes, ETag %s, %v", aws.ToInt64(head.ContentLength), aws.ToString(head.ETag), err)
	}
	if !strings.Contains(log.String(), " 25 %  large\n") || !strings.Contains(log.String(), " 100 %  large\n") {
		t.Errorf("the log is\n%s", log.String())
	}
}

// A part of a file goes up as a file of its own; what accompanies others is in no
// table.
func TestBatch(t *testing.T) {
	inbox := open(t, Options{NoWait: true})
	f := files(t, 10, "whole")[0]
	part, document := f, f
	part.Name, part.Key, part.Part = "part", f.Key+".part", &Part{Offset: 1, Size: 3}
	document.Name, document.Key = "document", f.Key+".json"
	batch := inbox.NewBatch(quiet())
	if err := batch.UploadDocument(t.Context(), document); err != nil {
		t.Fatal(err)
	}
	batch.Upload(t.Context(), []File{f})
	batch.Upload(t.Context(), []File{part})
	batch.Fail(File{Name: "missing"}, errors.New("nobody has it"))
	var out strings.Builder
	if err := batch.Conclude(t.Context(), &out); errorText(err) != "of 3 files: 1 failed" {
		t.Errorf("%v", err)
	}
	if got := out.String(); strings.Contains(got, "document") || !strings.Contains(got, "uploaded  part") || !strings.Contains(got, "failed    missing  nobody has it") {
		t.Errorf("the table is\n%s", got)
	}
	for key, want := range map[string]string{f.Key: "whole\x00\x00\x00\x00\x00", part.Key: "hol", document.Key: "whole\x00\x00\x00\x00\x00"} {
		object, err := inbox.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &inbox.options.Bucket, Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(object.Body)
		if object.Body.Close(); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	part.Path = "missing"
	if err := batch.UploadDocument(t.Context(), part); err == nil {
		t.Error("a file that is not there is uploaded")
	}
}
