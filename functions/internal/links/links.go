// Package links makes the URLs with which clients read objects of a deployment's bucket.
package links

import (
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/blob/s3presign"
)

// New makes the presigner of the bucket. It sends no request.
func New(v variables.Values) (*s3presign.Presigner, error) {
	return s3presign.New(s3presign.Config{
		Bucket: v.Bucket, Region: v.Region, Credentials: v.Credentials,
		Endpoint: v.S3Endpoint, PathStyle: v.S3Endpoint != "", Lifetime: v.URLLifetime,
	})
}
