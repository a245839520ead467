package locals3

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// errDiskFull is the endpoint's own answer when the disk is nearly full.
var errDiskFull = s3err.APIError{Code: "InsufficientStorage", HTTPStatusCode: http.StatusInsufficientStorage,
	Description: "The disk of the registry has no room for it: nothing was kept. Upload it again when its operator has made room."}

// roomy is a storage that refuses uploads, and copies of uploads, for which the disk has no
// room. It does not refuse records, outcomes and signatures: the reserve is for them.
type roomy struct {
	backend.Backend
	takes func(size int64) bool
	files *openFiles
}

// refuses says whether there is no room for size more bytes under a key.
func (r roomy) refuses(key *string, size int64) bool {
	return !isRegistrys(r, Bucket, aws.ToString(key)) && !r.takes(size)
}

// PutObject implements backend.Backend.
func (r roomy) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	if r.refuses(in.Key, aws.ToInt64(in.ContentLength)) {
		return s3response.PutObjectOutput{}, errDiskFull
	}
	return r.Backend.PutObject(ctx, in)
}

// UploadPart implements backend.Backend.
func (r roomy) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	if r.refuses(in.Key, aws.ToInt64(in.ContentLength)) {
		return nil, errDiskFull
	}
	return r.Backend.UploadPart(ctx, in)
}

// UploadPartCopy implements backend.Backend.
func (r roomy) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	if !r.takes(sourceSize(in.CopySource)) {
		return s3response.CopyPartResult{}, errDiskFull
	}
	return r.Backend.UploadPartCopy(ctx, in)
}

// CompleteMultipartUpload implements backend.Backend: it copies the parts into one file,
// which needs room beside them.
func (r roomy) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	if r.refuses(in.Key, aws.ToInt64(in.MpuObjectSize)) {
		return s3response.CompleteMultipartUploadResult{}, "", errDiskFull
	}
	return r.Backend.CompleteMultipartUpload(ctx, in)
}

// CopyObject implements backend.Backend. The objects that are copied below registry/ are
// archives.
func (r roomy) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	if !r.takes(sourceSize(in.CopySource)) {
		return s3response.CopyObjectOutput{}, errDiskFull
	}
	return r.Backend.CopyObject(ctx, in)
}

// sourceSize returns the size of the current version of an object to copy, or 0: then only
// the reserve counts.
func sourceSize(copySource *string) int64 {
	bucket, object, _, err := backend.ParseCopySource(aws.ToString(copySource))
	if err != nil || bucket != Bucket || !filepath.IsLocal(object) {
		return 0
	}
	info, err := os.Stat(filepath.Join(bucket, object)) // below the working directory, as for the storage
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// DeleteObject implements backend.Backend. The storage keeps a deleted object as an earlier
// version. The file that marks the deletion then needs no content.
func (r roomy) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	marker := openMarker(in)
	out, err := r.Backend.DeleteObject(ctx, in)
	switch {
	case marker == nil:
	case err == nil && aws.ToBool(out.DeleteMarker) && isMarker(marker):
		r.files.empty(marker)
	default:
		_ = marker.Close()
	}
	return out, err
}

// openMarker opens the file that a deletion may turn into a marker. It is opened before the
// deletion, because a new upload under the key is another file.
func openMarker(in *s3.DeleteObjectInput) *os.File {
	key := aws.ToString(in.Key)
	if aws.ToString(in.VersionId) != "" || aws.ToString(in.Bucket) != Bucket || !filepath.IsLocal(key) {
		return nil
	}
	file, err := os.OpenFile(filepath.Join(Bucket, key), os.O_WRONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil // the storage reports the error
	}
	return file
}

// markerTag is the attribute that every delete marker has.
const markerTag = "delete-marker"

func isMarker(file *os.File) bool {
	_, err := (meta.XattrMeta{}).RetrieveAttribute(file, "", "", markerTag)
	return err == nil
}
