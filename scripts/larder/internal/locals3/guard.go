package locals3

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// guarded is a storage in which requests reach nothing but what the bucket's
// policy was asked about, for the storage below makes paths of what they say.
type guarded struct{ backend.Backend }

// NormalizeObjectKey implements backend.Backend: it tells the bucket's policy
// which key a file system takes object for. Some do not tell upper from lower
// case, so neither does it for the folders that the uploader may not write.
func (g guarded) NormalizeObjectKey(bucket, object string) string {
	key := g.Backend.NormalizeObjectKey(bucket, object)
	first, rest, nested := strings.Cut(key, "/")
	for _, folder := range protectedFolders {
		if strings.EqualFold(first, folder) {
			first = folder
		}
	}
	if nested {
		return first + "/" + rest
	}
	return first
}

// UploadPart implements backend.Backend.
func (g guarded) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return nil, err
	}
	return g.Backend.UploadPart(ctx, in)
}

// UploadPartCopy implements backend.Backend.
func (g guarded) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return s3response.CopyPartResult{}, err
	}
	return g.Backend.UploadPartCopy(ctx, in)
}

// CompleteMultipartUpload implements backend.Backend.
func (g guarded) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return s3response.CompleteMultipartUploadResult{}, "", err
	}
	return g.Backend.CompleteMultipartUpload(ctx, in)
}

// AbortMultipartUpload implements backend.Backend.
func (g guarded) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput) error {
	if err := checkUploadID(in.UploadId); err != nil {
		return err
	}
	return g.Backend.AbortMultipartUpload(ctx, in)
}

// ListParts implements backend.Backend.
func (g guarded) ListParts(ctx context.Context, in *s3.ListPartsInput) (s3response.ListPartsResult, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return s3response.ListPartsResult{}, err
	}
	return g.Backend.ListParts(ctx, in)
}

// checkUploadID refuses what leads out of the folder of an object's uploads,
// as an upload that does not exist.
func checkUploadID(id *string) error {
	name := aws.ToString(id)
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name {
		return s3err.GetNoSuchUploadErr(name)
	}
	return nil
}
