package locals3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3response"
)

// notifying is a storage that reports which keys were written or deleted.
type notifying struct {
	backend.Backend
	notify func(key string)
}

// PutObject implements backend.Backend.
func (n notifying) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	out, err := n.Backend.PutObject(ctx, in)
	n.written(in.Bucket, in.Key, err)
	return out, err
}

// CompleteMultipartUpload implements backend.Backend.
func (n notifying) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	out, version, err := n.Backend.CompleteMultipartUpload(ctx, in)
	n.written(in.Bucket, in.Key, err)
	return out, version, err
}

// CopyObject implements backend.Backend.
func (n notifying) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	out, err := n.Backend.CopyObject(ctx, in)
	n.written(in.Bucket, in.Key, err)
	return out, err
}

// DeleteObject implements backend.Backend. It does not report a version that is removed for
// good: prune does that, with uploads that nothing waits for.
func (n notifying) DeleteObject(ctx context.Context, in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	out, err := n.Backend.DeleteObject(ctx, in)
	if aws.ToString(in.VersionId) == "" {
		n.written(in.Bucket, in.Key, err)
	}
	return out, err
}

// DeleteObjects implements backend.Backend.
func (n notifying) DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	out, err := n.Backend.DeleteObjects(ctx, in)
	for _, object := range out.Deleted {
		if aws.ToString(object.VersionId) == "" {
			n.written(in.Bucket, object.Key, err)
		}
	}
	return out, err
}

// written reports a key as listings spell it, unless the write failed.
func (n notifying) written(bucket, key *string, err error) {
	if err == nil && bucket != nil && key != nil && *bucket == Bucket {
		n.notify(n.Backend.NormalizeObjectKey(*bucket, *key))
	}
}
