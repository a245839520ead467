package s3blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/pkg/blob"
)

// Open implements [blob.Bucket]. The context bounds the reading, too.
func (b *Bucket) Open(ctx context.Context, key, version string) (io.ReadCloser, blob.Object, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: &key, VersionId: optional(version)})
	if err != nil {
		return nil, blob.Object{}, failed("read", key, err)
	}
	return out.Body, blob.Object{
		Key:      key,
		Version:  aws.ToString(out.VersionId),
		Size:     aws.ToInt64(out.ContentLength),
		Modified: aws.ToTime(out.LastModified),
		Source:   out.Metadata[blob.SourceMetadata],
	}, nil
}

// Head implements [blob.Bucket].
func (b *Bucket) Head(ctx context.Context, key string) (blob.Object, error) {
	return b.HeadVersion(ctx, key, "")
}

// HeadVersion describes an object version, or the current one if version is empty.
//
// Errors: [registry.ErrNotFound].
func (b *Bucket) HeadVersion(ctx context.Context, key, version string) (blob.Object, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{
		Bucket: &b.name, Key: &key, VersionId: optional(version), ChecksumMode: types.ChecksumModeEnabled,
	})
	if err != nil {
		return blob.Object{}, failed("look at", key, err)
	}
	return blob.Object{
		Key:      key,
		Version:  aws.ToString(out.VersionId),
		Size:     aws.ToInt64(out.ContentLength),
		Modified: aws.ToTime(out.LastModified),
		Source:   out.Metadata[blob.SourceMetadata],
		SHA256:   wholeSHA256(out.ChecksumSHA256, out.ChecksumType),
	}, nil
}

// wholeSHA256 is a checksum of S3 in hex. It is empty if it is not a checksum of all bytes:
// for an upload in parts, S3 may have a checksum of their checksums.
func wholeSHA256(checksum *string, kind types.ChecksumType) string {
	sum, err := base64.StdEncoding.DecodeString(aws.ToString(checksum))
	if err != nil || len(sum) != sha256.Size || kind == types.ChecksumTypeComposite {
		return ""
	}
	return hex.EncodeToString(sum)
}

// Create implements [blob.Bucket]. When an answer is lost, the creation is sent again and
// finds its own object: so [blob.ErrExists] does not mean that somebody else wrote it.
func (b *Bucket) Create(ctx context.Context, key string, body []byte) error {
	in := b.put(key, bytes.NewReader(body), int64(len(body)))
	in.IfNoneMatch = aws.String("*")
	_, err := b.client.PutObject(ctx, in)
	if alreadyExists(err) {
		return fmt.Errorf("create %q in the bucket: %w", key, blob.ErrExists)
	}
	if err != nil {
		return failed("create", key, err)
	}
	return nil
}

// Put implements [blob.Bucket]. The body is read twice, first for its
// SHA-256; S3 takes up to 5 GiB at once.
func (b *Bucket) Put(ctx context.Context, key string, body io.ReadSeeker, size int64) error {
	_, err := b.client.PutObject(ctx, b.put(key, body, size))
	switch {
	case isInTheWay(err):
		return fmt.Errorf("write %q in the bucket: %w", key, blob.ErrInTheWay)
	case err != nil:
		return failed("write", key, err)
	}
	return nil
}

// Remove removes an object version, or a delete marker, for good. It is not an error if
// there is no such version.
func (b *Bucket) Remove(ctx context.Context, key, version string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key, VersionId: &version})
	if err != nil && !isNotFound(err) && !isUnknownVersion(err) {
		return failed("remove", key, err)
	}
	return nil
}

// Stream is Put of a body that is read once, as it comes. The server can only check its
// size, and a failed request is not sent again. So it is for a server in the same process.
func (b *Bucket) Stream(ctx context.Context, key string, body io.Reader, size int64) error {
	_, err := b.client.PutObject(ctx, b.put(key, body, size), s3.WithAPIOptions(v4.SwapComputePayloadSHA256ForUnsignedPayloadMiddleware))
	if err != nil {
		return failed("write", key, err)
	}
	return nil
}

func (b *Bucket) put(key string, body io.Reader, size int64) *s3.PutObjectInput {
	return &s3.PutObjectInput{
		Bucket:        &b.name,
		Key:           &key,
		Body:          body,
		ContentLength: &size,
		ContentType:   aws.String(contentType(key)),
		CacheControl:  cacheControl(key),
	}
}

// Copy implements [blob.Bucket].
func (b *Bucket) Copy(ctx context.Context, from, version, to string) (string, error) {
	out, err := b.client.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket:            &b.name,
		Key:               &to,
		CopySource:        aws.String(copySource(b.name, from, version)),
		ContentType:       aws.String(contentType(to)),
		CacheControl:      cacheControl(to),
		MetadataDirective: types.MetadataDirectiveReplace,
		TaggingDirective:  types.TaggingDirectiveReplace, // the default copies the user's tags
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		return "", failed("copy to "+to+" from", from, err)
	}
	if out.CopyObjectResult == nil {
		return "", nil
	}
	return wholeSHA256(out.CopyObjectResult.ChecksumSHA256, out.CopyObjectResult.ChecksumType), nil
}

// copySource is the header that names what to copy. It has no bare plus, which
// is a space to some servers and a plus to others.
func copySource(bucket, key, version string) string {
	escaped := strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(key))
	return bucket + "/" + escaped + "?versionId=" + url.QueryEscape(version)
}

// Tag implements [blob.Bucket]. S3 replaces all tags at once: tags that somebody else sets
// at the same moment can be lost.
func (b *Bucket) Tag(ctx context.Context, key, version string, tags map[string]string) error {
	current, err := b.client.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{
		Bucket: &b.name, Key: &key, VersionId: optional(version),
	})
	if err != nil {
		return failed("read the tags of", key, err)
	}
	merged := mergeTags(current.TagSet, tags)
	if len(merged) > maxTags {
		return fmt.Errorf("tag %q in the bucket: %w", key, blob.ErrTagsFull)
	}
	_, err = b.client.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{
		Bucket: &b.name, Key: &key, VersionId: optional(version), Tagging: &types.Tagging{TagSet: merged},
	})
	switch {
	case isTagsTooLarge(err):
		return fmt.Errorf("tag %q in the bucket: %w", key, blob.ErrTagsFull)
	case err != nil:
		return failed("tag", key, err)
	}
	return nil
}

// optional is a parameter that is not sent if it is empty.
func optional(value string) *string {
	if value == "" {
		return nil
	}
	return &value
}
