// Package bucket opens the bucket of a deployment.
package bucket

import (
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/blob/s3blob"
)

// Open opens the bucket. It sends no request.
func Open(v variables.Values) (*s3blob.Bucket, error) {
	return s3blob.New(s3blob.Config{
		Bucket: v.Bucket, Region: v.Region, Credentials: v.Credentials,
		Endpoint: v.S3Endpoint, PathStyle: v.S3Endpoint != "",
	})
}
