package preflight

// samItself is the rights for what `sam deploy` does beside the resources: it makes its own
// stack and bucket, if they do not exist, uploads the functions, and lets CloudFormation
// transform the template and execute a change set.
var samItself = rights{
	samStack:     "cloudformation:CreateChangeSet cloudformation:DescribeChangeSet cloudformation:DescribeStacks cloudformation:ExecuteChangeSet",
	samBucket:    "s3:CreateBucket s3:GetBucketPolicy s3:ListBucket s3:PutBucketPolicy s3:PutBucketPublicAccessBlock s3:PutBucketTagging s3:PutBucketVersioning s3:PutEncryptionConfiguration",
	samObjects:   "s3:GetObject s3:PutObject",
	samTransform: "cloudformation:CreateChangeSet",
	stack: "cloudformation:CreateChangeSet cloudformation:DescribeChangeSet cloudformation:DescribeStackEvents " +
		"cloudformation:DescribeStacks cloudformation:ExecuteChangeSet cloudformation:GetTemplate cloudformation:GetTemplateSummary",
}

// cloudFormation is the rights of the caller that CloudFormation uses to make each type of
// resource in the transformed template. It puts the tags of the stack on everything that takes
// tags.
var cloudFormation = map[string]rights{
	"AWS::ApiGatewayV2::Api":         {apis: "apigateway:GET apigateway:POST apigateway:PUT"},
	"AWS::ApiGatewayV2::ApiMapping":  {domains: "apigateway:POST"},
	"AWS::ApiGatewayV2::DomainName":  {domains: "apigateway:AddCertificateToDomain apigateway:GET apigateway:POST apigateway:PUT"},
	"AWS::ApiGatewayV2::Integration": {apis: "apigateway:POST"},
	"AWS::ApiGatewayV2::Route":       {apis: "apigateway:POST"},
	"AWS::ApiGatewayV2::Stage": {
		apis:     "apigateway:PATCH apigateway:POST apigateway:TagResource",
		anything: deliverLogs,
	},
	"AWS::CloudWatch::Alarm":     {alarms: "cloudwatch:DescribeAlarms cloudwatch:ListTagsForResource cloudwatch:PutMetricAlarm cloudwatch:TagResource"},
	"AWS::CloudWatch::Dashboard": {dashboard: "cloudwatch:GetDashboard cloudwatch:PutDashboard cloudwatch:TagResource"},
	"AWS::DynamoDB::Table": {table: "dynamodb:CreateTable dynamodb:DescribeContinuousBackups dynamodb:DescribeTable dynamodb:DescribeTimeToLive " +
		"dynamodb:ListTagsOfResource dynamodb:TagResource dynamodb:UpdateContinuousBackups dynamodb:UpdateTimeToLive"},
	"AWS::IAM::ManagedPolicy": {policies: "iam:CreatePolicy"},
	"AWS::IAM::Role":          {roles: "iam:CreateRole iam:GetRole iam:GetRolePolicy iam:PutRolePolicy iam:TagRole"},
	"AWS::KMS::Alias":         {keyAlias: "kms:CreateAlias", key: "kms:CreateAlias"},
	"AWS::KMS::Key":           {anything: "kms:CreateKey", key: "kms:DescribeKey kms:PutKeyPolicy kms:TagResource"},
	"AWS::Lambda::EventSourceMapping": {
		anything:     "lambda:CreateEventSourceMapping lambda:GetEventSourceMapping",
		eventSources: "lambda:TagResource",
	},
	"AWS::Lambda::Function": {
		functions:  "lambda:CreateFunction lambda:GetFunction lambda:GetFunctionRecursionConfig lambda:PutFunctionRecursionConfig lambda:TagResource",
		roles:      "iam:PassRole",
		samObjects: "s3:GetObject",
		network:    "ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs",
	},
	"AWS::Lambda::Permission": {functions: "lambda:AddPermission"},
	"AWS::Logs::LogGroup":     {logGroups: "logs:CreateLogGroup logs:PutRetentionPolicy logs:TagResource", anything: "logs:DescribeLogGroups"},
	"AWS::Logs::MetricFilter": {metricFilters: "logs:DescribeMetricFilters logs:PutMetricFilter"},
	"AWS::Route53::RecordSet": {
		zone:          "route53:ChangeResourceRecordSets route53:GetHostedZone route53:ListResourceRecordSets",
		changes:       "route53:GetChange",
		zonesToSearch: "route53:ListHostedZones",
	},
	"AWS::S3::Bucket": {bucket: "s3:CreateBucket s3:ListBucket s3:PutBucketNotification s3:PutBucketOwnershipControls s3:PutBucketPublicAccessBlock " +
		"s3:PutBucketTagging s3:PutBucketVersioning s3:PutEncryptionConfiguration s3:PutLifecycleConfiguration s3:TagResource"},
	"AWS::S3::BucketPolicy":    {bucket: "s3:GetBucketPolicy s3:PutBucketPolicy"},
	"AWS::SNS::Topic":          {topic: "sns:CreateTopic sns:GetTopicAttributes sns:TagResource"},
	"AWS::SNS::TopicPolicy":    {topic: "sns:SetTopicAttributes"},
	"AWS::SQS::Queue":          {queues: "sqs:CreateQueue sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ListQueueTags sqs:TagQueue"},
	"AWS::SQS::QueuePolicy":    {queues: "sqs:SetQueueAttributes"},
	"AWS::Scheduler::Schedule": {schedule: "scheduler:CreateSchedule scheduler:GetSchedule", roles: "iam:PassRole"},
}

// deliverLogs is the further rights for a stage with an access log.
const deliverLogs = "logs:CreateLogDelivery logs:DescribeLogGroups logs:DescribeResourcePolicies logs:PutResourcePolicy"
