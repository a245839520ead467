package preflight

// terraform is the rights that the AWS provider of Terraform and OpenTofu needs to make each
// type of resource of the module: it makes one, tags it, and reads all of it.
var terraform = map[string]rights{
	"aws_apigatewayv2_api":                               {apis: "apigateway:GET apigateway:POST apigateway:TagResource"},
	"aws_apigatewayv2_api_mapping":                       {domains: "apigateway:GET apigateway:POST"},
	"aws_apigatewayv2_domain_name":                       {domains: "apigateway:AddCertificateToDomain apigateway:GET apigateway:POST apigateway:TagResource"},
	"aws_apigatewayv2_integration":                       {apis: "apigateway:GET apigateway:POST"},
	"aws_apigatewayv2_route":                             {apis: "apigateway:GET apigateway:POST"},
	"aws_apigatewayv2_stage":                             {apis: "apigateway:GET apigateway:PATCH apigateway:POST apigateway:TagResource", anything: deliverLogs},
	"aws_cloudwatch_dashboard":                           {dashboard: "cloudwatch:GetDashboard cloudwatch:PutDashboard"},
	"aws_cloudwatch_log_group":                           {logGroups: "logs:CreateLogGroup logs:ListTagsForResource logs:PutRetentionPolicy logs:TagResource", anything: "logs:DescribeLogGroups"},
	"aws_cloudwatch_log_metric_filter":                   {metricFilters: "logs:DescribeMetricFilters logs:PutMetricFilter"},
	"aws_cloudwatch_metric_alarm":                        {alarms: "cloudwatch:DescribeAlarms cloudwatch:ListTagsForResource cloudwatch:PutMetricAlarm cloudwatch:TagResource"},
	"aws_dynamodb_table":                                 {table: "dynamodb:CreateTable dynamodb:DescribeContinuousBackups dynamodb:DescribeTable dynamodb:DescribeTimeToLive dynamodb:ListTagsOfResource dynamodb:TagResource dynamodb:UpdateContinuousBackups dynamodb:UpdateTimeToLive"},
	"aws_iam_policy":                                     {policies: "iam:CreatePolicy iam:GetPolicy iam:GetPolicyVersion iam:TagPolicy"},
	"aws_iam_role":                                       {roles: "iam:CreateRole iam:GetRole iam:GetRolePolicy iam:ListAttachedRolePolicies iam:ListRolePolicies iam:TagRole"},
	"aws_iam_role_policy":                                {roles: "iam:GetRolePolicy iam:PutRolePolicy"},
	"aws_kms_alias":                                      {keyAlias: "kms:CreateAlias", key: "kms:CreateAlias", anything: "kms:ListAliases"},
	"aws_kms_key":                                        {anything: "kms:CreateKey", key: "kms:DescribeKey kms:GetKeyPolicy kms:GetKeyRotationStatus kms:ListResourceTags kms:PutKeyPolicy kms:TagResource"},
	"aws_lambda_event_source_mapping":                    {anything: "lambda:CreateEventSourceMapping lambda:GetEventSourceMapping", eventSources: "lambda:ListTags"},
	"aws_lambda_function":                                {functions: "lambda:CreateFunction lambda:GetFunction lambda:GetFunctionCodeSigningConfig lambda:ListVersionsByFunction lambda:TagResource", roles: "iam:PassRole", network: "ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs"},
	"aws_lambda_permission":                              {functions: "lambda:AddPermission lambda:GetPolicy"},
	"aws_route53_record":                                 {zone: "route53:ChangeResourceRecordSets route53:GetHostedZone route53:ListResourceRecordSets", changes: "route53:GetChange"},
	"aws_s3_bucket_lifecycle_configuration":              {bucket: "s3:GetLifecycleConfiguration s3:PutLifecycleConfiguration"},
	"aws_s3_bucket_notification":                         {bucket: "s3:GetBucketNotification s3:PutBucketNotification"},
	"aws_s3_bucket_ownership_controls":                   {bucket: "s3:GetBucketOwnershipControls s3:PutBucketOwnershipControls"},
	"aws_s3_bucket_policy":                               {bucket: "s3:GetBucketPolicy s3:PutBucketPolicy"},
	"aws_s3_bucket_public_access_block":                  {bucket: "s3:GetBucketPublicAccessBlock s3:PutBucketPublicAccessBlock"},
	"aws_s3_bucket_server_side_encryption_configuration": {bucket: "s3:GetEncryptionConfiguration s3:PutEncryptionConfiguration"},
	"aws_s3_bucket_versioning":                           {bucket: "s3:GetBucketVersioning s3:PutBucketVersioning"},
	"aws_scheduler_schedule":                             {schedule: "scheduler:CreateSchedule scheduler:GetSchedule", roles: "iam:PassRole"},
	"aws_sns_topic":                                      {topic: "sns:CreateTopic sns:GetTopicAttributes sns:ListTagsForResource sns:SetTopicAttributes sns:TagResource"},
	"aws_sns_topic_policy":                               {topic: "sns:GetTopicAttributes sns:SetTopicAttributes"},
	"aws_sqs_queue":                                      {queues: "sqs:CreateQueue sqs:GetQueueAttributes sqs:GetQueueUrl sqs:ListQueueTags sqs:TagQueue"},
	"aws_sqs_queue_policy":                               {queues: "sqs:GetQueueAttributes sqs:SetQueueAttributes"},

	"aws_lambda_function_recursion_config": {functions: "lambda:GetFunctionRecursionConfig lambda:PutFunctionRecursionConfig"},

	// It reads back every setting that a bucket can have, also those that are resources of their own. Until 6.23 it
	// tagged by PutBucketTagging and GetBucketTagging, since then by TagResource and ListTagsForResource.
	"aws_s3_bucket": {bucket: "s3:CreateBucket s3:GetAccelerateConfiguration s3:GetBucketAcl s3:GetBucketCORS s3:GetBucketLogging " +
		"s3:GetBucketObjectLockConfiguration s3:GetBucketPolicy s3:GetBucketRequestPayment s3:GetBucketTagging s3:GetBucketVersioning " +
		"s3:GetBucketWebsite s3:GetEncryptionConfiguration s3:GetLifecycleConfiguration s3:GetReplicationConfiguration s3:ListBucket " +
		"s3:ListTagsForResource s3:PutBucketTagging s3:TagResource"},
}
