package templatetest_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/templatetest"
)

// TestTwinsSeesChanges holds that what is changed in one description alone does
// not go unseen: the comparison is only as good as what Load reads.
func TestTwinsSeesChanges(t *testing.T) {
	v := templatetest.Values{Parameters: deployments["everything"]}
	terraform, err := templatetest.LoadTerraform(terraformDir, v)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, changed string }{
		{"MemorySize: 1769", "MemorySize: 1024"},
		{"Timeout: 600", "Timeout: 200"},
		{"Size: 6144", "Size: 10240"},
		{"Architectures: [arm64]", "Architectures: [x86_64]"},
		{"LARDER_AUTH: !Ref ReadAccess", "LARDER_AUTH: closed"},
		{"LARDER_QUEUE_URL: !Ref Queue", "LARDER_QUEUE_URL: !Ref DeadLetterQueue"},
		{"    Metadata: { SkipBuild: true }\n", ""},
		{"CodeUri: build/versions/", "CodeUri: build/download/"},
		{"RouteKey: ANY /.well-known", "RouteKey: GET /.well-known"},
		{"Target: !Sub integrations/${DownloadIntegration}", "Target: !Sub integrations/${VersionsIntegration}"},
		{"- dynamodb:PutItem", "- dynamodb:UpdateItem"},
		{"/registry/modules/*", "/registry/*"},
		{`dynamodb:LeadingKeys: ["M#*", "P#*", "R#*"]`, `dynamodb:LeadingKeys: ["*"]`},
		{"dynamodb:Attributes: [PK, SK, revision]", "dynamodb:Attributes: [PK, SK, data]"},
		{"aws:SourceAccount: !Ref AWS::AccountId } # bucket", "aws:SourceAccount: \"*\" } # bucket"},
		{"Name: prefix, Value: mirror/", "Name: prefix, Value: registry/"},
		{"Event: s3:ObjectCreated:*", "Event: s3:ObjectRemoved:*"},
		{"SSEAlgorithm: AES256", "SSEAlgorithm: aws:kms"},
		{"RestrictPublicBuckets: true", "RestrictPublicBuckets: false"},
		{"    DeletionPolicy: Retain\n", ""},
		{"Status: Enabled\n            Prefix: keys/", "Status: Disabled\n            Prefix: keys/"},
		{"AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 }", "AbortIncompleteMultipartUpload: { DaysAfterInitiation: 8 }"},
		{"DeletionProtectionEnabled: true", "DeletionProtectionEnabled: false"},
		{"AttributeName: expires", "AttributeName: ttl"},
		{"{ AttributeName: SK, AttributeType: S }", "{ AttributeName: SK, AttributeType: N }"},
		{"KeySpec: RSA_4096", "KeySpec: RSA_2048"},
		{"Action: kms:Sign", "Action: kms:Verify"},
		{"VisibilityTimeout: 3600", "VisibilityTimeout: 300"},
		{"maxReceiveCount: 5", "maxReceiveCount: 1"},
		{"TopicName: !Sub ${BucketName}-outcomes", "TopicName: outcomes"},
		{"Topics: [!Ref OutcomesTopic]", "Topics: [!Ref Queue]"},
		{"Action: sns:Publish", "Action: sns:Subscribe"},
		{"BatchSize: 1", "BatchSize: 10"},
		{"MaximumConcurrency: !Ref PublishConcurrency", "MaximumConcurrency: 9"},
		{"ScheduleExpression: rate(1 day)", "ScheduleExpression: rate(1 hour)"},
		{`Input: '{"reconcile":{}}'`, `Input: '{}'`},
		{"RetentionInDays: !Ref LogDays", "RetentionInDays: 1"},
		{"Threshold: 3600", "Threshold: 60"},
		{"ThrottlingRateLimit: !Ref RequestRate", "ThrottlingRateLimit: 1"},
		{"DisableExecuteApiEndpoint: !If [HasDomain, true, false]", "DisableExecuteApiEndpoint: false"},
		{`"title": "Requests"`, `"title": "Calls"`},
		{"Value: !If [HasOtherKey, !Ref SigningKeyArn, ", "Value: !If [HasDomain, !Ref SigningKey, "},
		{"LARDER_KMS_KEY: !If [HasOtherKey, !Ref SigningKeyArn, ", "LARDER_KMS_KEY: !If [HasOtherKey, !Ref SigningKey, "},
		{"ManagedPolicyName: !Sub ${BucketName}-operate", "ManagedPolicyName: !Sub ${BucketName}-operator"},
		{"QueueName: !Sub ${BucketName}-fetch.fifo\n      FifoQueue: true", "QueueName: !Sub ${BucketName}-fetch.fifo"},
		{"VisibilityTimeout: 5400", "VisibilityTimeout: 900"},
		{"maxReceiveCount: 3", "maxReceiveCount: 5"},
		{"deadLetterTargetArn: !GetAtt FetchDeadLetterQueue.Arn", "deadLetterTargetArn: !GetAtt DeadLetterQueue.Arn"},
		{"Queues: [!Ref FetchQueue]", "Queues: [!Ref Queue]"},
		{"EventSourceArn: !GetAtt FetchQueue.Arn", "EventSourceArn: !GetAtt Queue.Arn"},
		{"MaximumConcurrency: 2", "MaximumConcurrency: 40"},
		{"LARDER_MIRROR_PLATFORMS: !Ref MirrorPlatforms", "LARDER_MIRROR_PLATFORMS: all"},
		{`!Sub "integrations/${FetchIntegration}"`, `!Sub "integrations/${VersionsIntegration}"`},
		{`dynamodb:LeadingKeys: ["P#*", "R#*"]`, `dynamodb:LeadingKeys: ["R#*"]`},
		{"- s3:PutObject\n                Resource: !Sub arn:${AWS::Partition}:s3:::${BucketName}/mirror/*", "- s3:PutObject\n                Resource: !Sub arn:${AWS::Partition}:s3:::${BucketName}/*"},
		{"      AlarmName: !Sub ${BucketName}-fetch-dead-letters", "      AlarmName: !Sub ${BucketName}-fetch"},
		{"  FetchDeadLetterQueueUrl:\n", "  FetchDeadLetters:\n"},
		{"      RecursiveLoop: Allow", "      RecursiveLoop: Terminate"},
		{"  DeadLetterQueueUrl:\n", "  DeadLetters:\n"},
		{"ANY /v1/login: { ThrottlingRateLimit: 5,", "ANY /v1/login: { ThrottlingRateLimit: 50,"},
		{"ANY /v1/token: { ThrottlingRateLimit", "ANY /v1/tokens: { ThrottlingRateLimit"},
		{"dynamodb:Attributes: [PK, SK, used]", "dynamodb:Attributes: [PK, SK, used, scopes]"},
		{`dynamodb:LeadingKeys: [A, "M#*", "P#*", "R#*"]`, `dynamodb:LeadingKeys: ["*"]`},
		{`dynamodb:LeadingKeys: ["D#*"]`, `dynamodb:LeadingKeys: ["*"]`},
		{`dynamodb:LeadingKeys: ["C#*"]`, `dynamodb:LeadingKeys: ["*"]`},
		{"parameter${LoginClientSecretName}", "parameter/*"},
		{"LARDER_LOGIN_SCOPES: !Ref LoginScopes", "LARDER_LOGIN_SCOPES: openid"},
		{"LARDER_HOST: !If [HasDomain, !Ref DomainName,", "LARDER_HOST: !If [HasDomain, !Ref Api,"},
		{"ManagedPolicyName: !Sub ${BucketName}-access", "ManagedPolicyName: !Sub ${BucketName}-tokens"},
		{"Resource: !GetAtt LoginFunction.Arn", "Resource: !GetAtt PublishFunction.Arn"},
		{"  AccessPolicyArn:\n", "  Tokens:\n"},
		{"      PermissionsBoundary: !If [HasBoundary, !Ref PermissionsBoundaryArn, !Ref AWS::NoValue]\n", ""},
		{"SubnetIds: !Split [\",\", !Ref SubnetIds]", "SubnetIds: !Split [\",\", !Ref SecurityGroupIds]"},
		{"SecurityGroupIds: !Split [\",\", !Ref SecurityGroupIds]", "SecurityGroupIds: [sg-1]"},
		{"KmsMasterKeyId: !If [HasQueueKey, !Ref QueueKeyArn,", "KmsMasterKeyId: !If [HasQueueKey, !Ref TopicKeyArn,"},
		{"SqsManagedSseEnabled: !If [HasQueueKey, !Ref AWS::NoValue, true]", "SqsManagedSseEnabled: true"},
		{"KmsMasterKeyId: !If [HasTopicKey, !Ref TopicKeyArn,", "KmsMasterKeyId: !If [HasTopicKey, !Ref QueueKeyArn,"},
		{"KmsKeyId: !If [HasLogKey, !Ref LogKeyArn, !Ref AWS::NoValue]", "KmsKeyId: !Ref AWS::NoValue"},
		{"MultiRegion: !If [IsMultiRegion, true, !Ref AWS::NoValue]", "MultiRegion: false"},
		{"      OKActions: !If [HasTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]\n", ""},
		{"Period: 86400", "Period: 3600"},
		{"      FilterPattern: '{ $.msg", "      FilterPattern: '{ $.level"},
		{"      MetricValue: \"1\"", "      MetricValue: \"2\""},
		{"kms:ViaService: !Sub \"sqs.", "kms:ViaService: !Sub \"s3."},
		{"lambda:SourceFunctionArn: ", "aws:SourceArn: "},
		{"      EvaluationPeriods: 2\n", "      EvaluationPeriods: 1\n"},
		{"Threshold: 480000", "Threshold: 599000"},
		{"FetchErrors: !If [HasUpstreams, ", "FetchErrors: !If [HasNoUpstreams, "},
		{"  DiscoveryPermission:\n", "  Extra:\n    Type: AWS::SSM::Parameter\n  DiscoveryPermission:\n"},
	} {
		file := changed(t, c.old, c.changed)
		if sam, err := templatetest.Load(file, v); err == nil && reflect.DeepEqual(sam, terraform) {
			t.Errorf("%q instead of %q goes unseen", c.changed, c.old)
		}
	}
}

// changed is a template.yaml in which one text stands for the first occurrence
// of another.
func changed(t *testing.T, old, replacement string) string {
	t.Helper()
	source, err := os.ReadFile(samFile)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), old) {
		t.Fatalf("template.yaml does not say %q", old)
	}
	file := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(source), old, replacement, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCycleFound holds that each kind of reference counts.
func TestCycleFound(t *testing.T) {
	v := templatetest.Values{Parameters: deployments["the least"]}
	const queue = "  Queue:\n    Type: AWS::SQS::Queue\n    Properties:\n"
	for name, reference := range map[string]string{
		"Ref":        queue + "      DelaySeconds: !Ref Bucket\n",
		"GetAtt":     queue + "      DelaySeconds: !GetAtt Bucket.Arn\n",
		"Sub":        queue + "      DelaySeconds: !Sub a-${Bucket.Arn}-b\n",
		"If":         queue + "      DelaySeconds: !If [HasDomain, a, !Ref Bucket]\n",
		"Sub's own":  queue + "      DelaySeconds: !Sub [ 'a-${B}', { B: !Ref Bucket } ]\n",
		"DependsOn":  strings.Replace(queue, "    Properties", "    DependsOn: Bucket\n    Properties", 1),
		"DependsOns": strings.Replace(queue, "    Properties", "    DependsOn: [Table, Bucket]\n    Properties", 1),
	} {
		cycle, err := templatetest.Cycle(changed(t, queue, reference), v)
		if err != nil || !slices.Contains(cycle, "Bucket") || !slices.Contains(cycle, "Queue") {
			t.Errorf("%s: the cycle is %v, %v, want one through Bucket and Queue", name, cycle, err)
		}
	}
	if _, err := templatetest.Cycle(changed(t, "TargetKeyId: !Ref SigningKey", "TargetKeyId: !Ref SigningKye"), v); err == nil {
		t.Error("a reference to nothing goes unseen")
	}
}

// TestTerraformCycleFound holds that a module in which something waits for
// itself does not load.
func TestTerraformCycleFound(t *testing.T) {
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(terraformDir, "*.tf"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const free, cyclic = `local.bucket_arn, "${local.bucket_arn}/*"]`, `aws_s3_bucket_policy.registry.id]`
		if filepath.Base(file) == "storage.tf" && !strings.Contains(string(source), free) {
			t.Fatalf("%s does not say %q", file, free)
		}
		changed := strings.Replace(string(source), free, cyclic, 1)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err = templatetest.LoadTerraform(dir, templatetest.Values{Parameters: deployments["the least"]})
	if err == nil || !strings.Contains(err.Error(), "a cycle: ") {
		t.Errorf("a cycle goes unseen: %v", err)
	}
}
