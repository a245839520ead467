package preflight

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notTaken are permissions that CloudFormation's own lists have for settings that the
// template does not make. A permission that is new in a list is either here or among
// the needs.
var notTaken = map[string]string{
	"AWS::ApiGatewayV2::Api":         "s3:getObject",                     // an import
	"AWS::ApiGatewayV2::DomainName":  "s3:GetObject s3:GetObjectVersion", // a truststore, which lies in another bucket
	"AWS::ApiGatewayV2::Integration": "iam:PassRole",
	"AWS::DynamoDB::Table": "dynamodb:AssociateTableReplica dynamodb:BatchWriteItem dynamodb:CreateTableReplica dynamodb:DeleteItem " +
		"dynamodb:DescribeContributorInsights dynamodb:DescribeImport dynamodb:DescribeKinesisStreamingDestination dynamodb:DisableKinesisStreamingDestination " +
		"dynamodb:EnableKinesisStreamingDestination dynamodb:GetItem dynamodb:GetResourcePolicy dynamodb:ImportTable dynamodb:PutItem " +
		"dynamodb:PutResourcePolicy dynamodb:Query dynamodb:Scan dynamodb:UpdateContributorInsights dynamodb:UpdateItem dynamodb:UpdateTable " +
		"iam:CreateServiceLinkedRole kinesis:DescribeStream kinesis:PutRecords kms:CreateGrant kms:Decrypt kms:DescribeKey kms:Encrypt kms:ListAliases " +
		"kms:RevokeGrant logs:CreateLogGroup logs:CreateLogStream logs:DescribeLogGroups logs:DescribeLogStreams logs:PutLogEvents " +
		"logs:PutRetentionPolicy s3:GetObject s3:GetObjectMetadata s3:ListBucket",
	"AWS::IAM::ManagedPolicy":         "iam:AttachGroupPolicy iam:AttachRolePolicy iam:AttachUserPolicy",
	"AWS::IAM::Role":                  "iam:AttachRolePolicy iam:UntagRole",
	"AWS::KMS::Key":                   "kms:DisableKey kms:EnableKeyRotation",
	"AWS::Lambda::EventSourceMapping": "kms:Decrypt kms:DescribeKey kms:GenerateDataKey",
	"AWS::Lambda::Function": "elasticfilesystem:DescribeMountTargets kms:CreateGrant " +
		"kms:Decrypt kms:DescribeKey kms:Encrypt kms:GenerateDataKey lambda:AssociateRuntimeAlias lambda:GetCodeSigningConfig " +
		"lambda:GetFunctionCodeSigningConfig lambda:GetLayerVersion lambda:GetRuntimeManagementConfig lambda:PassCapacityProvider " +
		"lambda:PutFunctionConcurrency lambda:PutFunctionScalingConfig lambda:PutRuntimeManagementConfig s3:GetObjectVersion s3files:ListMountTargets",
	"AWS::Logs::LogGroup": "firehose:TagDeliveryStream logs:CreateLogDelivery logs:DescribeIndexPolicies logs:DescribeResourcePolicies " +
		"logs:GetDataProtectionPolicy logs:PutBearerTokenAuthentication logs:PutDataProtectionPolicy logs:PutIndexPolicy logs:PutResourcePolicy " +
		"s3:REST.PUT.OBJECT",
	"AWS::S3::Bucket": "iam:PassRole s3:CreateBucketMetadataTableConfiguration s3:DeleteObject s3:GetBucketAcl s3:GetBucketMetadataTableConfiguration " +
		"s3:PutAccelerateConfiguration s3:PutAnalyticsConfiguration s3:PutBucketAbac s3:PutBucketCORS s3:PutBucketLogging " +
		"s3:PutBucketObjectLockConfiguration s3:PutBucketReplication s3:PutBucketWebsite s3:PutIntelligentTieringConfiguration " +
		"s3:PutInventoryConfiguration s3:PutMetricsConfiguration s3:PutObjectAcl s3:PutObjectLockConfiguration s3:PutReplicationConfiguration " +
		"s3tables:CreateNamespace s3tables:CreateTable s3tables:CreateTableBucket s3tables:GetTable s3tables:GetTableMetadataLocation " +
		"s3tables:PutTableBucketPolicy s3tables:PutTableEncryption s3tables:PutTablePolicy s3tables:UpdateTableMetadataLocation",
	"AWS::SNS::Topic": "iam:GetRole iam:PassRole sns:PutDataProtectionPolicy sns:Subscribe",
}

// takenBesides are actions that no list of CloudFormation's has.
var takenBesides = map[string]string{
	"AWS::ApiGatewayV2::Stage": deliverLogs + " apigateway:PATCH", // of a stage that deploys by itself, and logs
}

// TestCloudFormationNeeds holds the needs of each type of resource in the template
// against what CloudFormation's schema of the type says that its making takes.
func TestCloudFormationNeeds(t *testing.T) {
	text, err := os.ReadFile("testdata/cloudformation.json")
	if err != nil {
		t.Fatal(err)
	}
	var schemas map[string]struct{ Create, Read []string }
	if err := json.Unmarshal(text, &schemas); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, kind := range regexp.MustCompile(`\n    Type: (AWS::[A-Za-z0-9:]+)`).FindAllStringSubmatch(template(t), -1) {
		kinds = append(kinds, strings.Replace(kind[1], "AWS::Serverless::", "AWS::Lambda::", 1)) // as SAM transforms it
	}
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if len(kinds) < 20 || !slices.Equal(kinds, slices.Sorted(maps.Keys(cloudFormation))) {
		t.Errorf("the template makes %v,\nand there are needs of %v", kinds, slices.Sorted(maps.Keys(cloudFormation)))
	}
	for _, kind := range kinds {
		schema, ok := schemas[kind]
		if !ok {
			t.Errorf("there is no schema of %s: run make check-templates, which says what to do", kind)
			continue
		}
		got, left := actionsOf(cloudFormation[kind]), strings.Fields(notTaken[kind])
		if missing := without(schema.Create, slices.Concat(got, left)); len(missing) > 0 {
			t.Errorf("%s also takes %v", kind, missing)
		}
		if more := without(got, slices.Concat(schema.Create, schema.Read, strings.Fields(takenBesides[kind]))); len(more) > 0 {
			t.Errorf("%s does not take %v", kind, more)
		}
		if stale := without(left, without(schema.Create, got)); len(stale) > 0 {
			t.Errorf("%s: %v are not left out", kind, stale)
		}
	}
}

// TestTerraformNeeds holds that each type of resource in the module has its needs:
// to be made, to be read back, and to be tagged where it is.
func TestTerraformNeeds(t *testing.T) {
	files, err := filepath.Glob("../../../infra/*.tf")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no infra/", err)
	}
	made := map[string]bool{} // and whether it is tagged
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile(`(?ms)^resource "([a-z0-9_]+)" "[a-z0-9_]+" \{$(.*?)^\}$`).FindAllStringSubmatch(string(text), -1) {
			made[block[1]] = made[block[1]] || regexp.MustCompile(`(?m)^  tags +=`).MatchString(block[2])
		}
	}
	if want := slices.Sorted(maps.Keys(made)); len(want) < 20 || !slices.Equal(want, slices.Sorted(maps.Keys(terraform))) {
		t.Errorf("the module makes %v,\nand there are needs of %v", want, slices.Sorted(maps.Keys(terraform)))
	}
	for kind, tagged := range made {
		for name, verb := range map[string]string{
			"made":      `:(Create|Put|Set|Add|Change|POST)`,
			"read back": `:(Get|List|Describe|GET)`,
			"tagged":    `:(Tag[A-Z]|PutBucketTagging)`,
		} {
			is := func(action string) bool { return regexp.MustCompile(verb).MatchString(action) }
			if (name != "tagged" || tagged) && !slices.ContainsFunc(actionsOf(terraform[kind]), is) {
				t.Errorf("%s can not be %s by %v", kind, name, actionsOf(terraform[kind]))
			}
		}
	}
}

// TestNeeds holds what is asked for that no resource stands for, and only where the
// parameters ask for it.
func TestNeeds(t *testing.T) {
	least := Params{BucketName: "b"}
	all := Params{BucketName: "b", DomainName: "d.example.com", HostedZoneID: "Z1", UploaderNamespace: "n", SubnetIDs: "subnet-1", MoreAlarms: true}
	for with := range tools {
		for _, p := range []Params{least, all} {
			p.With = with
			c := check{Params: p, region: "eu-central-1"}
			for _, need := range c.needs(deployer) {
				for _, resource := range need.resources {
					if resource != "*" && !strings.HasPrefix(resource, "arn:aws:") || len(need.actions) == 0 {
						t.Errorf("%s: %v on %q", with, need.actions, resource)
					}
				}
			}
		}
	}
	arn := func(service, resource string) string { return "arn:aws:" + service + ":eu-central-1:" + resource }
	for _, tt := range []struct {
		action, with string
		params       Params
		want         []string // on which it is needed
	}{
		{"cloudformation:CreateChangeSet", "sam", least, []string{
			arn("cloudformation", account+":stack/aws-sam-cli-managed-default/"+anyID),
			arn("cloudformation", account+":stack/larder/"+anyID),
			arn("cloudformation", "aws:transform/Serverless-2016-10-31"),
		}},
		{"cloudformation:CreateChangeSet", "terraform", all, nil},
		{"s3:CreateBucket", "sam", least, []string{"arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-0123456789ab", "arn:aws:s3:::b"}},
		{"s3:CreateBucket", "terraform", least, []string{"arn:aws:s3:::b"}},
		{"s3:PutObject", "sam", least, []string{"arn:aws:s3:::aws-sam-cli-managed-default-samclisourcebucket-0123456789ab/" + anyID}},
		{"lambda:PutFunctionRecursionConfig", "sam", least, []string{arn("lambda", account+":function:b-publish")}},
		{"lambda:PutFunctionRecursionConfig", "terraform", least, []string{arn("lambda", account+":function:b-publish")}},
		{"iam:TagPolicy", "terraform", least, []string{"arn:aws:iam::" + account + ":policy/b-operate"}},
		{"iam:CreatePolicy", "sam", all, []string{"arn:aws:iam::" + account + ":policy/b-operate", "arn:aws:iam::" + account + ":policy/b-upload-n"}},
		{"route53:ChangeResourceRecordSets", "sam", least, nil},
		{"route53:ListHostedZones", "sam", least, nil},
		{"route53:ChangeResourceRecordSets", "terraform", all, []string{"arn:aws:route53:::hostedzone/Z1"}},
		{"ec2:DescribeSubnets", "sam", least, nil},
		{"ec2:DescribeSubnets", "sam", all, []string{"*"}},
		{"ec2:DescribeSubnets", "terraform", all, []string{"*"}},
		{"logs:PutMetricFilter", "terraform", least, nil},
		{"logs:PutMetricFilter", "sam", all, []string{arn("logs", account+":log-group:/aws/lambda/b-publish")}},
		{"apigateway:AddCertificateToDomain", "sam", least, nil},
		{"apigateway:AddCertificateToDomain", "terraform", all, []string{arn("apigateway", ":/domainnames"), arn("apigateway", ":/domainnames/d.example.com")}},
	} {
		tt.params.With = tt.with
		var got []string
		for _, need := range (check{Params: tt.params, region: "eu-central-1"}).needs(deployer) {
			if slices.Contains(need.actions, tt.action) {
				got = append(got, need.resources...)
			}
		}
		if slices.Sort(got); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s with %s is needed on %v, want %v", tt.action, tt.with, got, tt.want)
		}
	}
}

// actionsOf are all actions of rights, each once.
func actionsOf(r rights) []string {
	var all []string
	for _, actions := range r {
		all = append(all, strings.Fields(actions)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// without is a list without what another has.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool { return slices.Contains(other, item) })
}
