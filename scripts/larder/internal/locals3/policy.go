package locals3

import (
	"encoding/json"
	"fmt"

	"github.com/versity/versitygw/backend/posix"
)

// protectedFolders are where the uploader may not write: the registry's part
// of the bucket, where the endpoint keeps uploads that are under way, and what
// is outside of the bucket, where a key like ../x of a deletion of many
// objects would lead.
var protectedFolders = []string{RegistryFolder, posix.MetaTmpDir, ".."}

// statement is one of an S3 bucket policy.
type statement struct {
	Effect    string
	Principal map[string]string
	Action    []string
	Resource  []string
}

// What the uploader may do: read and list everything (which is also how a
// bucket is copied to AWS), and write outside of the registry's part. Nothing
// is granted on the bucket itself: neither its deletion, nor its policy, nor
// its versioning.
var (
	listActions = []string{
		"s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads",
		"s3:GetBucketLocation", "s3:GetBucketVersioning",
	}
	readActions = []string{
		"s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectAttributes", "s3:GetObjectVersionAttributes",
		"s3:GetObjectTagging", "s3:GetObjectVersionTagging", "s3:ListMultipartUploadParts",
	}
	writeActions = []string{
		"s3:PutObject", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:AbortMultipartUpload",
		"s3:PutObjectTagging", "s3:PutObjectVersionTagging",
		"s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging",
	}
)

// uploaderPolicy returns the bucket's policy, which gives the uploader its
// rights. The endpoint compares keys as the file system sees them, so no
// spelling like a/../registry/x gets around it.
func uploaderPolicy(accessKeyID string) (string, error) {
	const bucket = "arn:aws:s3:::" + Bucket
	uploader := map[string]string{"AWS": accessKeyID}
	var protected []string
	for _, folder := range protectedFolders {
		protected = append(protected, bucket+"/"+folder, bucket+"/"+folder+"/*")
	}
	policy, err := json.Marshal(map[string]any{
		"Version": "2012-10-17",
		"Statement": []statement{
			{"Allow", uploader, listActions, []string{bucket}},
			{"Allow", uploader, readActions, []string{bucket + "/*"}},
			{"Allow", uploader, writeActions, []string{bucket + "/*"}},
			{"Deny", uploader, writeActions, protected},
		},
	})
	if err != nil {
		return "", fmt.Errorf("write the bucket's policy: %w", err)
	}
	return string(policy), nil
}
