package templatetest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/templatetest"
)

const (
	bucketARN = "arn:aws:s3:::acme-registry"
	tableARN  = "arn:aws:dynamodb:eu-central-1:111122223333:table/acme-registry"
	keyARN    = "arn:aws:kms:eu-central-1:111122223333:key/00000000-0000-0000-0000-000000000000"
	queueARN  = "arn:aws:sqs:eu-central-1:111122223333:acme-registry-uploads"
	fetchARN  = "arn:aws:sqs:eu-central-1:111122223333:acme-registry-fetch.fifo"
	topicARN  = "arn:aws:sns:eu-central-1:111122223333:acme-registry-outcomes"
)

// TestRights holds what each function may do, and what it may not.
func TestRights(t *testing.T) {
	sam, terraform := load(t, deployments[pulling])
	scan := func(attribute string) map[string]string {
		return map[string]string{"dynamodb:Select": "SPECIFIC_ATTRIBUTES", "dynamodb:Attributes": attribute}
	}
	update := func(partition, attribute string) map[string]string {
		return map[string]string{"dynamodb:LeadingKeys": partition, "dynamodb:Attributes": attribute}
	}
	created := map[string]string{"s3:if-none-match": "*"}
	item := func(partition string) map[string]string { return map[string]string{"dynamodb:LeadingKeys": partition} }
	for _, c := range []struct {
		function, action, resource string
		context                    map[string]string
		want                       bool
	}{
		{"discovery", "dynamodb:Query", tableARN, item("P#acme/widget"), false},
		{"discovery", "s3:GetObject", bucketARN + "/registry/providers/x", nil, false},

		{"versions", "dynamodb:Query", tableARN, item("P#acme/widget"), true},
		{"versions", "dynamodb:Query", tableARN, item("M#acme/vpc/aws"), true},
		{"versions", "dynamodb:Query", tableARN, item("T#issuer"), false},
		{"versions", "dynamodb:Query", tableARN + "x", item("P#acme/widget"), false},
		{"versions", "dynamodb:Scan", tableARN, nil, false},
		{"versions", "dynamodb:PutItem", tableARN, item("P#acme/widget"), false},
		{"versions", "dynamodb:BatchGetItem", tableARN, item("M#acme/vpc/aws"), true},
		{"versions", "dynamodb:BatchGetItem", tableARN, item("A"), true},
		{"versions", "dynamodb:BatchGetItem", tableARN, item("T"), false},
		{"versions", "dynamodb:BatchGetItem", tableARN, item("C#code"), false},
		{"versions", "dynamodb:Query", tableARN, item("A"), false}, // nobody who reads lists tokens
		{"versions", "dynamodb:UpdateItem", tableARN, update("A", "used"), true},
		{"versions", "dynamodb:UpdateItem", tableARN, update("A", "scopes"), false},
		{"versions", "dynamodb:UpdateItem", tableARN, update("A", "data"), false},
		{"versions", "dynamodb:UpdateItem", tableARN, update("T", "used"), false},
		{"versions", "dynamodb:UpdateItem", tableARN, update("P#acme/widget", "used"), false},
		{"versions", "dynamodb:PutItem", tableARN, item("A"), false},
		{"versions", "dynamodb:DeleteItem", tableARN, item("A"), false},
		{"versions", "s3:GetObject", bucketARN + "/registry/providers/x", nil, false},

		{"download", "dynamodb:GetItem", tableARN, item("P#acme/widget"), true},
		{"download", "dynamodb:GetItem", tableARN, item("C#code"), false},
		{"download", "dynamodb:BatchGetItem", tableARN, item("A"), true},
		{"download", "dynamodb:BatchGetItem", tableARN, item("P#acme/widget"), true},
		{"download", "dynamodb:BatchGetItem", tableARN, item("C#code"), false},
		{"download", "dynamodb:Query", tableARN, item("A"), false},
		{"download", "dynamodb:UpdateItem", tableARN, update("A", "used"), true},
		{"download", "dynamodb:UpdateItem", tableARN, update("A", "scopes"), false},
		{"download", "dynamodb:PutItem", tableARN, item("A"), false},
		{"download", "s3:GetObject", bucketARN + "/registry/providers/acme/widget/1.0.0/x/y.zip", nil, true},
		{"download", "s3:GetObject", bucketARN + "/registry/modules/acme/vpc/aws/1.0.0/x.zip", nil, true},
		{"download", "s3:GetObject", bucketARN + "/registry/records/providers/acme/widget/1.0.0/00000001.json", nil, false},
		{"download", "s3:GetObject", bucketARN + "/providers/acme/widget/x.zip", nil, false},
		{"download", "s3:GetObject", bucketARN + "/registry/modules/x", map[string]string{"aws:SecureTransport": "false"}, false},
		{"download", "s3:GetObject", bucketARN + "/registry/modules/x", map[string]string{"s3:TlsVersion": "1.1"}, false},
		{"download", "s3:PutObject", bucketARN + "/registry/modules/x", nil, false},
		{"download", "kms:Sign", keyARN, nil, false},

		{"catalog", "dynamodb:GetItem", tableARN, item("P#acme/widget"), true},
		{"catalog", "dynamodb:GetItem", tableARN, item("D#HEAD"), true},
		{"catalog", "dynamodb:GetItem", tableARN, item("A"), false},
		{"catalog", "dynamodb:GetItem", tableARN, item("C#code"), false},
		{"catalog", "dynamodb:GetItem", tableARN, item("R#registry.terraform.io/hashicorp/time"), false},
		{"catalog", "dynamodb:Query", tableARN, item("M#acme/vpc/aws"), true},
		{"catalog", "dynamodb:Query", tableARN, item("A"), false},
		{"catalog", "dynamodb:BatchGetItem", tableARN, item("A"), true},
		{"catalog", "dynamodb:BatchGetItem", tableARN, item("D#255"), true},
		{"catalog", "dynamodb:BatchGetItem", tableARN, item("T"), false},
		{"catalog", "dynamodb:UpdateItem", tableARN, update("A", "used"), true},
		{"catalog", "dynamodb:UpdateItem", tableARN, update("A", "scopes"), false},
		{"catalog", "dynamodb:UpdateItem", tableARN, update("D#HEAD", "s0"), false},
		{"catalog", "dynamodb:PutItem", tableARN, item("D#0"), false},
		{"catalog", "dynamodb:Scan", tableARN, nil, false},
		{"catalog", "s3:GetObject", bucketARN + "/registry/contents/1/x.json", nil, true},
		{"catalog", "s3:GetObject", bucketARN + "/registry/contents/1/x.json", map[string]string{"aws:SecureTransport": "false"}, false},
		{"catalog", "s3:GetObject", bucketARN + "/registry/modules/acme/vpc/aws/1.0.0/x.zip", nil, false},
		{"catalog", "s3:GetObject", bucketARN + "/registry/records/modules/acme/vpc/aws/1.0.0/00000001.json", nil, false},
		{"catalog", "s3:GetObject", bucketARN + "/modules/acme/vpc/aws/1.0.0.zip", nil, false},
		{"catalog", "s3:PutObject", bucketARN + "/registry/contents/1/x.json", nil, false},
		{"catalog", "s3:ListBucket", bucketARN, nil, false},
		{"catalog", "kms:Sign", keyARN, nil, false},

		{"publish", "dynamodb:PutItem", tableARN, item("P#acme/widget"), true},
		{"publish", "dynamodb:PutItem", tableARN, item("A#token"), false},
		{"publish", "dynamodb:DeleteItem", tableARN, item("P#acme/widget"), true},
		{"publish", "dynamodb:DeleteItem", tableARN, item("A#token"), false},
		{"publish", "dynamodb:UpdateItem", tableARN, item("P#acme/widget"), false},
		{"publish", "dynamodb:UpdateItem", tableARN, item("D#HEAD"), true},
		{"publish", "dynamodb:PutItem", tableARN, item("D#1"), true},
		{"publish", "dynamodb:GetItem", tableARN, item("D#HEAD"), true},
		{"publish", "dynamodb:BatchGetItem", tableARN, item("D#1"), true},
		{"publish", "dynamodb:BatchGetItem", tableARN, item("P#acme/widget"), false},
		{"publish", "dynamodb:DeleteItem", tableARN, item("D#1"), false},
		{"publish", "s3:PutObject", bucketARN + "/registry/contents/1/x.json", nil, true}, // which may be read again
		{"versions", "dynamodb:GetItem", tableARN, item("D#HEAD"), false},
		{"publish", "dynamodb:GetItem", tableARN, item("A"), false}, // tokens are none of its business
		{"publish", "dynamodb:Query", tableARN, item("A"), false},
		{"publish", "dynamodb:PutItem", tableARN, item("A"), false},
		{"publish", "dynamodb:DeleteItem", tableARN, item("A"), false},
		{"publish", "dynamodb:PutItem", tableARN, item("T"), false},
		{"publish", "dynamodb:UpdateItem", tableARN, update("A", "used"), false},
		{"publish", "dynamodb:Scan", tableARN, scan("revision"), true},
		{"publish", "dynamodb:Scan", tableARN, scan("data"), false},
		{"publish", "dynamodb:Scan", tableARN, nil, false},
		{"publish", "kms:Sign", keyARN, nil, true},
		{"publish", "kms:GetPublicKey", keyARN, nil, true},
		{"publish", "kms:DescribeKey", keyARN, nil, true},
		{"publish", "kms:PutKeyPolicy", keyARN, nil, false},
		{"publish", "kms:Sign", keyARN + "0", nil, false},
		{"publish", "s3:GetObjectVersion", bucketARN + "/modules/acme/vpc/aws/1.0.0.zip", nil, true},
		{"publish", "s3:GetObjectVersion", bucketARN + "/mirror/x", nil, true},
		{"publish", "s3:GetObject", bucketARN + "/mirror/x", nil, true},
		{"publish", "s3:GetObject", bucketARN + "/providers/acme/widget/x_SHA256SUMS", nil, true},
		{"publish", "s3:GetObject", bucketARN + "/modules/acme/vpc/aws/1.0.0.zip", nil, false},
		{"publish", "s3:PutObjectVersionTagging", bucketARN + "/mirror/x", nil, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/providers/x", nil, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/providers/x", map[string]string{"s3:x-amz-server-side-encryption": "AES256"}, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/providers/x", map[string]string{"s3:x-amz-server-side-encryption": "aws:kms"}, false},
		{"publish", "s3:PutObject", bucketARN + "/registry/providers/x", map[string]string{"s3:x-amz-server-side-encryption-customer-algorithm": "AES256"}, false},
		{"publish", "s3:PutObject", bucketARN + "/registry/outcomes/modules/x.json", nil, true}, // which is replaced
		{"publish", "s3:PutObject", bucketARN + "/registry/outcomes-by-sha256/x.json", nil, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/records/modules/x/00000001.json", created, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/records/modules/x/00000001.json", nil, false},
		{"publish", "s3:PutObject", bucketARN + "/registry/keys/authors/x.asc", created, true},
		{"publish", "s3:PutObject", bucketARN + "/registry/keys/authors/x.asc", nil, false},
		{"publish", "s3:PutObject", bucketARN + "/registry/keys/untrusted/x/revoked.asc", nil, false},
		{"publish", "s3:PutObject", bucketARN + "/modules/x", nil, false},
		{"publish", "s3:DeleteObject", bucketARN + "/registry/records/x", nil, false},
		{"publish", "s3:DeleteObject", bucketARN + "/modules/x", nil, false},
		{"publish", "s3:ListBucket", bucketARN, nil, true},
		{"publish", "s3:ListBucketVersions", bucketARN, nil, true},
		{"publish", "sqs:SendMessage", queueARN, nil, true},
		{"publish", "sqs:ReceiveMessage", queueARN, nil, true},
		{"publish", "sqs:ChangeMessageVisibility", queueARN, nil, true},
		{"publish", "sqs:ChangeMessageVisibility", fetchARN, nil, false},
		{"publish", "sqs:PurgeQueue", queueARN, nil, false},
		{"publish", "sns:Publish", topicARN, nil, true},
		{"publish", "sns:Publish", topicARN, map[string]string{"aws:SecureTransport": "false"}, false},
		{"publish", "sns:Publish", topicARN + "2", nil, false},
		{"publish", "sns:Subscribe", topicARN, nil, false},
		{"versions", "sns:Publish", topicARN, nil, false},

		{"fetch", "dynamodb:GetItem", tableARN, item("R#registry.terraform.io/hashicorp/time"), true},
		{"fetch", "dynamodb:Query", tableARN, item("R#registry.terraform.io/hashicorp/time"), true},
		{"fetch", "dynamodb:Query", tableARN, item("P#acme/widget"), true},
		{"fetch", "dynamodb:Query", tableARN, item("M#acme/vpc/aws"), false},
		{"fetch", "dynamodb:GetItem", tableARN, item("A#token"), false},
		{"fetch", "dynamodb:BatchGetItem", tableARN, item("A"), true},
		{"fetch", "dynamodb:BatchGetItem", tableARN, item("R#registry.terraform.io/hashicorp/time"), true},
		{"fetch", "dynamodb:BatchGetItem", tableARN, item("M#acme/vpc/aws"), false},
		{"fetch", "dynamodb:UpdateItem", tableARN, update("A", "used"), true},
		{"fetch", "dynamodb:UpdateItem", tableARN, update("A", "scopes"), false},
		{"fetch", "dynamodb:PutItem", tableARN, item("A"), false},
		{"fetch", "dynamodb:PutItem", tableARN, item("R#registry.terraform.io/hashicorp/time"), false},
		{"fetch", "s3:GetObject", bucketARN + "/registry/mirror/registry.terraform.io/hashicorp/time/x.zip", nil, true},
		{"fetch", "s3:GetObject", bucketARN + "/registry/providers/acme/widget/x.zip", nil, true},
		{"fetch", "s3:GetObject", bucketARN + "/registry/modules/acme/vpc/aws/x.zip", nil, false},
		{"fetch", "s3:GetObject", bucketARN + "/registry/records/mirror/x", nil, false},
		{"fetch", "s3:GetObject", bucketARN + "/mirror/registry.terraform.io/hashicorp/time/x.zip", nil, true},
		{"fetch", "s3:PutObject", bucketARN + "/mirror/registry.terraform.io/hashicorp/time/x.zip", nil, true},
		{"fetch", "s3:PutObject", bucketARN + "/mirror/x", map[string]string{"aws:SecureTransport": "false"}, false},
		{"fetch", "s3:PutObject", bucketARN + "/providers/acme/widget/x.zip", nil, false},
		{"fetch", "s3:PutObject", bucketARN + "/keys/acme/x.asc", nil, false},
		{"fetch", "s3:PutObject", bucketARN + "/registry/mirror/x", nil, false},
		{"fetch", "s3:DeleteObject", bucketARN + "/mirror/x", nil, false},
		{"fetch", "s3:PutObjectTagging", bucketARN + "/mirror/x", nil, false},
		{"fetch", "s3:ListBucket", bucketARN, nil, true},
		{"fetch", "s3:ListBucketVersions", bucketARN, nil, false},
		{"fetch", "sqs:SendMessage", fetchARN, nil, true},
		{"fetch", "sqs:SendMessage", fetchARN, map[string]string{"aws:SecureTransport": "false"}, false},
		{"fetch", "sqs:ReceiveMessage", fetchARN, nil, true},
		{"fetch", "sqs:DeleteMessage", fetchARN, nil, true},
		{"fetch", "sqs:ChangeMessageVisibility", fetchARN, nil, true},
		{"fetch", "sqs:PurgeQueue", fetchARN, nil, false},
		{"fetch", "sqs:SendMessage", queueARN, nil, false},
		{"fetch", "sns:Publish", topicARN, nil, false},
		{"fetch", "kms:Sign", keyARN, nil, false},

		{"login", "dynamodb:PutItem", tableARN, item("A"), true},
		{"login", "dynamodb:Query", tableARN, item("A"), true},
		{"login", "dynamodb:DeleteItem", tableARN, item("A"), true},
		{"login", "dynamodb:PutItem", tableARN, item("T"), true},
		{"login", "dynamodb:Query", tableARN, item("T"), true},
		{"login", "dynamodb:DeleteItem", tableARN, item("T"), true},
		{"login", "dynamodb:PutItem", tableARN, item("C#code"), true},
		{"login", "dynamodb:DeleteItem", tableARN, item("C#code"), true},
		{"login", "dynamodb:Query", tableARN, item("C#code"), false}, // a ticket is taken, or not seen
		{"login", "dynamodb:Query", tableARN, item("P#acme/widget"), false},
		{"login", "dynamodb:PutItem", tableARN, item("P#acme/widget"), false},
		{"login", "dynamodb:PutItem", tableARN, item("A#token"), false},
		{"login", "dynamodb:Scan", tableARN, nil, false},
		{"login", "s3:GetObject", bucketARN + "/registry/modules/x", nil, false},
		{"login", "ssm:GetParameter", "arn:aws:ssm:eu-central-1:111122223333:parameter/acme/login", nil, false}, // none is named
		{"login", "kms:Sign", keyARN, nil, false},
		{"publish", "sqs:SendMessage", fetchARN, nil, false},
		{"versions", "sqs:SendMessage", fetchARN, nil, false},
		{"download", "sqs:SendMessage", fetchARN, nil, false},
	} {
		for name, d := range map[string]*templatetest.Deployment{"template.yaml": sam, "infra/": terraform} {
			if got := d.Allows(c.function, c.action, c.resource, c.context); got != c.want {
				t.Errorf("%s: %s may %s on %s with %v: %t, want %t", name, c.function, c.action, c.resource, c.context, got, c.want)
			}
		}
	}
}

// TestResourcePolicies holds what the policies of bucket, key, queue and topic say to
// others than the functions.
func TestResourcePolicies(t *testing.T) {
	d, _ := load(t, deployments["the least"])
	moving, _ := load(t, deployments["everything"])
	as := func(role string) map[string]string {
		return map[string]string{"aws:PrincipalArn": "arn:aws:iam::111122223333:role/" + role, "aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
	}
	admin := templatetest.Policy{{Effect: "Allow", Actions: []string{"*"}, Resources: []string{"*"}}}
	with := func(p templatetest.Policy) templatetest.Policy { return slices.Concat(admin, p) }
	for _, c := range []struct {
		name             string
		policy           templatetest.Policy
		action, resource string
		context          map[string]string
		want             bool
	}{
		{"an administrator reads", with(d.Bucket.Policy), "s3:GetObject", bucketARN + "/registry/x", as("admin"), true},
		{"an administrator uploads", with(d.Bucket.Policy), "s3:PutObject", bucketARN + "/modules/x", as("admin"), true},
		{"an administrator writes registry/", with(d.Bucket.Policy), "s3:PutObject", bucketARN + "/registry/x", as("admin"), false},
		{"an administrator deletes from registry/", with(d.Bucket.Policy), "s3:DeleteObject", bucketARN + "/registry/x", as("admin"), false},
		{"an administrator deletes a version from registry/", with(d.Bucket.Policy), "s3:DeleteObjectVersion", bucketARN + "/registry/x", as("admin"), false},
		{"an administrator deletes an upload", with(d.Bucket.Policy), "s3:DeleteObject", bucketARN + "/modules/x", as("admin"), true},
		{"publish writes registry/", with(d.Bucket.Policy), "s3:PutObject", bucketARN + "/registry/x", as("acme-registry-publish"), true},
		{"publish deletes from registry/", with(d.Bucket.Policy), "s3:DeleteObject", bucketARN + "/registry/x", as("acme-registry-publish"), false},
		{"the mover, where there is none", with(d.Bucket.Policy), "s3:PutObject", bucketARN + "/registry/x", as("mover"), false},
		{"the mover", with(moving.Bucket.Policy), "s3:PutObject", bucketARN + "/registry/x", as("mover"), true},
		{"the mover copies records", with(moving.Bucket.Policy), "s3:PutObject", bucketARN + "/registry/records/x", as("mover"), true},
		{"the mover deletes", with(moving.Bucket.Policy), "s3:DeleteObject", bucketARN + "/registry/x", as("mover"), false},

		{"an administrator signs", with(d.SigningKey.Policy), "kms:Sign", keyARN, as("admin"), false},
		{"publish signs", d.SigningKey.Policy, "kms:Sign", keyARN, as("acme-registry-publish"), true},
		{"an administrator changes the policy", d.SigningKey.Policy, "kms:PutKeyPolicy", keyARN, as("admin"), true},
		{"an administrator replicates", d.SigningKey.Policy, "kms:ReplicateKey", keyARN, as("admin"), false},
		{"an administrator replicates a key of many regions", moving.SigningKey.Policy, "kms:ReplicateKey", keyARN, as("admin"), true},
		{"an administrator deletes the key", d.SigningKey.Policy, "kms:ScheduleKeyDeletion", keyARN, as("admin"), false},
		{"an administrator grants", d.SigningKey.Policy, "kms:CreateGrant", keyARN, as("admin"), false},

		{"the bucket sends", d.Queue.Policy, "sqs:SendMessage", queueARN, map[string]string{"aws:SourceArn": bucketARN, "aws:SourceAccount": "111122223333", "aws:SecureTransport": "true"}, true},
		{"another's bucket of that name", d.Queue.Policy, "sqs:SendMessage", queueARN, map[string]string{"aws:SourceArn": bucketARN, "aws:SourceAccount": "999999999999"}, false},
		{"another bucket", d.Queue.Policy, "sqs:SendMessage", queueARN, map[string]string{"aws:SourceArn": bucketARN + "x", "aws:SourceAccount": "111122223333"}, false},
		{"the bucket receives", d.Queue.Policy, "sqs:ReceiveMessage", queueARN, map[string]string{"aws:SourceArn": bucketARN, "aws:SourceAccount": "111122223333"}, false},

		{"an administrator subscribes", with(d.Outcomes.Policy), "sns:Subscribe", topicARN, as("admin"), true},
		{"another account subscribes", d.Outcomes.Policy, "sns:Subscribe", topicARN, nil, false},
		{"another account publishes", d.Outcomes.Policy, "sns:Publish", topicARN, nil, false},
	} {
		if got := c.policy.Allows(c.action, c.resource, c.context); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// TestPublishedIsProtected holds what of the ways to change or remove what is
// published the bucket's policy leaves to whom: whoever may do all else, publish,
// and whoever moves a registry here. What is left to administrators is the bucket's
// own settings: a denial would keep whoever deploys from changing them, too.
func TestPublishedIsProtected(t *testing.T) {
	d, _ := load(t, deployments["everything"])
	type may struct{ admin, publish, mover bool }
	nobody, writers := may{}, may{publish: true, mover: true}
	everybody := may{true, true, true}
	const object = bucketARN + "/registry/providers/acme/widget/1.0.0/x.zip"
	policy := slices.Concat(templatetest.Policy{{Effect: "Allow", Actions: []string{"*"}, Resources: []string{"*"}}}, d.Bucket.Policy)
	for _, c := range []struct {
		action, resource string
		want             may
	}{
		{"s3:DeleteObject", object, nobody},
		{"s3:DeleteObjectVersion", object, nobody},
		{"s3:ReplicateDelete", object, nobody},
		{"s3:BypassGovernanceRetention", object, nobody},
		{"s3:ObjectOwnerOverrideToBucketOwner", object, nobody},
		{"s3:PutObjectAcl", object, nobody},
		{"s3:PutObjectVersionAcl", object, nobody},
		{"s3:UpdateObjectEncryption", object, nobody},
		{"s3:PutObject", object, writers},
		{"s3:ReplicateObject", object, writers},
		{"s3:ReplicateTags", object, writers},
		{"s3:PutObjectTagging", object, writers},
		{"s3:PutObjectVersionTagging", object, writers},
		{"s3:DeleteObjectTagging", object, writers},
		{"s3:DeleteObjectVersionTagging", object, writers},

		{"s3:GetObject", object, everybody},
		{"s3:GetObjectVersionForReplication", object, everybody}, // to a bucket elsewhere
		{"s3:PutObject", bucketARN + "/modules/x", everybody},
		{"s3:PutObjectTagging", bucketARN + "/modules/x", everybody},
		{"s3:DeleteObjectVersion", bucketARN + "/modules/x", everybody},
		{"s3:ReplicateObject", bucketARN + "/modules/x", everybody},

		{"s3:PutBucketPolicy", bucketARN, everybody},
		{"s3:DeleteBucketPolicy", bucketARN, nobody}, // but everybody may put another
		{"s3:PutBucketVersioning", bucketARN, everybody},
		{"s3:PutLifecycleConfiguration", bucketARN, everybody},
		{"s3:PutReplicationConfiguration", bucketARN, everybody},
	} {
		as := func(role string) bool {
			return policy.Allows(c.action, c.resource, map[string]string{
				"aws:PrincipalArn": "arn:aws:iam::111122223333:role/" + role, "aws:SecureTransport": "true", "s3:TlsVersion": "1.3",
			})
		}
		if got := (may{as("admin"), as("acme-registry-publish"), as("mover")}); got != c.want {
			t.Errorf("%s of %s: %+v, want %+v", c.action, c.resource, got, c.want)
		}
	}
}

// TestUploader holds what uploaders of a namespace may do.
func TestUploader(t *testing.T) {
	d, _ := load(t, deployments["everything"])
	uploader := d.Managed["acme-registry-upload-acme"]
	for _, c := range []struct {
		action, resource, prefix string
		want                     bool
	}{
		{"s3:PutObject", "/modules/acme/vpc/aws/1.0.0.zip", "", true},
		{"s3:PutObject", "/providers/acme/widget/x.zip", "", true},
		{"s3:PutObject", "/keys/acme/ann.asc", "", true},
		{"s3:PutObject", "/modules/acmes/vpc/aws/1.0.0.zip", "", false},
		{"s3:PutObject", "/modules/other/vpc/aws/1.0.0.zip", "", false},
		{"s3:PutObject", "/mirror/registry.terraform.io/acme/widget/x.zip", "", false},
		{"s3:PutObject", "/registry/modules/acme/x", "", false},
		{"s3:DeleteObject", "/modules/acme/vpc/aws/1.0.0.zip", "", false},
		{"s3:PutObjectTagging", "/modules/acme/vpc/aws/1.0.0.zip", "", false},
		{"s3:GetObjectTagging", "/modules/acme/vpc/aws/1.0.0.zip", "", true},
		{"s3:GetObjectTagging", "/modules/other/vpc/aws/1.0.0.zip", "", false},
		{"s3:GetObject", "/registry/outcomes/modules/acme/vpc/aws/1.0.0.zip.json", "", true},
		{"s3:GetObject", "/registry/outcomes/modules/other/vpc/aws/1.0.0.zip.json", "", false},
		{"s3:GetObject", "/registry/records/modules/acme/vpc/aws/1.0.0/00000001.json", "", false},
		{"s3:ListBucket", "", "modules/acme/vpc", true},
		{"s3:ListBucket", "", "registry/", false},
		{"s3:ListBucket", "", "", false},
	} {
		context := map[string]string{}
		if c.prefix != "" {
			context["s3:prefix"] = c.prefix
		}
		if got := uploader.Allows(c.action, bucketARN+c.resource, context); got != c.want {
			t.Errorf("an uploader of acme may %s on %s %s: %t, want %t", c.action, c.resource, c.prefix, got, c.want)
		}
	}
}

// TestOperator holds what operators may do: ask publish, which does the rest.
func TestOperator(t *testing.T) {
	d, _ := load(t, deployments["the least"])
	operator := d.Managed["acme-registry-operate"]
	publish := functionARN(d.Functions["publish"])
	for _, c := range []struct {
		action, resource string
		want             bool
	}{
		{"lambda:InvokeFunction", publish, true},
		{"lambda:InvokeFunction", functionARN(d.Functions["download"]), false},
		{"lambda:InvokeFunction", publish + "2", false},
		{"lambda:GetFunction", publish, false}, // which has the settings
		{"lambda:UpdateFunctionCode", publish, false},
		{"s3:PutObject", bucketARN + "/registry/records/x", false},
		{"s3:GetObject", bucketARN + "/registry/records/x", false},
		{"dynamodb:PutItem", tableARN, false},
		{"kms:Sign", keyARN, false},
	} {
		if got := operator.Allows(c.action, c.resource, nil); got != c.want {
			t.Errorf("an operator may %s on %s: %t, want %t", c.action, c.resource, got, c.want)
		}
	}
}

// TestTokensAreARightOfTheirOwn holds who may ask about tokens: whoever may
// operate the registry need not.
func TestTokensAreARightOfTheirOwn(t *testing.T) {
	for _, d := range both(load(t, deployments["the least"])) {
		for name, function := range map[string]string{"acme-registry-access": "login", "acme-registry-operate": "publish"} {
			for other, f := range d.Functions {
				if got := d.Managed[name].Allows("lambda:InvokeFunction", functionARN(f), nil); got != (other == function) {
					t.Errorf("whoever has %s may invoke %s: %t", name, other, got)
				}
			}
		}
		if d.Managed["acme-registry-access"].Allows("dynamodb:PutItem", tableARN, map[string]string{"dynamodb:LeadingKeys": "A"}) {
			t.Error("whoever may ask about tokens may write them without asking")
		}
		if got := d.Outputs["AccessPolicyArn"]; got != "arn:aws:iam::111122223333:policy/acme-registry-access" {
			t.Errorf("the output is %s", got)
		}
	}
}

// TestKeysThatEncrypt holds which functions use the keys of queue and topic, by those
// services alone.
func TestKeysThatEncrypt(t *testing.T) {
	by := func(service string) map[string]string {
		return map[string]string{"kms:ViaService": service + ".eu-central-1.amazonaws.com"}
	}
	for _, d := range both(load(t, deployments["everything"])) {
		for function := range d.Functions {
			for _, action := range []string{"kms:Decrypt", "kms:GenerateDataKey"} {
				for _, c := range []struct {
					key  string
					by   map[string]string
					want bool
				}{
					{queueKey, by("sqs"), function == "publish" || function == "fetch"},
					{queueKey, by("sns"), false},
					{queueKey, nil, false},
					{topicKey, by("sns"), function == "publish"},
					{topicKey, by("sqs"), false},
					{logKey, nil, false},
				} {
					if got := d.Allows(function, action, c.key, c.by); got != c.want {
						t.Errorf("%s may %s with %s by %v: %t", function, action, c.key, c.by, got)
					}
				}
			}
		}
	}
}

// TestNetwork holds that Lambda may join functions to the VPC, and their code may not.
func TestNetwork(t *testing.T) {
	actions := []string{
		"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
	}
	for _, d := range both(load(t, deployments["everything"])) {
		for name, f := range d.Functions {
			for _, action := range actions {
				if got := d.Allows(name, action, "*", nil); got != (len(f.Subnets) > 0) {
					t.Errorf("Lambda may %s for %s: %t", action, name, got)
				}
				if d.Allows(name, action, "*", map[string]string{"lambda:SourceFunctionArn": functionARN(f)}) {
					t.Errorf("%s itself may %s", name, action)
				}
			}
		}
	}
}

// TestSecret holds that login reads the parameter that is named, and no other.
func TestSecret(t *testing.T) {
	const parameters = "arn:aws:ssm:eu-central-1:111122223333:parameter"
	for _, d := range both(load(t, deployments["everything"])) {
		for function := range d.Functions {
			for parameter, want := range map[string]bool{"/acme/login": function == "login", "/acme/login/other": false, "/acme": false} {
				if got := d.Allows(function, "ssm:GetParameter", parameters+parameter, nil); got != want {
					t.Errorf("%s may read %s: %t", function, parameter, got)
				}
			}
		}
	}
}

// TestAnotherKey holds that after a rotation the other key signs, and the
// deployment's own does not.
func TestAnotherKey(t *testing.T) {
	for _, d := range both(load(t, deployments["everything"])) {
		if got := d.Functions["publish"].Environment["LARDER_KMS_KEY"]; got != otherKey {
			t.Errorf("publish signs with %s", got)
		}
		for _, action := range []string{"kms:Sign", "kms:GetPublicKey", "kms:DescribeKey"} {
			if !d.Allows("publish", action, otherKey, nil) || d.Allows("publish", action, keyARN, nil) {
				t.Errorf("%s is not allowed for the other key alone", action)
			}
		}
		if d.Outputs["SigningKeyArn"] != otherKey {
			t.Errorf("the output is %s", d.Outputs["SigningKeyArn"])
		}
	}
}

func both(sam, terraform *templatetest.Deployment) []*templatetest.Deployment {
	return []*templatetest.Deployment{sam, terraform}
}

// wide are the statements that may say * for a resource, or for all actions of
// a service, and why.
var wide = map[string]string{
	"key AccountManages":   "in a key's policy, * is the key",
	"key PublishSigns":     "in a key's policy, * is the key",
	"key NobodyElseSigns":  "in a key's policy, * is the key; and it denies",
	"bucket TlsOnly":       "it denies",
	"bucket RecentTlsOnly": "it denies",

	"login JoinNetwork":      "Lambda's own rights to a VPC know no resources beforehand",
	"login LambdaAloneJoins": "it denies",
	"fetch JoinNetwork":      "Lambda's own rights to a VPC know no resources beforehand",
	"fetch LambdaAloneJoins": "it denies",
}

// TestNothingIsWide holds that rights are spelt out.
func TestNothingIsWide(t *testing.T) {
	sam, terraform := load(t, deployments["everything"])
	found := map[string]bool{}
	for _, d := range []*templatetest.Deployment{sam, terraform} {
		policies := map[string]templatetest.Policy{
			"bucket": d.Bucket.Policy, "key": d.SigningKey.Policy, "queue": d.Queue.Policy, "topic": d.Outcomes.Policy, "reconcile": d.Reconcile.Policy,
		}
		policies["fetch queue"] = d.Fetching.Queue.Policy
		maps.Copy(policies, d.Managed)
		for name, f := range d.Functions {
			policies[name] = f.Policy
		}
		for owner, policy := range policies {
			for _, s := range policy {
				if !isWide(s) {
					continue
				}
				name := owner + " " + s.Sid
				found[name] = true
				if wide[name] == "" {
					t.Errorf("%s: %v on %v", name, s.Actions, s.Resources)
				}
			}
		}
	}
	for name := range wide {
		if !found[name] {
			t.Errorf("%s is not wide any more: take it off the list", name)
		}
	}
}

func isWide(s templatetest.Statement) bool {
	anyAction := func(action string) bool { return strings.Contains(action, "*") }
	return slices.ContainsFunc(s.Actions, anyAction) || slices.Contains(s.Resources, "*")
}
