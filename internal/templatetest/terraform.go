package templatetest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// LoadTerraform reads a deployment from a Terraform module. The variables are
// the template's parameters in snake case. An error says what in it is not
// understood, which variable it refuses, or what waits for itself.
func LoadTerraform(dir string, v Values) (*Deployment, error) {
	m, err := readModule(dir, v)
	if err != nil {
		return nil, err
	}
	if err := m.evaluate(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	t := &terraform{module: m}
	d := &Deployment{
		Functions:       t.functions(),
		Bucket:          t.bucket(),
		Table:           t.table(),
		SigningKey:      t.key(),
		Queue:           t.queue("uploads"),
		DeadLetterQueue: t.queue("dead_letters"),
		Outcomes:        t.topic(),
		Managed:         t.managed(),
		LogGroups:       t.logGroups(),
		Metrics:         t.metrics(),
		Alarms:          t.alarms(),
		Dashboard:       t.only("aws_cloudwatch_dashboard").at("dashboard_body").json(),
		Outputs:         t.outputs(),
	}
	d.Routes, d.API = t.routes(d.Functions), t.api(d.Functions)
	d.Events, d.Reconcile = t.events("uploads", d.Functions), t.reconcile(d.Functions)
	if _, pulls := d.Functions["fetch"]; pulls {
		d.Fetching = &Fetching{t.queue("fetch"), t.queue("fetch_dead_letters"), t.events("fetch", d.Functions)}
	}
	for address, body := range m.bodies {
		if kind, _, _ := strings.Cut(address, "."); !slices.Contains(t.read, kind) {
			t.errs = append(t.errs, fmt.Errorf("the resource type %s is not known here", kind))
		}
		t.errs = append(t.errs, body.err())
	}
	if err := errors.Join(t.errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return d, nil
}

// terraform finds the parts of the registry among a module's resources.
type terraform struct {
	*module
	read []string // the types that were looked at
	errs []error
}

// all are the instances of a resource type, in the order of their addresses.
func (t *terraform) all(kind string) []tree {
	t.read = append(t.read, kind)
	var found []tree
	for _, address := range slices.Sorted(maps.Keys(t.bodies)) {
		if strings.HasPrefix(address, kind+".") {
			found = append(found, t.bodies[address])
		}
	}
	return found
}

// only is the one instance of a resource type.
func (t *terraform) only(kind string) tree {
	found := t.all(kind)
	if len(found) == 1 {
		return found[0]
	}
	t.errs = append(t.errs, fmt.Errorf("there are %d resources of type %s, not one", len(found), kind))
	return newTree(kind, nil)
}

func (t *terraform) functions() map[string]Function {
	functions := map[string]Function{}
	for _, r := range t.all("aws_lambda_function") {
		folder := keyOf(r.path)
		f := Function{
			Name:         r.at("function_name").text(),
			Description:  r.at("description").text(),
			Code:         code(r),
			Runtime:      r.at("runtime").text(),
			Architecture: strings.Join(r.at("architectures").texts(), " "),
			Handler:      r.at("handler").text(),
			Memory:       r.at("memory_size").number(),
			Timeout:      r.at("timeout").number(),
			Storage:      r.at("ephemeral_storage", "size").number(),
			Recursion:    "Terminate",
			LogGroup:     r.at("logging_config", "log_group").text(),
			Environment:  r.at("environment", "variables").or(map[string]any{}).table(),
			Subnets:      r.at("vpc_config", "subnet_ids").or([]any{}).texts(),
			Groups:       r.at("vpc_config", "security_group_ids").or([]any{}).texts(),
			Role:         r.at("role").text(),
		}
		f.Trust, f.Policy, f.Boundary = t.role(f.Role)
		for _, p := range t.all("aws_lambda_permission") {
			if p.at("function_name").text() == f.Name {
				f.Invokers = append(f.Invokers, Invoker{p.at("action").text(), p.at("principal").text(), p.at("source_arn").text()})
			}
		}
		for _, c := range t.all("aws_lambda_function_recursion_config") {
			if c.at("function_name").text() == f.Name {
				f.Recursion = c.at("recursive_loop").text()
			}
		}
		functions[folder] = f
	}
	return functions
}

// keyOf is the key in the address of an instance, such as aws_x.y["key"].
func keyOf(address string) string {
	_, rest, _ := strings.Cut(address, `["`)
	return strings.TrimSuffix(rest, `"]`)
}

// code is the folder that a function's zip is made from, beside which `make build` puts it; or where it is in S3.
func code(function tree) string {
	zip := function.at("filename").or("").text()
	if zip == "" {
		return fmt.Sprintf("s3://%s/%s", function.at("s3_bucket").text(), function.at("s3_key").text())
	}
	return strings.TrimPrefix(strings.TrimSuffix(path.Clean(zip), ".zip"), "../") // the module is one folder deep
}

func (t *terraform) role(arn string) (trust, policy Policy, boundary string) {
	for _, r := range t.all("aws_iam_role") {
		name := r.at("name").text()
		if t.values.iamARN("role/"+name) != arn {
			continue
		}
		for _, inline := range t.all("aws_iam_role_policy") {
			if inline.at("role").text() == name {
				policy = append(policy, inline.at("policy").policy()...)
			}
		}
		return r.at("assume_role_policy").policy(), policy, r.at("permissions_boundary").or("").text()
	}
	t.errs = append(t.errs, fmt.Errorf("there is no role %s", arn))
	return nil, nil, ""
}

func (t *terraform) managed() map[string]Policy {
	policies := map[string]Policy{}
	for _, r := range t.all("aws_iam_policy") {
		policies[r.at("name").text()] = r.at("policy").policy()
	}
	return policies
}

// publicAccess are Terraform's names for what CloudFormation says of public
// access to a bucket.
var publicAccess = map[string]string{
	"BlockPublicAcls": "block_public_acls", "BlockPublicPolicy": "block_public_policy",
	"IgnorePublicAcls": "ignore_public_acls", "RestrictPublicBuckets": "restrict_public_buckets",
}

func (t *terraform) bucket() Bucket {
	r := t.only("aws_s3_bucket")
	policy := t.only("aws_s3_bucket_policy")
	encryption := t.only("aws_s3_bucket_server_side_encryption_configuration")
	b := Bucket{
		Name:          r.at("bucket").text(),
		Kept:          protected(r),
		Versioning:    t.only("aws_s3_bucket_versioning").at("versioning_configuration", "status").text(),
		Encryption:    encryption.at("rule", "apply_server_side_encryption_by_default", "sse_algorithm").text(),
		Ownership:     t.only("aws_s3_bucket_ownership_controls").at("rule", "object_ownership").text(),
		PublicAccess:  map[string]string{},
		Lifecycle:     map[string]LifecycleRule{},
		Notifications: t.notifications(),
		Policy:        policy.at("policy").policy(),
		PolicyKept:    protected(policy),
	}
	for property, argument := range publicAccess {
		b.PublicAccess[property] = t.only("aws_s3_bucket_public_access_block").at(argument).text()
	}
	for _, rule := range t.only("aws_s3_bucket_lifecycle_configuration").at("rule").list() {
		b.Lifecycle[rule.at("id").text()] = LifecycleRule{
			Prefix:               rule.at("filter", "prefix").or("").text(),
			Enabled:              rule.at("status").text() == "Enabled",
			ExpireDays:           rule.at("expiration", "days").or(0).number(),
			ExpireNoncurrentDays: rule.at("noncurrent_version_expiration", "noncurrent_days").or(0).number(),
			AbortAfterDays:       rule.at("abort_incomplete_multipart_upload", "days_after_initiation").or(0).number(),
		}
	}
	for _, kind := range bucketSettings {
		if id := t.only(kind).at("bucket").text(); id != b.Name {
			r.failf("%s is of the bucket %s", kind, id)
		}
	}
	return b
}

// bucketSettings are the resources that are about a bucket.
var bucketSettings = []string{
	"aws_s3_bucket_versioning", "aws_s3_bucket_server_side_encryption_configuration", "aws_s3_bucket_public_access_block",
	"aws_s3_bucket_ownership_controls", "aws_s3_bucket_lifecycle_configuration", "aws_s3_bucket_notification", "aws_s3_bucket_policy",
}

func (t *terraform) notifications() []Notification {
	var all []Notification
	for _, n := range t.only("aws_s3_bucket_notification").at("queue").list() {
		for _, event := range n.at("events").texts() {
			all = append(all, Notification{n.at("filter_prefix").text(), event, n.at("queue_arn").text()})
		}
	}
	return all
}

// protected says whether Terraform refuses to destroy a resource.
func protected(r tree) bool { return r.at("lifecycle", "prevent_destroy").or(false).flag() }

func (t *terraform) table() Table {
	r := t.only("aws_dynamodb_table")
	table := Table{
		Name:               r.at("name").text(),
		ARN:                t.values.arn("dynamodb", "table/"+r.at("name").text()),
		Kept:               protected(r),
		Billing:            r.at("billing_mode").text(),
		DeletionProtection: r.at("deletion_protection_enabled").flag(),
		Recovery:           r.at("point_in_time_recovery", "enabled").flag(),
	}
	if r.at("ttl", "enabled").flag() {
		table.TTL = r.at("ttl", "attribute_name").text()
	}
	types := map[string]string{}
	for _, a := range r.at("attribute").list() {
		types[a.at("name").text()] = a.at("type").text()
	}
	for _, key := range []string{"hash_key", "range_key"} {
		name := r.at(key).text()
		table.Keys = append(table.Keys, name+" "+types[name])
	}
	return table
}

func (t *terraform) key() Key {
	r := t.only("aws_kms_key")
	alias := t.only("aws_kms_alias")
	if target := alias.at("target_key_id").text(); target != t.values.KeyID {
		alias.failf("the alias is of the key %s", target)
	}
	return Key{
		ARN:         t.values.arn("kms", "key/"+t.values.KeyID),
		Kept:        protected(r),
		Description: r.at("description").text(),
		Spec:        r.at("customer_master_key_spec").text(),
		Usage:       r.at("key_usage").text(),
		MultiRegion: r.at("multi_region").or(false).flag(),
		Window:      r.at("deletion_window_in_days").number(),
		Alias:       alias.at("name").text(),
		Policy:      r.at("policy").policy(),
	}
}

func (t *terraform) queue(name string) Queue {
	t.read = append(t.read, "aws_sqs_queue")
	r, ok := t.bodies["aws_sqs_queue."+name]
	if !ok {
		t.errs = append(t.errs, fmt.Errorf("there is no queue %s", name))
		return Queue{}
	}
	q := Queue{
		Name:       r.at("name").text(),
		FIFO:       r.at("fifo_queue").or(false).flag(),
		ManagedSSE: r.at("sqs_managed_sse_enabled").or(false).flag(),
		KMSKey:     r.at("kms_master_key_id").or("").text(),
		Visibility: r.at("visibility_timeout_seconds").or(0).number(),
		Retention:  r.at("message_retention_seconds").number(),
		Wait:       r.at("receive_wait_time_seconds").or(0).number(),
	}
	if policy := r.at("redrive_policy"); policy.there() {
		redrive := tree{policy.json(), policy.path, policy.errs}
		q.DeadLetters, q.MaxReceives = redrive.at("deadLetterTargetArn").text(), redrive.at("maxReceiveCount").number()
	}
	if policy := r.at("redrive_allow_policy"); policy.there() {
		q.Redrive = policy.json()
	}
	q.ARN, q.URL = t.values.arn("sqs", q.Name), t.values.queueURL(q.Name)
	for _, p := range t.all("aws_sqs_queue_policy") {
		if p.at("queue_url").text() == q.URL {
			q.Policy = append(q.Policy, p.at("policy").policy()...)
		}
	}
	return q
}

func (t *terraform) topic() Topic {
	r, policy := t.only("aws_sns_topic"), t.only("aws_sns_topic_policy")
	topic := Topic{
		Name:   r.at("name").text(),
		ARN:    t.values.arn("sns", r.at("name").text()),
		KMSKey: r.at("kms_master_key_id").or("").text(),
		Policy: policy.at("policy").policy(),
	}
	if of := policy.at("arn").text(); of != topic.ARN {
		policy.failf("the policy is of %s", of)
	}
	return topic
}

func (t *terraform) routes(functions map[string]Function) map[string]string {
	routes := map[string]string{}
	for _, r := range t.all("aws_apigatewayv2_route") {
		integration := strings.TrimPrefix(r.at("target").text(), "integrations/")
		uri := newTree(integration, t.bodies[integration].value).at("integration_uri")
		routes[r.at("route_key").text()] = functionOf(functions, uri.or("").text())
	}
	return routes
}

func (t *terraform) api(functions map[string]Function) API {
	r := t.only("aws_apigatewayv2_api")
	stage := t.only("aws_apigatewayv2_stage")
	a := API{
		Name:                    r.at("name").text(),
		Protocol:                r.at("protocol_type").text(),
		DefaultEndpointDisabled: r.at("disable_execute_api_endpoint").flag(),
		Stage:                   stage.at("name").text(),
		AutoDeploy:              stage.at("auto_deploy").flag(),
		Throttle:                terraformThrottle(stage.at("default_route_settings")),
		Throttles:               map[string]Throttle{},
		AccessLog:               logGroupOf(stage.at("access_log_settings", "destination_arn").text()),
		AccessLogFormat:         stage.at("access_log_settings", "format").json(),
		PayloadFormats:          map[string]string{},
	}
	for _, settings := range stage.at("route_settings").or([]any{}).list() {
		a.Throttles[settings.at("route_key").text()] = terraformThrottle(settings)
	}
	for _, i := range t.all("aws_apigatewayv2_integration") {
		a.PayloadFormats[functionOf(functions, i.at("integration_uri").text())] = i.at("integration_type").text() + " " + i.at("payload_format_version").text()
	}
	for _, domain := range t.all("aws_apigatewayv2_domain_name") {
		a.Domain = t.domain(domain)
	}
	for _, record := range t.all("aws_route53_record") {
		a.Record = &Record{
			record.at("zone_id").text(), record.at("name").text(), record.at("type").text(),
			record.at("alias", "name").text(), record.at("alias", "zone_id").text(),
		}
	}
	return a
}

func terraformThrottle(settings tree) Throttle {
	return Throttle{settings.at("throttling_rate_limit").number(), settings.at("throttling_burst_limit").number()}
}

func (t *terraform) domain(r tree) *Domain {
	mapping := t.only("aws_apigatewayv2_api_mapping")
	if mapping.at("domain_name").text() != r.at("domain_name").text() || mapping.at("api_mapping_key").there() {
		mapping.failf("the API is not at the root of the domain")
	}
	settings := r.at("domain_name_configuration")
	return &Domain{
		r.at("domain_name").text(), settings.at("certificate_arn").text(), settings.at("endpoint_type").text(),
		settings.at("security_policy").text(), r.at("mutual_tls_authentication", "truststore_uri").or("").text(), mapping.at("api_id").text(), mapping.at("stage").text(),
	}
}

func (t *terraform) events(name string, functions map[string]Function) EventSource {
	t.read = append(t.read, "aws_lambda_event_source_mapping")
	r, ok := t.bodies["aws_lambda_event_source_mapping."+name]
	if !ok {
		t.errs = append(t.errs, fmt.Errorf("there is no event source %s", name))
		return EventSource{}
	}
	return EventSource{
		r.at("event_source_arn").text(), functionOf(functions, r.at("function_name").text()), r.at("batch_size").number(),
		r.at("scaling_config", "maximum_concurrency").number(), r.at("function_response_types").texts(),
	}
}

func (t *terraform) reconcile(functions map[string]Function) Schedule {
	r := t.only("aws_scheduler_schedule")
	schedule := Schedule{
		Name:        r.at("name").text(),
		Description: r.at("description").text(),
		Expression:  r.at("schedule_expression").text(),
		Window:      r.at("flexible_time_window", "mode").text() + " " + r.at("flexible_time_window", "maximum_window_in_minutes").text(),
		Function:    functionOf(functions, r.at("target", "arn").text()),
		Input:       r.at("target", "input").text(),
	}
	schedule.Trust, schedule.Policy, schedule.Boundary = t.role(r.at("target", "role_arn").text())
	return schedule
}

func (t *terraform) logGroups() map[string]LogGroup {
	groups := map[string]LogGroup{}
	for _, r := range t.all("aws_cloudwatch_log_group") {
		groups[r.at("name").text()] = LogGroup{r.at("retention_in_days").number(), r.at("kms_key_id").or("").text()}
	}
	return groups
}

func (t *terraform) metrics() map[string]Metric {
	metrics := map[string]Metric{}
	for _, r := range t.all("aws_cloudwatch_log_metric_filter") {
		as := r.at("metric_transformation")
		metrics[r.at("name").text()] = Metric{
			r.at("log_group_name").text(), r.at("pattern").text(), as.at("namespace").text(), as.at("name").text(), as.at("value").text(),
		}
	}
	return metrics
}

func (t *terraform) alarms() map[string]Alarm {
	alarms := map[string]Alarm{}
	for _, r := range t.all("aws_cloudwatch_metric_alarm") {
		alarms[r.at("alarm_name").text()] = Alarm{
			Description: r.at("alarm_description").text(),
			Namespace:   r.at("namespace").text(),
			Metric:      r.at("metric_name").text(),
			Statistic:   r.at("statistic").text(),
			Dimensions:  r.at("dimensions").table(),
			Period:      r.at("period").number(),
			Evaluations: r.at("evaluation_periods").number(),
			Threshold:   r.at("threshold").number(),
			Comparison:  r.at("comparison_operator").text(),
			Missing:     r.at("treat_missing_data").text(),
			Actions:     r.at("alarm_actions").texts(),
			OKActions:   r.at("ok_actions").texts(),
		}
	}
	return alarms
}

// outputs are the texts that are not null, by the template's names. CloudFormation has no outputs but texts.
func (t *terraform) outputs() map[string]string {
	outputs := map[string]string{}
	for address := range t.blocks {
		name, ok := strings.CutPrefix(address, "output.")
		if value := t.known[address]; ok && !value.IsNull() && value.Type() == cty.String {
			outputs[camelCase(name)] = value.AsString()
		}
	}
	return outputs
}

// camelCase undoes snakeCase.
func camelCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
