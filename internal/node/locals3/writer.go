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
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"

	"github.com/larder-registry/larder/pkg/access"
)

// writerMetadata is the name of the user-defined metadata that says who wrote an
// upload. No client can set it. Of what comes in parts, it is who began it.
const writerMetadata = "larder-by"

// WrittenBy is who wrote an object version outside of the registry's part. It is
// empty where that is not known: of what an earlier version of the node took, and
// of what is not there any more.
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

// signed is the metadata of an upload with who makes it, whatever a client says of
// that: the node alone, which restores what others have made, may say it. What the
// registry keeps for itself has no need of it.
func (g guarded) signed(ctx context.Context, bucket, key string, metadata map[string]string) (map[string]string, error) {
	name, err := g.writer(ctx)
	if err != nil {
		return nil, err
	}
	if said := metadata[writerMetadata]; said != "" && caller(ctx).Access == nodeKeyID {
		name = said
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

// writer is who makes a request. A key that was good when the request began, and is
// not any more, writes nothing.
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

// signedCopy is a copy with who makes it. A client who asks for the metadata of the
// source would have that name its writer.
func (g guarded) signedCopy(ctx context.Context, in s3response.CopyObjectInput) (_ s3response.CopyObjectInput, err error) {
	if in.MetadataDirective != types.MetadataDirectiveReplace {
		bucket, key, version, err := backend.ParseCopySource(aws.ToString(in.CopySource))
		if err != nil {
			return in, err
		}
		source, err := g.Backend.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
		itself := bucket == *in.Bucket && g.NormalizeObjectKey(bucket, key) == g.NormalizeObjectKey(bucket, *in.Key)
		if itself && err == nil && cmp.Or(version, aws.ToString(source.VersionId)) == aws.ToString(source.VersionId) {
			return in, nil // which the storage refuses
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

// likeSource is a copy that says of itself what its source does.
func likeSource(in s3response.CopyObjectInput, source *s3.HeadObjectOutput) s3response.CopyObjectInput {
	in.MetadataDirective = types.MetadataDirectiveReplace
	in.Metadata = source.Metadata
	in.ContentType, in.ContentEncoding, in.ContentDisposition = source.ContentType, source.ContentEncoding, source.ContentDisposition
	in.ContentLanguage, in.CacheControl, in.Expires = source.ContentLanguage, source.CacheControl, source.ExpiresString
	return in
}
