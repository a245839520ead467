package locals3

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/versity/versitygw/backend/posix"
)

// protectedFolders are the folders that the operator may not write: the registry's part of
// the bucket, the folder of unfinished uploads, and the folder around the bucket, to which
// a key like ../x would lead when many objects are deleted.
var protectedFolders = []string{RegistryFolder, posix.MetaTmpDir, ".."}

// statement is one of an S3 bucket policy.
type statement struct {
	Effect    string
	Principal map[string]string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

const (
	allow = "Allow"
	deny  = "Deny"

	bucketARN = "arn:aws:s3:::" + Bucket
)

// The rights of the operator: read and list everything (also to copy a bucket to AWS), and
// write outside of the registry's part. The operator has no rights on the bucket itself:
// not to delete it, and not to change its policy or versioning.
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

// operatorPolicy returns the bucket's policy for the operator. The endpoint compares keys
// as the file system reads them, so spellings like a/../registry/x do not get around it.
func operatorPolicy(accessKeyID string) ([]byte, error) {
	who := principal(accessKeyID)
	var protected []string
	for _, folder := range protectedFolders {
		protected = append(protected, bucketARN+"/"+folder, bucketARN+"/"+folder+"/*")
	}
	return policy(
		statement{allow, who, listActions, []string{bucketARN}, nil},
		statement{allow, who, readActions, []string{bucketARN + "/*"}, nil},
		statement{allow, who, writeActions, []string{bucketARN + "/*"}, nil},
		statement{deny, who, writeActions, protected, nil},
	)
}

// uploadFolders are the folders of the inbox that have a folder for each namespace.
var uploadFolders = []string{"keys", "modules", "providers"}

// uploaderPolicy returns the bucket's policy for an uploader to some namespaces: exactly
// the rights of UploaderPolicy in template.yaml.
func uploaderPolicy(accessKeyID string, namespaces []string) ([]byte, error) {
	who := principal(accessKeyID)
	var prefixes, uploads, outcomes []string
	for _, namespace := range namespaces {
		for _, folder := range uploadFolders {
			prefix := folder + "/" + namespace + "/*"
			prefixes = append(prefixes, prefix)
			uploads = append(uploads, bucketARN+"/"+prefix)
			outcomes = append(outcomes, bucketARN+"/"+RegistryFolder+"/outcomes/"+prefix)
		}
	}
	return policy(
		statement{allow, who, []string{"s3:PutObject", "s3:AbortMultipartUpload"}, uploads, nil},
		statement{allow, who, []string{"s3:GetObjectTagging", "s3:GetObjectVersionTagging"}, uploads, nil},
		statement{allow, who, []string{"s3:GetObject"}, outcomes, nil},
		statement{allow, who, []string{"s3:ListBucket"}, []string{bucketARN}, map[string]map[string][]string{"StringLike": {"s3:prefix": prefixes}}},
	)
}

// downloadPolicy returns the bucket's policy for a key that may only download, by the URLs
// that it has signed.
func downloadPolicy(accessKeyID string) ([]byte, error) {
	return policy(statement{allow, principal(accessKeyID), []string{"s3:GetObject", "s3:GetObjectVersion"}, []string{bucketARN + "/" + RegistryFolder + "/*"}, nil})
}

func principal(accessKeyID string) map[string]string { return map[string]string{"AWS": accessKeyID} }

func policy(statements ...statement) ([]byte, error) {
	data, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		return nil, fmt.Errorf("write the bucket's policy: %w", err)
	}
	return data, nil
}

// nothingAllowed is the bucket's policy for all others.
const nothingAllowed = `{"Version": "2012-10-17", "Statement": []}`

// GetBucketPolicy implements backend.Backend. The bucket's policy is that of the key that
// signed the request. So it does not grow with the number of keys, and a key that has ended
// has no rights.
func (g guarded) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	if h, ok := g.caller(ctx); ok && bucket == Bucket && h.policy != nil {
		return h.policy, nil
	}
	return []byte(nothingAllowed), nil
}
