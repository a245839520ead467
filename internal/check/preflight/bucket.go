package preflight

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/awserror"
)

type bucketAPI interface {
	HeadBucket(context.Context, *s3.HeadBucketInput, ...func(*s3.Options)) (*s3.HeadBucketOutput, error)
}

// bucket checks whether the name is free. All of AWS shares bucket names.
func (c check) bucket(ctx context.Context, api bucketAPI, who caller) {
	const name = "s3.bucket"
	out, err := api.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &c.BucketName, ExpectedBucketOwner: &who.account})
	status, region := awserror.Status(err), errorHeader(err, "X-Amz-Bucket-Region")
	if err == nil {
		status, region = http.StatusOK, aws.ToString(out.BucketRegion)
	}
	switch {
	case status == http.StatusNotFound:
		c.OK(name, "the name %s is free", c.BucketName)
	case status == http.StatusForbidden:
		c.Fail(name, "choose another name; if the bucket is yours, allow s3:ListBucket on it",
			"another account has %s, or these credentials may not look at it", c.BucketName)
	case status != http.StatusOK && status != http.StatusMovedPermanently && status != http.StatusBadRequest:
		c.unchecked(name, "s3:ListBucket", err)
	case region != "" && region != c.region:
		c.Fail(name, "deploy to "+region+", or choose another name", "%s is in %s, not in %s", c.BucketName, region, c.region)
	case status != http.StatusOK:
		c.unchecked(name, "s3:ListBucket", err)
	default:
		c.Warn(name, "to update that deployment, do nothing; if a deployment was deleted, adopt what it left first (adopt.yaml); else choose another name",
			"%s exists already, and is yours", c.BucketName)
	}
}
