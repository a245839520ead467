package locals3

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/versity/versitygw/backend/posix"
)

// protectedFolders are where the operator may not write: the registry's part
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
	Condition map[string]map[string][]string `json:",omitempty"`
}

const (
	allow = "Allow"
	deny  = "Deny"

	bucketARN = "arn:aws:s3:::" + Bucket
)

// What the operator may do: read and list everything (which is also how a
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

// operatorPolicy returns the bucket's policy as it is for the operator. The
// endpoint compares keys as the file system sees them, so no spelling like
// a/../registry/x gets around it.
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

// uploadFolders are the folders of the inbox in which a namespace has one.
var uploadFolders = []string{"keys", "modules", "providers"}

// uploaderPolicy returns the bucket's policy as it is for who may upload to some
// namespaces: what UploaderPolicy of template.yaml allows on AWS, and no more.
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

// downloadPolicy returns the bucket's policy as it is for a key that has signed URLs
// to download from, and is good for nothing else.
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

// nothingAllowed is the bucket's policy as it is for all others.
const nothingAllowed = `{"Version": "2012-10-17", "Statement": []}`

// GetBucketPolicy implements backend.Backend: the bucket's policy is made of the keys
// that there are, and of those alone that the request is signed with. So it does
// not grow with them, and a key that is gone has none.
func (g guarded) GetBucketPolicy(ctx context.Context, bucket string) ([]byte, error) {
	if h, ok := g.caller(ctx); ok && bucket == Bucket && h.policy != nil {
		return h.policy, nil
	}
	return []byte(nothingAllowed), nil
}
