package locals3

import (
	"context"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// What lies under a key, by whom, and with which other metadata.
func (e *endpoint) checkWriter(t *testing.T, what, key, want string, others map[string]string) {
	t.Helper()
	out, err := e.Client(e.Keys.Root()).HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(Bucket), Key: &key})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := e.WrittenBy(t.Context(), key, *out.VersionId)
	if err != nil || got != want {
		t.Errorf("%s: written by %q, %v, want %q", what, got, err, want)
	}
	metadata := maps.Clone(out.Metadata)
	delete(metadata, writerMetadata)
	if !maps.Equal(metadata, others) {
		t.Errorf("%s: metadata %v, want %v", what, metadata, others)
	}
}

// Whoever writes an upload is known by name, also after a restart, and nobody can be
// another one.
func TestWrittenBy(t *testing.T) {
	path := t.TempDir()
	e := start(t, path)
	ci := e.uploader(t, "acme-ci", "acme")
	as := map[string]*s3.Client{"operator": e.Client(e.Operator), "acme-ci": e.Client(ci), "registry": e.Client(e.Root)}
	bucket := aws.String(Bucket)
	for name, client := range as {
		for _, claim := range []map[string]string{nil, {"larder-by": "mallory"}, {"Larder-By": "mallory", "source": "https://example.com"}, {"LARDER-BY": "mallory"}} {
			key, others := aws.String("modules/acme/"+name), map[string]string{}
			if source, ok := claim["source"]; ok {
				others["source"] = source
			}
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("x"), Metadata: claim})
			if err != nil {
				t.Fatal(err)
			}
			e.checkWriter(t, name+" puts", *key, name, others)

			created, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: key, Metadata: claim})
			if err != nil {
				t.Fatal(err)
			}
			part, err := client.UploadPart(t.Context(), &s3.UploadPartInput{Bucket: bucket, Key: key, UploadId: created.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
			if err != nil {
				t.Fatal(err)
			}
			pending{*key, *created.UploadId, types.CompletedPart{ETag: part.ETag, PartNumber: aws.Int32(1), ChecksumCRC32: part.ChecksumCRC32}}.complete(t, client)
			e.checkWriter(t, name+" puts in parts", *key, name, others)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.dir.Close()
	e = start(t, path)
	for name := range as {
		e.checkWriter(t, "after a restart", "modules/acme/"+name, name, map[string]string{})
	}
	if got, err := e.WrittenBy(t.Context(), "modules/acme/gone", "01ARZ3NDEKTSV4RRFFQ69G5FAV"); got != "" || err != nil {
		t.Errorf("what is not there is written by %q, %v", got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.WrittenBy(ended, "modules/acme/operator", "01ARZ3NDEKTSV4RRFFQ69G5FAV"); err == nil {
		t.Error("for nobody, it is known who wrote it")
	}
}

// The writer of a copy is its maker, with all other metadata of its source.
func TestCopiesAreTheirMakers(t *testing.T) {
	e := start(t, t.TempDir())
	ci, operator, bucket := e.Client(e.uploader(t, "acme-ci", "acme")), e.Client(e.Operator), aws.String(Bucket)
	source := map[string]string{"source": "https://example.com"}
	in := &s3.PutObjectInput{Bucket: bucket, Key: aws.String("modules/acme/a"), Body: strings.NewReader("x"), Metadata: source,
		ContentType: aws.String("application/x"), ContentEncoding: aws.String("e"), ContentDisposition: aws.String("d"), ContentLanguage: aws.String("l"), CacheControl: aws.String("c"), Expires: nil}
	first, err := ci.PutObject(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	copies := func(change func(*s3.CopyObjectInput)) error {
		in := &s3.CopyObjectInput{Bucket: bucket, Key: aws.String("modules/labs/b"), CopySource: aws.String(Bucket + "/modules/acme/a")}
		change(in)
		_, err := operator.CopyObject(t.Context(), in)
		return err
	}
	for name, test := range map[string]struct {
		change func(*s3.CopyObjectInput)
		want   map[string]string
	}{
		"as it is":       {func(*s3.CopyObjectInput) {}, source},
		"with metadata":  {func(in *s3.CopyObjectInput) { in.MetadataDirective = types.MetadataDirectiveCopy }, source},
		"of a version":   {func(in *s3.CopyObjectInput) { *in.CopySource += "?versionId=" + *first.VersionId }, source},
		"with no others": {func(in *s3.CopyObjectInput) { in.MetadataDirective = types.MetadataDirectiveReplace }, map[string]string{}},
		"with its own": {func(in *s3.CopyObjectInput) {
			in.MetadataDirective, in.Metadata = types.MetadataDirectiveReplace, map[string]string{"larder-by": "mallory", "x": "y"}
		}, map[string]string{"x": "y"}},
	} {
		if err := copies(test.change); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		e.checkWriter(t, name, "modules/labs/b", "operator", test.want)
	}
	if err := copies(func(*s3.CopyObjectInput) {}); err != nil {
		t.Fatal(err)
	}
	got, err := operator.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("modules/labs/b")})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	for want, has := range map[string]*string{"application/x": got.ContentType, "e": got.ContentEncoding, "d": got.ContentDisposition, "l": got.ContentLanguage, "c": got.CacheControl} {
		if aws.ToString(has) != want {
			t.Errorf("the copy has %q, want %q", aws.ToString(has), want)
		}
	}
	if body, err := io.ReadAll(got.Body); err != nil || string(body) != "x" {
		t.Errorf("the copy is %q, %v", body, err)
	}

	itself := func(version string) func(*s3.CopyObjectInput) {
		return func(in *s3.CopyObjectInput) {
			in.Key = aws.String("modules/acme/a")
			if version != "" {
				*in.CopySource += "?versionId=" + version
			}
		}
	}
	wantCode(t, "a copy onto itself", copies(itself("")), "InvalidRequest")
	wantCode(t, "a copy of the current version onto itself", copies(itself(*first.VersionId)), "InvalidRequest")
	e.checkWriter(t, "what was not copied", "modules/acme/a", "acme-ci", source)
	put(t, ci, "modules/acme/a", "y")
	if err := copies(itself(*first.VersionId)); err != nil {
		t.Fatal(err)
	}
	e.checkWriter(t, "a copy of an earlier version onto itself", "modules/acme/a", "operator", source)
	wantCode(t, "a copy of nothing", copies(func(in *s3.CopyObjectInput) { in.CopySource = aws.String(Bucket + "/modules/acme/nothing") }), "NoSuchKey")
	wantCode(t, "a copy of a version that is gone", copies(func(in *s3.CopyObjectInput) { *in.CopySource += "?versionId=01ARZ3NDEKTSV4RRFFQ69G5FAV" }), "NoSuchVersion")
}

// What the registry keeps says nothing of who uploaded it, for its records do.
func TestTheRegistrysOwnHasNoWriter(t *testing.T) {
	e := start(t, t.TempDir())
	node := e.Server.Client(e.Node)
	put(t, node, "mirror/pulled", "x")
	e.checkWriter(t, "what the node pulled through", "mirror/pulled", "registry", map[string]string{})
	_, err := node.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("modules/acme/restored"), Body: strings.NewReader("x"), Metadata: map[string]string{"larder-by": "acme-ci"}})
	if err != nil {
		t.Fatal(err)
	}
	e.checkWriter(t, "what the node restored", "modules/acme/restored", "acme-ci", map[string]string{})
	for _, client := range []*s3.Client{node, e.Client(e.Root)} {
		_, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/x"), Body: strings.NewReader("x"), Metadata: map[string]string{"larder-by": "mallory"}})
		if err != nil {
			t.Fatal(err)
		}
		e.checkWriter(t, "a record by somebody", "registry/x", "", map[string]string{})
	}
	put(t, node, "registry/x", "x")
	e.checkWriter(t, "a record", "registry/x", "", map[string]string{})
	_, err = node.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/y"), CopySource: aws.String(Bucket + "/mirror/pulled")})
	if err != nil {
		t.Fatal(err)
	}
	e.checkWriter(t, "what is published", "registry/y", "", map[string]string{})
}

// With a key that is revoked in the middle of an upload, it does not come to an end.
func TestRevokedInTheMiddle(t *testing.T) {
	e := start(t, t.TempDir())
	who := e.uploader(t, "acme-ci", "acme")
	up := e.Client(who)
	before := beginUpload(t, up, "modules/acme/a")
	if _, err := e.Keys.RevokeUploader("acme-ci"); err != nil {
		t.Fatal(err)
	}
	_, err := up.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{Bucket: aws.String(Bucket), Key: &before.key, UploadId: &before.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{before.part}}})
	wantCode(t, "complete", err, "InvalidAccessKeyId")
	g := guarded{keys: e.Keys}
	if name, err := g.writer(t.Context()); err == nil {
		t.Errorf("nobody writes as %q", name)
	}
}
