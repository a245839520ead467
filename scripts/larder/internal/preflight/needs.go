package preflight

import "fmt"

// need is actions that the deployment takes on the same resources.
type need struct {
	actions   []string
	resources []string
}

// Identifiers that AWS makes up, in their form.
const (
	anyStack = "00000000-0000-0000-0000-000000000000"
	anyKey   = anyStack
)

// needs is what deploying takes: what CloudFormation does with the caller's
// rights to make the template's resources, and its own. Of several resources of
// a kind, whose names begin alike, one stands for all.
func (c check) needs(who caller) []need {
	b := c.BucketName
	all := []need{
		{[]string{"cloudformation:CreateChangeSet", "cloudformation:DescribeChangeSet", "cloudformation:DescribeStackEvents", "cloudformation:DescribeStacks", "cloudformation:ExecuteChangeSet", "cloudformation:GetTemplate"},
			[]string{c.arn(who, "cloudformation", "stack/larder/"+anyStack)}},
		{[]string{"s3:CreateBucket", "s3:PutBucketNotification", "s3:PutBucketOwnershipControls", "s3:PutBucketPolicy", "s3:PutBucketPublicAccessBlock", "s3:PutBucketTagging", "s3:PutBucketVersioning", "s3:PutEncryptionConfiguration", "s3:PutLifecycleConfiguration"},
			[]string{fmt.Sprintf("arn:%s:s3:::%s", who.partition, b)}},
		{[]string{"dynamodb:CreateTable", "dynamodb:DescribeContinuousBackups", "dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive", "dynamodb:TagResource", "dynamodb:UpdateContinuousBackups", "dynamodb:UpdateTimeToLive"},
			[]string{c.arn(who, "dynamodb", "table/"+b)}},
		{[]string{"kms:CreateKey"}, []string{"*"}},
		{[]string{"kms:DescribeKey", "kms:PutKeyPolicy", "kms:TagResource"}, []string{c.arn(who, "kms", "key/"+anyKey)}},
		{[]string{"kms:CreateAlias"}, []string{c.arn(who, "kms", "alias/"+b)}},
		{[]string{"sqs:CreateQueue", "sqs:GetQueueAttributes", "sqs:SetQueueAttributes", "sqs:TagQueue"},
			[]string{c.arn(who, "sqs", b+"-uploads"), c.arn(who, "sqs", b+"-dead-letters")}},
		{[]string{"sns:CreateTopic", "sns:GetTopicAttributes", "sns:SetTopicAttributes", "sns:TagResource"}, []string{c.arn(who, "sns", b+"-outcomes")}},
		{[]string{"scheduler:CreateSchedule", "scheduler:GetSchedule"}, []string{c.arn(who, "scheduler", "schedule/default/"+b+"-reconcile")}},
		{[]string{"apigateway:GET", "apigateway:PATCH", "apigateway:POST"}, c.gatewayResources(who)},
		{[]string{"cloudwatch:PutMetricAlarm"}, []string{c.arn(who, "cloudwatch", "alarm:"+b+"-dead-letters")}},
		{[]string{"cloudwatch:PutDashboard"}, []string{fmt.Sprintf("arn:%s:cloudwatch::%s:dashboard/%s", who.partition, who.account, b)}},
		{[]string{"logs:CreateLogGroup", "logs:PutRetentionPolicy"},
			[]string{c.arn(who, "logs", "log-group:/aws/lambda/"+b+"-publish"), c.arn(who, "logs", "log-group:/aws/vendedlogs/"+b+"/api")}},
		{[]string{"logs:CreateLogDelivery", "logs:DescribeLogGroups", "logs:DescribeResourcePolicies", "logs:PutResourcePolicy"}, []string{"*"}},
	}
	all = append(all, c.functionNeeds(who)...)
	return append(all, c.optionalNeeds(who)...)
}

// functionNeeds is what the functions take, with a role for each.
func (c check) functionNeeds(who caller) []need {
	return []need{
		{[]string{"lambda:AddPermission", "lambda:CreateFunction", "lambda:GetFunction", "lambda:TagResource"}, []string{c.arn(who, "lambda", "function:"+c.BucketName+"-publish")}},
		{[]string{"lambda:CreateEventSourceMapping", "lambda:GetEventSourceMapping"}, []string{"*"}},
		{[]string{"iam:CreateRole", "iam:GetRole", "iam:PassRole", "iam:PutRolePolicy"}, []string{c.iamARN(who, "role/"+c.BucketName+"-publish")}},
		{[]string{"iam:CreatePolicy"}, []string{c.iamARN(who, "policy/"+c.BucketName+"-operate")}},
	}
}

// optionalNeeds is what the parameters ask for that may be empty.
func (c check) optionalNeeds(who caller) (all []need) {
	if c.UploaderNamespace != "" {
		all = append(all, need{[]string{"iam:CreatePolicy"}, []string{c.iamARN(who, "policy/"+c.BucketName+"-upload-"+c.UploaderNamespace)}})
	}
	if c.HostedZoneID != "" {
		all = append(all, need{[]string{"route53:ChangeResourceRecordSets"}, []string{fmt.Sprintf("arn:%s:route53:::hostedzone/%s", who.partition, c.HostedZoneID)}})
	}
	return all
}

func (c check) gatewayResources(who caller) []string {
	root := fmt.Sprintf("arn:%s:apigateway:%s::", who.partition, c.region)
	resources := []string{root + "/apis", root + "/apis/a1b2c3d4e5"}
	if c.DomainName != "" {
		resources = append(resources, root+"/domainnames", root+"/domainnames/"+c.DomainName)
	}
	return resources
}

func (c check) iamARN(who caller, resource string) string {
	return fmt.Sprintf("arn:%s:iam::%s:%s", who.partition, who.account, resource)
}
