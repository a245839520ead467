package locals3

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// writerMetadata is the name of the user-defined metadata that says who wrote an upload. No
// client can set it. The writer of a multipart upload is the client that began it.
const writerMetadata = "larder-by"

// WrittenBy returns who wrote an object version outside of the registry's part. It is empty
// if that is not known: if an earlier version of the node took it, or it was deleted.
func (s *Server) WrittenBy(ctx context.Context, key, version string) (string, error) {
	out, err := s.Client(s.Node).HeadObject(ctx, &s3.HeadObjectInput{Bucket: aws.String(Bucket), Key: &key, VersionId: &version})
	var answer *awshttp.ResponseError
	switch {
	case errors.As(err, &answer) && answer.HTTPStatusCode() == http.StatusNotFound:
		return "", nil
	case err != nil:
		return "", err
	}
	return out.Metadata[writerMetadata], nil
}

// signed returns the metadata of an upload with its writer, whatever a client says about
// the writer. Only the node may name another one, when it restores a backup. Objects in the
// registry's part have no writer.
func (g guarded) signed(ctx context.Context, bucket, key string, metadata map[string]string) (map[string]string, error) {
	name, err := g.writer(ctx)
	if err != nil {
		return nil, err
	}
	if named := metadata[writerMetadata]; named != "" && caller(ctx).Access == nodeKeyID {
		name = named
	}
	metadata = maps.Clone(metadata)
	delete(metadata, writerMetadata) // the endpoint has names in lower case
	if isRegistrys(g, bucket, key) {
		return metadata, nil
	}
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[writerMetadata] = name
	return metadata, nil
}

// writer returns the name of the holder of the key that signed a request. A key that has
// ended since the request began writes nothing.
func (g guarded) writer(ctx context.Context) (string, error) {
	if caller(ctx).Access == nodeKeyID {
		return access.RegistryName, nil
	}
	h, ok := g.caller(ctx)
	if !ok || h.name == "" {
		return "", s3err.GetAPIError(s3err.ErrAccessDenied)
	}
	return h.name, nil
}

// signedCopy returns a copy with its writer in the metadata. If a client copies the metadata
// of the source, that would name the writer of the source.
func (g guarded) signedCopy(ctx context.Context, in s3response.CopyObjectInput) (_ s3response.CopyObjectInput, err error) {
	if in.MetadataDirective != types.MetadataDirectiveReplace {
		bucket, key, version, err := backend.ParseCopySource(aws.ToString(in.CopySource))
		if err != nil {
			return in, err
		}
		source, err := g.Backend.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
		itself := bucket == *in.Bucket && g.NormalizeObjectKey(bucket, key) == g.NormalizeObjectKey(bucket, *in.Key)
		if itself && err == nil && cmp.Or(version, aws.ToString(source.VersionId)) == aws.ToString(source.VersionId) {
			return in, nil // the storage refuses it
		}
		if version != "" {
			source, err = g.Backend.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key, VersionId: &version})
		}
		if err != nil {
			return in, err
		}
		in = likeSource(in, source)
	}
	in.Metadata, err = g.signed(ctx, *in.Bucket, *in.Key, in.Metadata)
	return in, err
}

// likeSource returns a copy with the metadata and headers of its source.
func likeSource(in s3response.CopyObjectInput, source *s3.HeadObjectOutput) s3response.CopyObjectInput {
	in.MetadataDirective = types.MetadataDirectiveReplace
	in.Metadata = source.Metadata
	in.ContentType, in.ContentEncoding, in.ContentDisposition = source.ContentType, source.ContentEncoding, source.ContentDisposition
	in.ContentLanguage, in.CacheControl, in.Expires = source.ContentLanguage, source.CacheControl, source.ExpiresString
	return in
}
