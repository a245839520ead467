package locals3

import (
	"os"
	"path"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/larder-registry/larder/internal/node/datadir"
)

// An attempt is one request of an uploader on a key, which has a version.
type attempt struct {
	name string
	do   func(t *testing.T, up *s3.Client, key, version string) error
}

var tagging = &types.Tagging{TagSet: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}}

// writes are all the ways to write an object that exists. The multipart ones
// stop at their first request, which decides.
var writes = []attempt{
	{"put", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader("new")})
		return err
	}},
	{"create", func(t *testing.T, up *s3.Client, key, _ string) error {
		key += "-new"
		_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key,
			Body: strings.NewReader("new"), IfNoneMatch: aws.String("*")})
		return err
	}},
	{"put with tags", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key,
			Body: strings.NewReader("new"), Tagging: aws.String("k=v")})
		return err
	}},
	{"copy onto", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: &key,
			CopySource: aws.String(Bucket + "/source")})
		return err
	}},
	{"multipart upload", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(Bucket), Key: &key})
		return err
	}},
	{"tag", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key, Tagging: tagging})
		return err
	}},
	{"tag a version", func(t *testing.T, up *s3.Client, key, version string) error {
		_, err := up.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key,
			VersionId: &version, Tagging: tagging})
		return err
	}},
	{"untag", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.DeleteObjectTagging(t.Context(), &s3.DeleteObjectTaggingInput{Bucket: aws.String(Bucket), Key: &key})
		return err
	}},
	{"delete a version", func(t *testing.T, up *s3.Client, key, version string) error {
		_, err := up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: &key,
			VersionId: &version})
		return err
	}},
	{"delete", func(t *testing.T, up *s3.Client, key, _ string) error {
		_, err := up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: &key})
		return err
	}},
	{"delete one of many", func(t *testing.T, up *s3.Client, key, _ string) error {
		out, err := up.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket), Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: aws.String("bystander")}, {Key: &key}}}})
		if err != nil || len(out.Errors) == 0 {
			return err
		}
		return &smithy.GenericAPIError{Code: aws.ToString(out.Errors[0].Code)}
	}},
}

func currentVersion(t *testing.T, client *s3.Client, key string) *string {
	t.Helper()
	out, err := client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(Bucket), Key: &key})
	if err != nil {
		t.Fatalf("head %s: %v", key, err)
	}
	return out.VersionId
}

func TestUploaderWritesInTheInboxOnly(t *testing.T) {
	e := start(t, t.TempDir())
	root, up := e.Client(e.Root), e.Client(e.Operator)
	put(t, root, "source", "source")
	for _, w := range writes {
		published := put(t, root, "registry/blob", "published")
		uploaded := put(t, root, "providers/blob", "upload")
		if err := w.do(t, up, "providers/blob", uploaded); err != nil {
			t.Errorf("%s in the inbox: %v", w.name, err)
		}
		wantCode(t, w.name+" in registry/", w.do(t, up, "registry/blob", published), "AccessDenied")
		if got := get(t, up, "registry/blob", ""); got != "published" {
			t.Errorf("%s changed what the registry holds to %q", w.name, got)
		}
	}
}

// A key that a file system takes for a protected one is protected, with
// whatever error.
func TestNoSpellingGetsAround(t *testing.T) {
	e := start(t, t.TempDir())
	root, up := e.Client(e.Root), e.Client(e.Operator)
	put(t, root, "registry/blob", "published")
	for _, key := range []string{
		"registry", "registry/", "registry//blob", "registry/./blob", "./registry/blob", "//registry/blob",
		"/registry/blob", "modules/../registry/blob", "registry/../registry/blob", "modules/..//registry/blob",
		"../larder/registry/blob", "Registry/blob", "REGISTRY/blob", "regi\u017ftry/blob",
		".sgwtmp/x", ".sgwtmp/multipart/x", "modules/../.sgwtmp/x", "../x", "../larder-2/x",
	} {
		if _, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader("")}); err == nil {
			t.Errorf("put %q was accepted", key)
		}
		if _, err := up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: aws.String(Bucket), Key: &key}); err == nil {
			t.Errorf("delete %q was accepted", key)
		}
		out, err := up.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket), Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: &key}}}})
		if err == nil && len(out.Errors) == 0 {
			t.Errorf("delete of %q among others was accepted", key)
		}
		if got := get(t, root, "registry/blob", ""); got != "published" {
			t.Fatalf("%q changed what the registry holds to %q", key, got)
		}
	}
	for _, key := range []string{"registry.txt", "registry-2/x", "modules/registry/x", "modules/%2e%2e/registry/blob"} {
		put(t, up, key, "an upload")
	}
	if got := get(t, root, "registry/blob", ""); got != "published" {
		t.Errorf("what the registry holds changed to %q", got)
	}
}

// An upload ID is a path for the storage.
func TestUploadIDsLeadNowhere(t *testing.T) {
	e := start(t, t.TempDir())
	root, up := e.Client(e.Root), e.Client(e.Operator)
	put(t, root, "registry/blob/1", "published")
	beginUpload(t, up, "large") // there is a folder from which to lead away
	key := aws.String("large")
	for _, id := range []string{"../../../registry", "../../../registry/blob", "../../../../../s3-credentials.json", "..", ".", "x/../../../../registry",
		"x\x00", strings.Repeat("x", maxName+1), strings.Repeat("x", 5000)} {
		_, err := up.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: aws.String(Bucket), Key: key, UploadId: &id})
		wantCode(t, "abort "+id, err, "NoSuchUpload")
		_, err = up.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: aws.String(Bucket), Key: key, UploadId: &id,
			PartNumber: aws.Int32(1), Body: strings.NewReader("new")})
		wantCode(t, "upload a part to "+id, err, "NoSuchUpload")
		_, err = up.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{Bucket: aws.String(Bucket), Key: key, UploadId: &id,
			PartNumber: aws.Int32(1), CopySource: aws.String(Bucket + "/registry/blob/1")})
		wantCode(t, "copy a part to "+id, err, "NoSuchUpload")
		_, err = up.ListParts(t.Context(), &s3.ListPartsInput{Bucket: aws.String(Bucket), Key: key, UploadId: &id})
		wantCode(t, "list the parts of "+id, err, "NoSuchUpload")
		_, err = up.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: aws.String(Bucket), Key: key, UploadId: &id,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: aws.String("x"), PartNumber: aws.Int32(1)}}}})
		wantCode(t, "complete "+id, err, "NoSuchUpload")
	}
	if got := get(t, root, "registry/blob/1", ""); got != "published" {
		t.Errorf("what the registry holds changed to %q", got)
	}
}

// The ID of a version is a path for the storage, which looks at its length alone.
func TestVersionIDsLeadNowhere(t *testing.T) {
	e := start(t, t.TempDir())
	up, bucket, key := e.Client(e.Operator), aws.String(Bucket), aws.String("modules/blob")
	version := put(t, up, *key, "one")
	put(t, up, *key, "two") // there is a folder of versions from which to lead away
	const secret = "AWS_SECRET_ACCESS_KEY"
	if err := e.dir.WriteFile(datadir.Env, []byte(secret)); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"../../../../../../.././env", "../../../../../../../" + strings.Repeat("/", 2) + "env", "x", "Null", strings.ToLower(version), version + "/", version[1:]} {
		source := aws.String(Bucket + "/" + *key + "?versionId=" + out)
		for name, do := range map[string]func() error{
			"read": func() error {
				_, err := up.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key, VersionId: &out})
				return err
			},
			"read the attributes of": func() error {
				_, err := up.GetObjectAttributes(t.Context(), &s3.GetObjectAttributesInput{Bucket: bucket, Key: key, VersionId: &out,
					ObjectAttributes: []types.ObjectAttributes{types.ObjectAttributesObjectSize}})
				return err
			},
			"read the tags of": func() error {
				_, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: bucket, Key: key, VersionId: &out})
				return err
			},
			"tag": func() error {
				_, err := up.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: bucket, Key: key, VersionId: &out, Tagging: tagging})
				return err
			},
			"untag": func() error {
				_, err := up.DeleteObjectTagging(t.Context(), &s3.DeleteObjectTaggingInput{Bucket: bucket, Key: key, VersionId: &out})
				return err
			},
			"copy": func() error {
				_, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("modules/copy"), CopySource: source})
				return err
			},
			"copy a part of": func() error {
				upload := beginUpload(t, up, "modules/copy")
				_, err := up.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{Bucket: bucket, Key: &upload.key, UploadId: &upload.id,
					PartNumber: aws.Int32(2), CopySource: source})
				return err
			},
			"delete": func() error {
				_, err := up.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key, VersionId: &out})
				return err
			},
			"delete among others": func() error {
				_, err := up.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: bucket, Delete: &types.Delete{
					Objects: []types.ObjectIdentifier{{Key: key, VersionId: &version}, {Key: key, VersionId: &out}}}})
				return err
			},
		} {
			wantCode(t, name+" "+out, do(), "InvalidArgument")
		}
		if _, err := up.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: key, VersionId: &out}); err == nil {
			t.Errorf("looked at %s", out)
		}
	}
	if kept, err := os.ReadFile(e.dir.Path(datadir.Env)); err != nil || string(kept) != secret {
		t.Errorf("a file outside of the bucket is now %q, %v", kept, err)
	}
	if got := get(t, up, *key, version); got != "one" {
		t.Errorf("the version is now %q", got)
	}
}

func TestNothingOutsideOfTheBucketIsReached(t *testing.T) {
	e := start(t, t.TempDir())
	up := e.Client(e.Operator)
	for _, out := range []string{"../../../" + datadir.CA, "../../../" + datadir.S3Credentials} {
		if _, err := up.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &out}); err == nil {
			t.Errorf("read %s", out)
		}
		if _, err := up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("copy"), CopySource: aws.String(Bucket + "/" + out)}); err == nil {
			t.Errorf("copied %s", out)
		}
		list, err := up.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket), Prefix: aws.String(path.Dir(out) + "/")})
		if err == nil && len(list.Contents) != 0 {
			t.Errorf("listed the folder of %s", out)
		}
		removed, err := up.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: aws.String(Bucket), Delete: &types.Delete{
			Objects: []types.ObjectIdentifier{{Key: &out}, {Key: &out, VersionId: aws.String("null")}}}})
		if err == nil && len(removed.Errors) != 2 {
			t.Errorf("deleted %s", out)
		}
	}
}

func TestUploaderReads(t *testing.T) {
	e := start(t, t.TempDir())
	version := put(t, e.Client(e.Root), "registry/blob", "published")
	up := e.Client(e.Operator)
	if got := get(t, up, "registry/blob", version); got != "published" {
		t.Errorf("got %q", got)
	}
	list, err := up.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket)})
	if err != nil || len(list.Contents) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	versions, err := up.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(Bucket)})
	if err != nil || len(versions.Versions) != 1 {
		t.Errorf("list versions: %v, %v", versions, err)
	}
	if _, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: aws.String("registry/blob")}); err != nil {
		t.Errorf("read tags: %v", err)
	}
}

func TestUploaderHasNoRightsOnTheBucket(t *testing.T) {
	e := start(t, t.TempDir())
	up := e.Client(e.Operator)
	bucket := aws.String(Bucket)
	_, err := up.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: bucket})
	wantCode(t, "delete the bucket", err, "AccessDenied")
	_, err = up.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("another")})
	wantCode(t, "create a bucket", err, "AccessDenied")
	_, err = up.PutBucketPolicy(t.Context(), &s3.PutBucketPolicyInput{Bucket: bucket, Policy: aws.String(`{}`)})
	wantCode(t, "set the policy", err, "AccessDenied")
	_, err = up.DeleteBucketPolicy(t.Context(), &s3.DeleteBucketPolicyInput{Bucket: bucket})
	wantCode(t, "delete the policy", err, "AccessDenied")
	_, err = up.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: bucket,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusSuspended}})
	wantCode(t, "suspend versioning", err, "AccessDenied")
	_, err = up.PutBucketAcl(t.Context(), &s3.PutBucketAclInput{Bucket: bucket, ACL: types.BucketCannedACLPublicRead})
	wantCode(t, "publish the bucket", err, "AccessDenied")
}

func TestStrangersGetNothing(t *testing.T) {
	e := start(t, t.TempDir())
	put(t, e.Client(e.Root), "registry/blob", "published")
	head := func(who Credentials) error {
		_, err := e.Client(who).GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/blob")})
		return err
	}
	wantCode(t, "an unknown key", head(newCredentials()), "InvalidAccessKeyId")
	wantCode(t, "a wrong secret", head(Credentials{e.Operator.AccessKeyID, e.Root.SecretAccessKey}), "SignatureDoesNotMatch")
	wantCode(t, "the node's key with a wrong secret", head(Credentials{e.Root.AccessKeyID, e.Operator.SecretAccessKey}), "SignatureDoesNotMatch")
	if status, body := e.request(t, "GET", e.url+"/"+Bucket+"/registry/blob"); status != 403 {
		t.Errorf("anonymous: status %d: %s", status, body)
	}
}
