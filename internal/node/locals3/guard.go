package locals3

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3api/middlewares"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// guarded is a storage in which requests reach only the keys that the bucket's policy was
// asked about. The storage below makes paths of the names in requests.
type guarded struct {
	backend.Backend
	keys *Keys
}

// NormalizeObjectKey implements backend.Backend: it returns the key that the file system
// reads for object, for the bucket's policy. Some file systems do not distinguish upper
// and lower case, so it does not either for the folders that the operator may not write.
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

// isRegistrys says whether a key, in any spelling, is in the registry's part of the bucket.
func isRegistrys(storage backend.Backend, bucket, object string) bool {
	first, _, _ := strings.Cut(storage.NormalizeObjectKey(bucket, object), "/")
	return first == RegistryFolder
}

// PutObject implements backend.Backend.
func (g guarded) PutObject(ctx context.Context, in s3response.PutObjectInput) (s3response.PutObjectOutput, error) {
	var err error
	if in.Metadata, err = g.signed(ctx, *in.Bucket, *in.Key, in.Metadata); err != nil {
		return s3response.PutObjectOutput{}, err
	}
	in.Body = whole(in.Body, in.ContentLength)
	out, err := g.Backend.PutObject(ctx, in)
	return out, plain(err)
}

// CopyObject implements backend.Backend.
func (g guarded) CopyObject(ctx context.Context, in s3response.CopyObjectInput) (s3response.CopyObjectOutput, error) {
	if err := checkCopySource(in.CopySource); err != nil {
		return s3response.CopyObjectOutput{}, err
	}
	in, err := g.signedCopy(ctx, in)
	if err != nil {
		return s3response.CopyObjectOutput{}, plain(err)
	}
	out, err := g.Backend.CopyObject(ctx, in)
	return out, plain(err)
}

// CreateMultipartUpload implements backend.Backend.
func (g guarded) CreateMultipartUpload(ctx context.Context, in s3response.CreateMultipartUploadInput) (s3response.InitiateMultipartUploadResult, error) {
	var err error
	if in.Metadata, err = g.signed(ctx, *in.Bucket, *in.Key, in.Metadata); err != nil {
		return s3response.InitiateMultipartUploadResult{}, err
	}
	return g.Backend.CreateMultipartUpload(ctx, in)
}

// UploadPart implements backend.Backend.
func (g guarded) UploadPart(ctx context.Context, in *s3.UploadPartInput) (*s3.UploadPartOutput, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return nil, err
	}
	in.Body = whole(in.Body, in.ContentLength)
	return g.Backend.UploadPart(ctx, in)
}

// UploadPartCopy implements backend.Backend.
func (g guarded) UploadPartCopy(ctx context.Context, in *s3.UploadPartCopyInput) (s3response.CopyPartResult, error) {
	if err := cmp.Or(checkUploadID(in.UploadId), checkCopySource(in.CopySource)); err != nil {
		return s3response.CopyPartResult{}, err
	}
	return g.Backend.UploadPartCopy(ctx, in)
}

// CompleteMultipartUpload implements backend.Backend.
func (g guarded) CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput) (s3response.CompleteMultipartUploadResult, string, error) {
	if err := checkUploadID(in.UploadId); err != nil {
		return s3response.CompleteMultipartUploadResult{}, "", err
	}
	out, version, err := g.Backend.CompleteMultipartUpload(ctx, in)
	return out, version, plain(err)
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

// plain unwraps an error of S3. The endpoint does not unwrap errors, and would answer
// InternalError, after which clients try again.
func plain(err error) error {
	var known s3err.S3Error
	if errors.As(err, &known) {
		return known
	}
	return err
}

// whole returns a body that fails if it ends before its length: the endpoint would take
// the body of a client that broke off for a whole one.
func whole(body io.Reader, length *int64) io.Reader {
	if body == nil || length == nil {
		return body
	}
	checked := &wholeBody{body, *length}
	if sums, ok := body.(middlewares.ChecksumReader); ok { // the storage asks for this interface
		return struct {
			io.Reader
			checksums
		}{checked, sums}
	}
	return checked
}

// checksums is the checksum of a body that brings its own.
type checksums interface {
	Algorithm() string
	Checksum() string
}

type wholeBody struct {
	body io.Reader
	left int64
}

// errBrokenOff is not io.ErrUnexpectedEOF: the storage takes that for the end.
var errBrokenOff = s3err.GetAPIError(s3err.ErrIncompleteBody)

// Read implements io.Reader.
func (w *wholeBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.left -= int64(n)
	if (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && w.left > 0 {
		err = errBrokenOff
	}
	return n, err
}

// maxName is the longest name of a file, in bytes.
const maxName = 255

// checkUploadID refuses, as an upload that does not exist, an ID that leads out of the
// folder of an object's uploads, or cannot be a name in it.
func checkUploadID(id *string) error {
	name := aws.ToString(id)
	if name == "" || name == "." || name == ".." || filepath.Base(name) != name || len(name) > maxName || strings.ContainsRune(name, 0) {
		return s3err.GetNoSuchUploadErr(name)
	}
	return nil
}
