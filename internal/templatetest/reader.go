package templatetest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// resource is a resource of a deployment, with its logical name in a template, or its address in a
// module.
type resource struct {
	tree
	name string
	kept bool // when the deployment is deleted, or replaces it
}

// reader reads a deployment from its description in either language: each type of resource, and
// each place in one, is named in CloudFormation and in Terraform.
type reader struct {
	values    Values
	terraform bool
	resources map[string][]resource // by type, in the order of their names
	read      []string              // the types that were read
	errs      []error
}

// deployment reads everything but the outputs. It refuses resources that it did not read: a
// comparison must see all that is deployed.
func (r *reader) deployment() (*Deployment, error) {
	d := &Deployment{
		Functions:       r.functions(),
		Bucket:          r.bucket(),
		Table:           r.table(),
		SigningKey:      r.key(),
		Queue:           r.queue("Queue", "uploads"),
		DeadLetterQueue: r.queue("DeadLetterQueue", "dead_letters"),
		Outcomes:        r.topic(),
		Managed:         r.managed(),
		LogGroups:       r.logGroups(),
		Metrics:         r.metrics(),
		Alarms:          r.alarms(),
		Dashboard:       r.only("AWS::CloudWatch::Dashboard", "aws_cloudwatch_dashboard").in("DashboardBody", "dashboard_body").json(),
	}
	d.Routes, d.API = r.routes(d.Functions), r.api(d.Functions)
	d.Events, d.Reconcile = r.events("UploadEvents", "uploads", d.Functions), r.reconcile(d.Functions)
	if _, pulls := d.Functions["fetch"]; pulls {
		d.Fetching = &Fetching{
			r.queue("FetchQueue", "fetch"), r.queue("FetchDeadLetterQueue", "fetch_dead_letters"), r.events("FetchEvents", "fetch", d.Functions),
		}
	}
	for kind, resources := range r.resources {
		if !slices.Contains(r.read, kind) {
			r.errs = append(r.errs, fmt.Errorf("the resource type %s is not known here", kind))
		}
		for _, one := range resources {
			r.errs = append(r.errs, one.err())
		}
	}
	return d, errors.Join(r.errs...)
}

// all returns the resources of a type.
func (r *reader) all(cloudFormation, terraform string) []resource {
	kind := cloudFormation
	if r.terraform {
		kind = terraform
	}
	r.read = append(r.read, kind)
	return r.resources[kind]
}

// only returns the one resource of a type.
func (r *reader) only(cloudFormation, terraform string) resource {
	found := r.all(cloudFormation, terraform)
	if len(found) == 1 {
		return found[0]
	}
	r.errs = append(r.errs, fmt.Errorf("there are %d resources of type %s, or %s, not one", len(found), cloudFormation, terraform))
	return resource{tree: newTree(cloudFormation, nil)}
}

// named returns the resource of a type with a name, which in a module comes after the type.
func (r *reader) named(cloudFormation, terraform, template, module string) (resource, bool) {
	name := template
	if r.terraform {
		name = terraform + "." + module
	}
	for _, one := range r.all(cloudFormation, terraform) {
		if one.name == name {
			return one, true
		}
	}
	r.errs = append(r.errs, fmt.Errorf("there is no %s %s", cloudFormation, name))
	return resource{tree: newTree(name, nil)}, false
}

// settings returns the settings of a bucket of one kind. In Terraform they are a resource.
func (r *reader) settings(bucket resource, kind string) resource {
	if !r.terraform {
		return bucket
	}
	s := r.only("", kind)
	if of, name := s.at("bucket").text(), bucket.at("bucket").text(); of != name {
		s.failf("it is of the bucket %s, and not of %s", of, name)
	}
	return s
}

func (r *reader) functions() map[string]Function {
	functions := map[string]Function{}
	for _, one := range r.all("AWS::Serverless::Function", "aws_lambda_function") {
		f := Function{
			Name:         one.in("FunctionName", "function_name").text(),
			Description:  one.in("Description", "description").text(),
			Code:         code(one),
			Runtime:      one.in("Runtime", "runtime").text(),
			Architecture: strings.Join(one.in("Architectures", "architectures").texts(), " "),
			Handler:      one.in("Handler", "handler").text(),
			Memory:       one.in("MemorySize", "memory_size").number(),
			Timeout:      one.in("Timeout", "timeout").number(),
			Storage:      one.in("EphemeralStorage.Size", "ephemeral_storage.size").or(512).number(),
			Recursion:    one.in("RecursiveLoop", "").or("Terminate").text(),
			LogGroup:     one.in("LoggingConfig.LogGroup", "logging_config.log_group").text(),
			Environment:  one.in("Environment.Variables", "environment.variables").or(map[string]any{}).table(),
			Subnets:      one.in("VpcConfig.SubnetIds", "vpc_config.subnet_ids").or([]any{}).texts(),
			Groups:       one.in("VpcConfig.SecurityGroupIds", "vpc_config.security_group_ids").or([]any{}).texts(),
			Role:         one.in("Role", "role").text(),
		}
		f.Trust, f.Policy, f.Boundary = r.role(f.Role)
		for _, p := range r.all("AWS::Lambda::Permission", "aws_lambda_permission") {
			if p.in("FunctionName", "function_name").text() == f.Name {
				f.Invokers = append(f.Invokers, Invoker{
					p.in("Action", "action").text(), p.in("Principal", "principal").text(), p.in("SourceArn", "source_arn").text(),
				})
			}
		}
		for _, c := range r.all("", "aws_lambda_function_recursion_config") {
			if c.at("function_name").text() == f.Name {
				f.Recursion = c.at("recursive_loop").text()
			}
		}
		functions[folder(one, f.Code)] = f
	}
	return functions
}

// code returns the folder of a function's code, or its place in S3. In Terraform it is a zip beside
// that folder, where `make build` puts it, and the module is one folder deep.
func code(function resource) string {
	if !function.terraform {
		return path.Clean(function.at("CodeUri").text())
	}
	zip := function.at("filename").or("").text()
	if zip == "" {
		return fmt.Sprintf("s3://%s/%s", function.at("s3_bucket").text(), function.at("s3_key").text())
	}
	return strings.TrimPrefix(strings.TrimSuffix(path.Clean(zip), ".zip"), "../")
}

// folder returns the name of a function in the source.
func folder(function resource, code string) string {
	if function.terraform {
		return keyOf(function.name)
	}
	return path.Base(code)
}

// role returns the trust policy, the policy and the boundary of a role.
func (r *reader) role(arn string) (trust, policy Policy, boundary string) {
	for _, one := range r.all("AWS::IAM::Role", "aws_iam_role") {
		name := one.in("RoleName", "name").text()
		if r.values.iamARN("role/"+name) != arn {
			continue
		}
		if one.in("ManagedPolicyArns", "managed_policy_arns").there() {
			one.failf("a role has managed policies: write out what it may do")
		}
		for _, inline := range one.in("Policies", "").or([]any{}).list() {
			policy = append(policy, inline.at("PolicyDocument").policy()...)
		}
		for _, inline := range r.all("", "aws_iam_role_policy") {
			if inline.at("role").text() == name {
				policy = append(policy, inline.at("policy").policy()...)
			}
		}
		return one.in("AssumeRolePolicyDocument", "assume_role_policy").policy(), policy, one.in("PermissionsBoundary", "permissions_boundary").or("").text()
	}
	r.errs = append(r.errs, fmt.Errorf("there is no role %s", arn))
	return nil, nil, ""
}

func (r *reader) managed() map[string]Policy {
	policies := map[string]Policy{}
	for _, one := range r.all("AWS::IAM::ManagedPolicy", "aws_iam_policy") {
		policies[one.in("ManagedPolicyName", "name").text()] = one.in("PolicyDocument", "policy").policy()
	}
	return policies
}

// publicAccess are the settings of public access to a bucket.
var publicAccess = map[string]string{
	"BlockPublicAcls": "block_public_acls", "BlockPublicPolicy": "block_public_policy",
	"IgnorePublicAcls": "ignore_public_acls", "RestrictPublicBuckets": "restrict_public_buckets",
}

func (r *reader) bucket() Bucket {
	one := r.only("AWS::S3::Bucket", "aws_s3_bucket")
	policy := r.only("AWS::S3::BucketPolicy", "aws_s3_bucket_policy")
	b := Bucket{
		Name: one.in("BucketName", "bucket").text(),
		Kept: one.kept,
		Versioning: r.settings(one, "aws_s3_bucket_versioning").
			in("VersioningConfiguration.Status", "versioning_configuration.status").text(),
		Encryption: r.settings(one, "aws_s3_bucket_server_side_encryption_configuration").
			in("BucketEncryption.ServerSideEncryptionConfiguration.ServerSideEncryptionByDefault.SSEAlgorithm", "rule.apply_server_side_encryption_by_default.sse_algorithm").text(),
		Ownership: r.settings(one, "aws_s3_bucket_ownership_controls").
			in("OwnershipControls.Rules.ObjectOwnership", "rule.object_ownership").text(),
		PublicAccess: map[string]string{},
		Lifecycle:    map[string]LifecycleRule{},
		Policy:       policy.in("PolicyDocument", "policy").policy(),
		PolicyKept:   policy.kept,
	}
	if of := policy.in("Bucket", "bucket").text(); of != b.Name {
		policy.failf("the policy is of the bucket %s", of)
	}
	for property, argument := range publicAccess {
		b.PublicAccess[property] = r.settings(one, "aws_s3_bucket_public_access_block").in("PublicAccessBlockConfiguration."+property, argument).text()
	}
	for _, rule := range r.settings(one, "aws_s3_bucket_lifecycle_configuration").in("LifecycleConfiguration.Rules", "rule").list() {
		b.Lifecycle[rule.in("Id", "id").text()] = LifecycleRule{
			Prefix:               rule.in("Prefix", "filter.prefix").or("").text(),
			Enabled:              rule.in("Status", "status").text() == "Enabled",
			ExpireDays:           rule.in("ExpirationInDays", "expiration.days").or(0).number(),
			ExpireNoncurrentDays: rule.in("NoncurrentVersionExpiration.NoncurrentDays", "noncurrent_version_expiration.noncurrent_days").or(0).number(),
			AbortAfterDays:       rule.in("AbortIncompleteMultipartUpload.DaysAfterInitiation", "abort_incomplete_multipart_upload.days_after_initiation").or(0).number(),
		}
	}
	for _, n := range r.settings(one, "aws_s3_bucket_notification").in("NotificationConfiguration.QueueConfigurations", "queue").list() {
		if filter := n.at("Filter", "S3Key", "Rules", "Name"); !n.terraform && filter.text() != "prefix" {
			n.failf("the filter is by %s", filter.text())
		}
		for _, event := range n.in("Event", "events").oneOrMore() {
			b.Notifications = append(b.Notifications, Notification{
				n.in("Filter.S3Key.Rules.Value", "filter_prefix").text(), event, n.in("Queue", "queue_arn").text(),
			})
		}
	}
	return b
}

func (r *reader) table() Table {
	one := r.only("AWS::DynamoDB::Table", "aws_dynamodb_table")
	table := Table{
		Name:               one.in("TableName", "name").text(),
		Kept:               one.kept,
		Billing:            one.in("BillingMode", "billing_mode").text(),
		DeletionProtection: one.in("DeletionProtectionEnabled", "deletion_protection_enabled").flag(),
		Recovery:           one.in("PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", "point_in_time_recovery.enabled").flag(),
	}
	table.ARN = r.values.arn("dynamodb", "table/"+table.Name)
	if one.in("TimeToLiveSpecification.Enabled", "ttl.enabled").flag() {
		table.TTL = one.in("TimeToLiveSpecification.AttributeName", "ttl.attribute_name").text()
	}
	types := map[string]string{}
	for _, a := range one.in("AttributeDefinitions", "attribute").list() {
		types[a.in("AttributeName", "name").text()] = a.in("AttributeType", "type").text()
	}
	for _, key := range keys(one) {
		table.Keys = append(table.Keys, key+" "+types[key])
	}
	return table
}

// keys returns the attributes of a table's primary key.
func keys(table resource) (names []string) {
	if table.terraform {
		return []string{table.at("hash_key").text(), table.at("range_key").text()}
	}
	for n, key := range table.in("KeySchema", "").list() {
		if kind := key.at("KeyType").text(); kind != []string{"HASH", "RANGE"}[n] {
			key.failf("key %d is a %s key", n, kind)
		}
		names = append(names, key.at("AttributeName").text())
	}
	return names
}

func (r *reader) key() Key {
	one, alias := r.only("AWS::KMS::Key", "aws_kms_key"), r.only("AWS::KMS::Alias", "aws_kms_alias")
	if target := alias.in("TargetKeyId", "target_key_id").text(); target != r.values.KeyID {
		alias.failf("the alias is of the key %s", target)
	}
	return Key{
		ARN:         r.values.arn("kms", "key/"+r.values.KeyID),
		Kept:        one.kept,
		Description: one.in("Description", "description").text(),
		Spec:        one.in("KeySpec", "customer_master_key_spec").text(),
		Usage:       one.in("KeyUsage", "key_usage").text(),
		MultiRegion: one.in("MultiRegion", "multi_region").or(false).flag(),
		Window:      one.in("PendingWindowInDays", "deletion_window_in_days").number(),
		Alias:       alias.in("AliasName", "name").text(),
		Policy:      one.in("KeyPolicy", "policy").policy(),
	}
}

func (r *reader) queue(template, module string) Queue {
	one, ok := r.named("AWS::SQS::Queue", "aws_sqs_queue", template, module)
	if !ok {
		return Queue{}
	}
	redrive := one.in("RedrivePolicy", "redrive_policy").document()
	q := Queue{
		Name:        one.in("QueueName", "name").text(),
		FIFO:        one.in("FifoQueue", "fifo_queue").or(false).flag(),
		ManagedSSE:  one.in("SqsManagedSseEnabled", "sqs_managed_sse_enabled").or(false).flag(),
		KMSKey:      one.in("KmsMasterKeyId", "kms_master_key_id").or("").text(),
		Visibility:  one.in("VisibilityTimeout", "visibility_timeout_seconds").or(0).number(),
		Retention:   one.in("MessageRetentionPeriod", "message_retention_seconds").number(),
		Wait:        one.in("ReceiveMessageWaitTimeSeconds", "receive_wait_time_seconds").or(0).number(),
		DeadLetters: redrive.at("deadLetterTargetArn").or("").text(),
		MaxReceives: redrive.at("maxReceiveCount").or(0).number(),
		Redrive:     one.in("RedriveAllowPolicy", "redrive_allow_policy").document().value,
	}
	q.ARN, q.URL = r.values.arn("sqs", q.Name), r.values.queueURL(q.Name)
	for _, policy := range r.all("AWS::SQS::QueuePolicy", "aws_sqs_queue_policy") {
		if slices.Contains(policy.in("Queues", "queue_url").oneOrMore(), q.URL) {
			q.Policy = append(q.Policy, policy.in("PolicyDocument", "policy").policy()...)
		}
	}
	return q
}

func (r *reader) topic() Topic {
	one, policy := r.only("AWS::SNS::Topic", "aws_sns_topic"), r.only("AWS::SNS::TopicPolicy", "aws_sns_topic_policy")
	topic := Topic{
		Name:   one.in("TopicName", "name").text(),
		KMSKey: one.in("KmsMasterKeyId", "kms_master_key_id").or("").text(),
		Policy: policy.in("PolicyDocument", "policy").policy(),
	}
	topic.ARN = r.values.arn("sns", topic.Name)
	if of := policy.in("Topics", "arn").oneOrMore(); !slices.Equal(of, []string{topic.ARN}) {
		policy.failf("the policy is of %v", of)
	}
	return topic
}

func (r *reader) integrations() []resource {
	return r.all("AWS::ApiGatewayV2::Integration", "aws_apigatewayv2_integration")
}

func (r *reader) routes(functions map[string]Function) map[string]string {
	routes := map[string]string{}
	for _, one := range r.all("AWS::ApiGatewayV2::Route", "aws_apigatewayv2_route") {
		target, function := strings.TrimPrefix(one.in("Target", "target").text(), "integrations/"), ""
		for _, integration := range r.integrations() {
			if integration.name == target {
				function = functionOf(functions, integration.in("IntegrationUri", "integration_uri").text())
			}
		}
		routes[one.in("RouteKey", "route_key").text()] = function
	}
	return routes
}

func (r *reader) api(functions map[string]Function) API {
	one, stage := r.only("AWS::ApiGatewayV2::Api", "aws_apigatewayv2_api"), r.only("AWS::ApiGatewayV2::Stage", "aws_apigatewayv2_stage")
	a := API{
		Name:                    one.in("Name", "name").text(),
		Protocol:                one.in("ProtocolType", "protocol_type").text(),
		DefaultEndpointDisabled: one.in("DisableExecuteApiEndpoint", "disable_execute_api_endpoint").flag(),
		Stage:                   stage.in("StageName", "name").text(),
		AutoDeploy:              stage.in("AutoDeploy", "auto_deploy").flag(),
		Throttle:                throttle(stage.in("DefaultRouteSettings", "default_route_settings")),
		Throttles:               throttles(stage),
		AccessLog:               logGroupOf(stage.in("AccessLogSettings.DestinationArn", "access_log_settings.destination_arn").text()),
		AccessLogFormat:         stage.in("AccessLogSettings.Format", "access_log_settings.format").json(),
		PayloadFormats:          map[string]string{},
	}
	for _, i := range r.integrations() {
		a.PayloadFormats[functionOf(functions, i.in("IntegrationUri", "integration_uri").text())] =
			i.in("IntegrationType", "integration_type").text() + " " + i.in("PayloadFormatVersion", "payload_format_version").text()
	}
	for _, domain := range r.all("AWS::ApiGatewayV2::DomainName", "aws_apigatewayv2_domain_name") {
		a.Domain = r.domain(domain)
	}
	for _, record := range r.all("AWS::Route53::RecordSet", "aws_route53_record") {
		a.Record = &Record{
			record.in("HostedZoneId", "zone_id").text(), record.in("Name", "name").text(), record.in("Type", "type").text(),
			record.in("AliasTarget.DNSName", "alias.name").text(), record.in("AliasTarget.HostedZoneId", "alias.zone_id").text(),
		}
	}
	return a
}

// throttles returns the throttles of single routes.
func throttles(stage resource) map[string]Throttle {
	all := map[string]Throttle{}
	if stage.terraform {
		for _, settings := range stage.at("route_settings").or([]any{}).list() {
			all[settings.at("route_key").text()] = throttle(settings)
		}
		return all
	}
	routes, _ := stage.in("RouteSettings", "").value.(map[string]any)
	for route := range routes {
		all[route] = throttle(stage.in("RouteSettings", "").at(route))
	}
	return all
}

func throttle(settings tree) Throttle {
	return Throttle{
		settings.in("ThrottlingRateLimit", "throttling_rate_limit").number(), settings.in("ThrottlingBurstLimit", "throttling_burst_limit").number(),
	}
}

func (r *reader) domain(one resource) *Domain {
	mapping := r.only("AWS::ApiGatewayV2::ApiMapping", "aws_apigatewayv2_api_mapping")
	name := one.in("DomainName", "domain_name").text()
	if mapping.in("DomainName", "domain_name").text() != name || mapping.in("ApiMappingKey", "api_mapping_key").there() {
		mapping.failf("the API is not at the root of the domain")
	}
	settings := one.in("DomainNameConfigurations", "domain_name_configuration")
	return &Domain{
		name, settings.in("CertificateArn", "certificate_arn").text(), settings.in("EndpointType", "endpoint_type").text(),
		settings.in("SecurityPolicy", "security_policy").text(), one.in("MutualTlsAuthentication.TruststoreUri", "mutual_tls_authentication.truststore_uri").or("").text(),
		mapping.in("ApiId", "api_id").text(), mapping.in("Stage", "stage").text(),
	}
}

// logGroupOf returns the name of the log group of an ARN.
func logGroupOf(arn string) string {
	_, name, _ := strings.Cut(arn, ":log-group:")
	return strings.TrimSuffix(name, ":*")
}

func (r *reader) events(template, module string, functions map[string]Function) EventSource {
	one, ok := r.named("AWS::Lambda::EventSourceMapping", "aws_lambda_event_source_mapping", template, module)
	if !ok {
		return EventSource{}
	}
	return EventSource{
		one.in("EventSourceArn", "event_source_arn").text(), functionOf(functions, one.in("FunctionName", "function_name").text()), one.in("BatchSize", "batch_size").number(),
		one.in("ScalingConfig.MaximumConcurrency", "scaling_config.maximum_concurrency").number(), one.in("FunctionResponseTypes", "function_response_types").texts(),
	}
}

func (r *reader) reconcile(functions map[string]Function) Schedule {
	one := r.only("AWS::Scheduler::Schedule", "aws_scheduler_schedule")
	window := one.in("FlexibleTimeWindow", "flexible_time_window")
	schedule := Schedule{
		Name:        one.in("Name", "name").text(),
		Description: one.in("Description", "description").text(),
		Expression:  one.in("ScheduleExpression", "schedule_expression").text(),
		Window:      window.in("Mode", "mode").text() + " " + window.in("MaximumWindowInMinutes", "maximum_window_in_minutes").text(),
		Function:    functionOf(functions, one.in("Target.Arn", "target.arn").text()),
		Input:       one.in("Target.Input", "target.input").text(),
	}
	schedule.Trust, schedule.Policy, schedule.Boundary = r.role(one.in("Target.RoleArn", "target.role_arn").text())
	return schedule
}

func (r *reader) logGroups() map[string]LogGroup {
	groups := map[string]LogGroup{}
	for _, one := range r.all("AWS::Logs::LogGroup", "aws_cloudwatch_log_group") {
		groups[one.in("LogGroupName", "name").text()] = LogGroup{one.in("RetentionInDays", "retention_in_days").number(), one.in("KmsKeyId", "kms_key_id").or("").text()}
	}
	return groups
}

func (r *reader) metrics() map[string]Metric {
	metrics := map[string]Metric{}
	for _, one := range r.all("AWS::Logs::MetricFilter", "aws_cloudwatch_log_metric_filter") {
		as := one.in("MetricTransformations", "metric_transformation")
		metrics[one.in("FilterName", "name").text()] = Metric{
			one.in("LogGroupName", "log_group_name").text(), one.in("FilterPattern", "pattern").text(),
			as.in("MetricNamespace", "namespace").text(), as.in("MetricName", "name").text(), as.in("MetricValue", "value").text(),
		}
	}
	return metrics
}

func (r *reader) alarms() map[string]Alarm {
	alarms := map[string]Alarm{}
	for _, one := range r.all("AWS::CloudWatch::Alarm", "aws_cloudwatch_metric_alarm") {
		alarms[one.in("AlarmName", "alarm_name").text()] = Alarm{
			Description: one.in("AlarmDescription", "alarm_description").text(),
			Namespace:   one.in("Namespace", "namespace").text(),
			Metric:      one.in("MetricName", "metric_name").text(),
			Statistic:   one.in("Statistic", "statistic").text(),
			Dimensions:  dimensions(one),
			Period:      one.in("Period", "period").number(),
			Evaluations: one.in("EvaluationPeriods", "evaluation_periods").number(),
			Threshold:   one.in("Threshold", "threshold").number(),
			Comparison:  one.in("ComparisonOperator", "comparison_operator").text(),
			Missing:     one.in("TreatMissingData", "treat_missing_data").text(),
			Actions:     one.in("AlarmActions", "alarm_actions").or([]any{}).texts(),
			OKActions:   one.in("OKActions", "ok_actions").or([]any{}).texts(),
		}
	}
	return alarms
}

func dimensions(alarm resource) map[string]string {
	if alarm.terraform {
		return alarm.at("dimensions").table()
	}
	all := map[string]string{}
	for _, dimension := range alarm.in("Dimensions", "").or([]any{}).list() {
		all[dimension.at("Name").text()] = dimension.at("Value").text()
	}
	return all
}
