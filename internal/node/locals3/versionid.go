package locals3

import (
	"context"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/versity/versitygw/backend"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// versionID is the form of the storage's version IDs; null is a version from before there
// were any. The storage makes a path of the ID, and checks only its length.
var versionID = regexp.MustCompile(`^([0-7][0-9A-HJKMNP-TV-Z]{25}|null)$`)

// checkVersionID refuses a malformed version ID. Nil and "" are the current version.
func checkVersionID(id *string) error {
	if name := aws.ToString(id); name != "" && !versionID.MatchString(name) {
		return s3err.GetInvalidArgumentErr(s3err.InvalidArgVersionId, name)
	}
	return nil
}

// checkCopySource refuses a source of a copy with a malformed version ID.
func checkCopySource(source *string) error {
	_, _, version, err := backend.ParseCopySource(aws.ToString(source))
	if err != nil {
		return err
	}
	return checkVersionID(&version)
}

// HeadObject implements backend.Backend.
func (g guarded) HeadObject(ctx context.Context, in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	if err := checkVersionID(in.VersionId); err != nil {
		return nil, err
	}
	return g.Backend.HeadObject(ctx, in)
}

// GetObjectAttributes implements backend.Backend.
func (g guarded) GetObjectAttributes(ctx context.Context, in *s3.GetObjectAttributesInput) (s3response.GetObjectAttributesResponse, error) {
	if err := checkVersionID(in.VersionId); err != nil {
		return s3response.GetObjectAttributesResponse{}, err
	}
	return g.Backend.GetObjectAttributes(ctx, in)
}

// GetObjectAcl implements backend.Backend.
func (g guarded) GetObjectAcl(ctx context.Context, in *s3.GetObjectAclInput) (*s3.GetObjectAclOutput, error) {
	if err := checkVersionID(in.VersionId); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectAcl(ctx, in)
}

// GetObjectTagging implements backend.Backend.
func (g guarded) GetObjectTagging(ctx context.Context, bucket, object, version string) (map[string]string, error) {
	if err := checkVersionID(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectTagging(ctx, bucket, object, version)
}

// PutObjectRetention implements backend.Backend.
func (g guarded) PutObjectRetention(ctx context.Context, bucket, object, version string, retention []byte) error {
	if err := checkVersionID(&version); err != nil {
		return err
	}
	return g.Backend.PutObjectRetention(ctx, bucket, object, version, retention)
}

// GetObjectRetention implements backend.Backend.
func (g guarded) GetObjectRetention(ctx context.Context, bucket, object, version string) ([]byte, error) {
	if err := checkVersionID(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectRetention(ctx, bucket, object, version)
}

// PutObjectLegalHold implements backend.Backend.
func (g guarded) PutObjectLegalHold(ctx context.Context, bucket, object, version string, status bool) error {
	if err := checkVersionID(&version); err != nil {
		return err
	}
	return g.Backend.PutObjectLegalHold(ctx, bucket, object, version, status)
}

// GetObjectLegalHold implements backend.Backend.
func (g guarded) GetObjectLegalHold(ctx context.Context, bucket, object, version string) (*bool, error) {
	if err := checkVersionID(&version); err != nil {
		return nil, err
	}
	return g.Backend.GetObjectLegalHold(ctx, bucket, object, version)
}
