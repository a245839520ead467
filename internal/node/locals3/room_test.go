package locals3

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/awserror"
)

// What the disk has no room for is refused in whichever way it comes, with a code after
// which clients do not try again; what the registry notes of the rest is not.
func TestNoRoomOnTheDisk(t *testing.T) {
	e := start(t, t.TempDir())
	client, own := e.Client(e.Operator), e.Server.Client(e.Root)
	bucket := aws.String(Bucket)
	put := func(c *s3.Client, key string) func() error {
		return func() error {
			_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: &key, Body: strings.NewReader("12345")})
			return err
		}
	}
	copies := func(c *s3.Client, to string) func() error {
		return func() error {
			_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{Bucket: bucket, Key: &to, CopySource: aws.String(Bucket + "/modules/a")})
			return err
		}
	}
	if err := put(client, "modules/a")(); err != nil {
		t.Fatal(err)
	}
	upload, err := client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: bucket, Key: aws.String("modules/p")})
	if err != nil {
		t.Fatal(err)
	}
	part := func() error {
		_, err := client.UploadPart(t.Context(), &s3.UploadPartInput{
			Bucket: bucket, Key: upload.Key, UploadId: upload.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("12345")})
		return err
	}
	partCopy := func() error {
		_, err := client.UploadPartCopy(t.Context(), &s3.UploadPartCopyInput{
			Bucket: bucket, Key: upload.Key, UploadId: upload.UploadId, PartNumber: aws.Int32(1), CopySource: aws.String(Bucket + "/modules/a")})
		return err
	}
	complete := func() error {
		room := e.room.Swap(math.MaxInt64)
		whole := beginUpload(t, client, "modules/q")
		e.room.Store(room)
		_, err := client.CompleteMultipartUpload(t.Context(), &s3.CompleteMultipartUploadInput{
			Bucket: bucket, Key: &whole.key, UploadId: &whole.id, MpuObjectSize: aws.Int64(int64(len("part"))), MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{whole.part}}})
		return err
	}
	for _, c := range []struct {
		name string
		do   func() error
		room int64 // with which it is taken, and one less is refused; 0: it is always
	}{
		{"an upload", put(client, "modules/b"), 5},
		{"what lies elsewhere", put(client, "registryx/b"), 5},
		{"what is spelt as if it were a record", put(client, "registry/../modules/d"), 5},
		{"a part", part, 5},
		{"a copied part", partCopy, 5},
		{"what is put together of parts", complete, 4},
		{"a copy", copies(client, "modules/c"), 5},
		{"what is published", copies(own, "registry/modules/c"), 5},
		{"a record", put(own, "registry/records/r"), 0},
	} {
		for room := range int64(6) {
			e.room.Store(room)
			err := c.do()
			want := room < c.room
			if refused := awserror.Code(err) == "InsufficientStorage"; refused != want || !want && err != nil {
				t.Errorf("%s, with room for %d bytes: %v", c.name, room, err)
			}
			if want && !strings.Contains(fmt.Sprint(err), "StatusCode: 507, ") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
	e.room.Store(-1)
	_, err = client.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: bucket, Key: upload.Key, UploadId: upload.UploadId})
	if err != nil { // which makes room
		t.Error(err)
	}
}

// A client that looks for an answer when it has sent all, as the AWS CLI does, gets the
// one to an upload that is refused, though it was given long before.
func TestRefusalIsRead(t *testing.T) {
	e := start(t, t.TempDir())
	acme := e.uploader(t, "acme-ci", "acme")
	const size, step = 6 << 20, 1 << 20
	w := e.connect(t)
	w.send(t, e.head(t, acme, "PUT", "/larder/modules/other/a", "Content-Length", fmt.Sprint(size))+"\r\n")
	for range size / step {
		time.Sleep(200 * time.Millisecond)
		w.send(t, strings.Repeat("x", step))
	}
	if response, body := w.receive(t, "PUT"); response.StatusCode != 403 || !strings.Contains(body, "<Code>AccessDenied</Code>") {
		t.Errorf("%s %s", response.Status, body)
	}
}

// An object that is deleted takes no more room than before, comes back when its marker is
// removed, and can be uploaded again.
func TestDeletionTakesNoRoom(t *testing.T) {
	e := start(t, t.TempDir())
	client := e.Client(e.Operator)
	bucket, key := aws.String(Bucket), aws.String("modules/a")
	put(t, client, *key, "its content")
	deleted, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key})
	if err != nil || !aws.ToBool(deleted.DeleteMarker) {
		t.Fatalf("%+v, %v", deleted, err)
	}
	if info, err := os.Stat(filepath.Join(Bucket, *key)); err != nil || info.Size() != 0 {
		t.Errorf("the marker's file: %+v, %v", info, err)
	}
	if _, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key}); awserror.Code(err) != "NoSuchKey" {
		t.Errorf("a deleted object: %v", err)
	}
	if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key, VersionId: deleted.VersionId}); err != nil {
		t.Fatal(err)
	}
	if got := get(t, client, *key, ""); got != "its content" {
		t.Errorf("without its marker it is %q", got)
	}
	if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
		t.Fatal(err)
	}
	put(t, client, *key, "other content")
	if got := get(t, client, *key, ""); got != "other content" {
		t.Errorf("uploaded again it is %q", got)
	}
	versions, err := client.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: bucket, Prefix: key})
	if err != nil || len(versions.Versions) != 2 || len(versions.DeleteMarkers) != 1 {
		t.Errorf("%+v, %v", versions, err)
	}
}
