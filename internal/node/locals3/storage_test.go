package locals3

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/meta"
)

// A file system with less room than the bucket needs is refused at the start,
// and one that has it keeps nothing of the check.
func TestCheckAttributes(t *testing.T) {
	folder := t.TempDir()
	const tooMuch = 1 << 30 // more than any file system has
	err := checkAttributes(folder, tooMuch)
	if err == nil {
		t.Fatal("there is room for a gigabyte")
	}
	for _, want := range []string{folder, fmt.Sprint(tooMuch), "LARDER_DATA", "mkfs.ext4 -b 4096"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	if err := checkAttributes(folder, attributeRoom); err != nil {
		t.Error(err)
	}
	if left, err := (meta.XattrMeta{}).ListAttributes(folder, ""); err != nil || len(left) != 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// What the check asks for is enough for the bucket, and for an upload with a long
// source and the tags of its outcome.
func TestAttributeRoom(t *testing.T) {
	e := start(t, t.TempDir())
	up, key := e.Client(e.uploader(t, strings.Repeat("n", 63), "acme")), aws.String("modules/acme/x")
	_, err := up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: key, Body: strings.NewReader("x"), Metadata: map[string]string{"source": strings.Repeat("s", 500)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Client(e.Root).PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String(Bucket), Key: key, Tagging: &types.Tagging{TagSet: []types.Tag{
		{Key: aws.String("larder-status"), Value: aws.String("published")}, {Key: aws.String("larder-reason"), Value: aws.String(strings.Repeat("r", 256))}}}})
	if err != nil {
		t.Fatal(err)
	}
	var kept meta.XattrMeta
	for _, object := range []string{"", *key} {
		names, err := kept.ListAttributes(Bucket, object) // in the working directory
		if err != nil || len(names) == 0 {
			t.Fatalf("%q: %q, %v", object, names, err)
		}
		size := 0
		for _, name := range names {
			value, err := kept.RetrieveAttribute(nil, Bucket, object, name)
			if err != nil {
				t.Fatal(err)
			}
			size += len("user.") + len(name) + 16 + len(value) // as ext4 counts
		}
		if size > attributeRoom {
			t.Errorf("%q has %d bytes of attributes, more than %d", object, size, attributeRoom)
		}
		t.Logf("%q has %d bytes of attributes", object, size)
	}
}

// Tags for which a file has no room are the uploader's fault, and change none that
// there are.
func TestNoRoomForTags(t *testing.T) {
	e := start(t, t.TempDir())
	up := e.Client(e.Operator)
	put(t, up, "a", "x")
	var tags []types.Tag
	header := url.Values{}
	for i := range 10 {
		key, value := fmt.Sprint(i, strings.Repeat("k", 127)), strings.Repeat("v", 256)
		tags = append(tags, types.Tag{Key: &key, Value: &value})
		header.Set(key, value)
	}
	few := &types.Tagging{TagSet: tags[:1]}
	if _, err := up.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String(Bucket), Key: aws.String("a"), Tagging: few}); err != nil {
		t.Fatal(err)
	}
	_, err := up.PutObjectTagging(t.Context(), &s3.PutObjectTaggingInput{Bucket: aws.String(Bucket), Key: aws.String("a"), Tagging: &types.Tagging{TagSet: tags}})
	if err == nil {
		t.Skip("files here have room for all tags that an object may have")
	}
	wantCode(t, "tag", err, "MetadataTooLarge")
	_, err = up.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("b"), Body: strings.NewReader("x"), Tagging: aws.String(header.Encode())})
	wantCode(t, "put with tags", err, "MetadataTooLarge")
	_, err = up.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: aws.String(Bucket), Key: aws.String("b"), CopySource: aws.String(Bucket + "/a"),
		TaggingDirective: types.TaggingDirectiveReplace, Tagging: aws.String(header.Encode())})
	wantCode(t, "copy with tags", err, "MetadataTooLarge")
	got, err := up.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: aws.String(Bucket), Key: aws.String("a")})
	if err != nil || len(got.TagSet) != 1 {
		t.Errorf("tags: %v, %v", got, err)
	}
}
