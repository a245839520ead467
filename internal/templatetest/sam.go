package templatetest

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Load reads a deployment from a SAM template. An error says what in it is not
// understood, or which parameter it refuses.
func Load(file string, v Values) (*Deployment, error) {
	t, err := readTemplate(file, v)
	if err != nil {
		return nil, err
	}
	byType, err := t.resources()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s := &samTemplate{template: t, byType: byType}
	d := &Deployment{
		Functions:  s.functions(),
		Bucket:     s.bucket(),
		Table:      s.table(),
		SigningKey: s.key(),
		Outcomes:   s.topic(),
		Managed:    s.managed(),
		LogGroups:  s.logGroups(),
		Metrics:    s.metrics(),
		Alarms:     s.alarms(),
		Dashboard:  s.only("AWS::CloudWatch::Dashboard").at("Properties", "DashboardBody").json(),
		Outputs:    s.outputs(),
	}
	d.Queue, d.DeadLetterQueue = s.queue("Queue"), s.queue("DeadLetterQueue")
	d.Routes, d.API = s.routes(d.Functions), s.api(d.Functions)
	d.Events, d.Reconcile = s.events("UploadEvents", d.Functions), s.reconcile(d.Functions)
	if _, pulls := d.Functions["fetch"]; pulls {
		d.Fetching = &Fetching{s.queue("FetchQueue"), s.queue("FetchDeadLetterQueue"), s.events("FetchEvents", d.Functions)}
	}
	s.refuseUnread()
	for _, resources := range byType {
		for _, r := range resources {
			s.errs = append(s.errs, r.err())
		}
	}
	if err := errors.Join(s.errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// samTemplate finds the parts of the registry among a template's resources.
type samTemplate struct {
	*template
	byType map[string]map[string]tree
	read   []string // the types that were looked at
	errs   []error
}

// all are the resources of a type.
func (s *samTemplate) all(kind string) map[string]tree {
	s.read = append(s.read, kind)
	return s.byType[kind]
}

// only is the one resource of a type.
func (s *samTemplate) only(kind string) tree {
	resources := s.all(kind)
	for _, r := range resources {
		if len(resources) == 1 {
			return r
		}
	}
	s.errs = append(s.errs, fmt.Errorf("there are %d resources of type %s, not one", len(resources), kind))
	return newTree(kind, nil)
}

// refuseUnread holds that nothing is deployed that the comparison does not see.
func (s *samTemplate) refuseUnread() {
	for kind := range s.byType {
		if !slices.Contains(s.read, kind) {
			s.errs = append(s.errs, fmt.Errorf("the resource type %s is not known here", kind))
		}
	}
}

func (s *samTemplate) functions() map[string]Function {
	defaults := newTree("Globals", s.section("Globals")).at("Function")
	functions := map[string]Function{}
	for _, r := range s.all("AWS::Serverless::Function") {
		p := r.at("Properties")
		setting := func(name string) tree { return p.at(name).or(defaults.at(name).value) }
		f := Function{
			Name:         p.at("FunctionName").text(),
			Description:  p.at("Description").text(),
			Code:         path.Clean(p.at("CodeUri").text()),
			Runtime:      setting("Runtime").text(),
			Architecture: strings.Join(setting("Architectures").texts(), " "),
			Handler:      setting("Handler").text(),
			Memory:       p.at("MemorySize").number(),
			Timeout:      p.at("Timeout").number(),
			Storage:      p.at("EphemeralStorage", "Size").or(512).number(),
			Recursion:    p.at("RecursiveLoop").or("Terminate").text(),
			LogGroup:     p.at("LoggingConfig", "LogGroup").text(),
			Environment:  p.at("Environment", "Variables").or(map[string]any{}).table(),
			Subnets:      p.at("VpcConfig", "SubnetIds").or([]any{}).texts(),
			Groups:       p.at("VpcConfig", "SecurityGroupIds").or([]any{}).texts(),
			Role:         p.at("Role").text(),
		}
		if !r.at("Metadata", "SkipBuild").or(false).flag() {
			r.failf("sam build would build it, and has no way to")
		}
		f.Trust, f.Policy, f.Boundary = s.role(f.Role)
		for _, permission := range s.all("AWS::Lambda::Permission") {
			if m := permission.at("Properties"); m.at("FunctionName").text() == f.Name {
				f.Invokers = append(f.Invokers, Invoker{m.at("Action").text(), m.at("Principal").text(), m.at("SourceArn").text()})
			}
		}
		functions[path.Base(f.Code)] = f
	}
	return functions
}

// role finds what is said of a role: who may take it, what it may do, and what bounds that.
func (s *samTemplate) role(arn string) (trust, policy Policy, boundary string) {
	for _, r := range s.all("AWS::IAM::Role") {
		p := r.at("Properties")
		if s.values.iamARN("role/"+p.at("RoleName").text()) != arn {
			continue
		}
		if p.at("ManagedPolicyArns").there() {
			p.failf("a role has managed policies: write out what it may do")
		}
		for _, inline := range p.at("Policies").list() {
			policy = append(policy, inline.at("PolicyDocument").policy()...)
		}
		return p.at("AssumeRolePolicyDocument").policy(), policy, p.at("PermissionsBoundary").or("").text()
	}
	s.errs = append(s.errs, fmt.Errorf("there is no role %s", arn))
	return nil, nil, ""
}

func (s *samTemplate) managed() map[string]Policy {
	policies := map[string]Policy{}
	for _, r := range s.all("AWS::IAM::ManagedPolicy") {
		p := r.at("Properties")
		policies[p.at("ManagedPolicyName").text()] = p.at("PolicyDocument").policy()
	}
	return policies
}

func (s *samTemplate) bucket() Bucket {
	r := s.only("AWS::S3::Bucket")
	p := r.at("Properties")
	policy := s.only("AWS::S3::BucketPolicy")
	b := Bucket{
		Name:         p.at("BucketName").text(),
		Kept:         kept(r),
		Versioning:   p.at("VersioningConfiguration", "Status").text(),
		Encryption:   p.at("BucketEncryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionByDefault", "SSEAlgorithm").text(),
		Ownership:    p.at("OwnershipControls", "Rules", "ObjectOwnership").text(),
		PublicAccess: p.at("PublicAccessBlockConfiguration").table(),
		Lifecycle:    map[string]LifecycleRule{},
		Policy:       policy.at("Properties", "PolicyDocument").policy(),
		PolicyKept:   kept(policy),
	}
	for _, rule := range p.at("LifecycleConfiguration", "Rules").list() {
		b.Lifecycle[rule.at("Id").text()] = LifecycleRule{
			Prefix:               rule.at("Prefix").or("").text(),
			Enabled:              rule.at("Status").text() == "Enabled",
			ExpireDays:           rule.at("ExpirationInDays").or(0).number(),
			ExpireNoncurrentDays: rule.at("NoncurrentVersionExpiration", "NoncurrentDays").or(0).number(),
			AbortAfterDays:       rule.at("AbortIncompleteMultipartUpload", "DaysAfterInitiation").or(0).number(),
		}
	}
	for _, n := range p.at("NotificationConfiguration", "QueueConfigurations").list() {
		filter := n.at("Filter", "S3Key", "Rules")
		if name := filter.at("Name").text(); name != "prefix" {
			filter.failf("the filter is by %s", name)
		}
		b.Notifications = append(b.Notifications, Notification{filter.at("Value").text(), n.at("Event").text(), n.at("Queue").text()})
	}
	return b
}

// kept says whether a resource stays when its stack goes, or replaces it.
func kept(r tree) bool {
	return r.at("DeletionPolicy").or("").text() == "Retain" && r.at("UpdateReplacePolicy").or("").text() == "Retain"
}

func (s *samTemplate) table() Table {
	r := s.only("AWS::DynamoDB::Table")
	p := r.at("Properties")
	table := Table{
		Name:               p.at("TableName").text(),
		ARN:                s.values.arn("dynamodb", "table/"+p.at("TableName").text()),
		Kept:               kept(r),
		Billing:            p.at("BillingMode").text(),
		DeletionProtection: p.at("DeletionProtectionEnabled").flag(),
		Recovery:           p.at("PointInTimeRecoverySpecification", "PointInTimeRecoveryEnabled").flag(),
	}
	if ttl := p.at("TimeToLiveSpecification"); ttl.at("Enabled").flag() {
		table.TTL = ttl.at("AttributeName").text()
	}
	types := map[string]string{}
	for _, a := range p.at("AttributeDefinitions").list() {
		types[a.at("AttributeName").text()] = a.at("AttributeType").text()
	}
	for n, key := range p.at("KeySchema").list() {
		if kind := key.at("KeyType").text(); kind != []string{"HASH", "RANGE"}[n] {
			key.failf("key %d is a %s key", n, kind)
		}
		name := key.at("AttributeName").text()
		table.Keys = append(table.Keys, name+" "+types[name])
	}
	return table
}

func (s *samTemplate) key() Key {
	r := s.only("AWS::KMS::Key")
	p := r.at("Properties")
	alias := s.only("AWS::KMS::Alias").at("Properties")
	if target := alias.at("TargetKeyId").text(); target != s.values.KeyID {
		alias.failf("the alias is of the key %s", target)
	}
	return Key{
		ARN:         s.values.arn("kms", "key/"+s.values.KeyID),
		Kept:        kept(r),
		Description: p.at("Description").text(),
		Spec:        p.at("KeySpec").text(),
		Usage:       p.at("KeyUsage").text(),
		MultiRegion: p.at("MultiRegion").or(false).flag(),
		Window:      p.at("PendingWindowInDays").number(),
		Alias:       alias.at("AliasName").text(),
		Policy:      p.at("KeyPolicy").policy(),
	}
}

func (s *samTemplate) queue(name string) Queue {
	p := s.all("AWS::SQS::Queue")[name].at("Properties")
	if p.errs == nil {
		s.errs = append(s.errs, fmt.Errorf("there is no queue %s", name))
		return Queue{}
	}
	q := Queue{
		Name:        p.at("QueueName").text(),
		FIFO:        p.at("FifoQueue").or(false).flag(),
		ManagedSSE:  p.at("SqsManagedSseEnabled").or(false).flag(),
		KMSKey:      p.at("KmsMasterKeyId").or("").text(),
		Visibility:  p.at("VisibilityTimeout").or(0).number(),
		Retention:   p.at("MessageRetentionPeriod").number(),
		Wait:        p.at("ReceiveMessageWaitTimeSeconds").or(0).number(),
		DeadLetters: p.at("RedrivePolicy", "deadLetterTargetArn").or("").text(),
		MaxReceives: p.at("RedrivePolicy", "maxReceiveCount").or(0).number(),
		Redrive:     p.at("RedriveAllowPolicy").value,
	}
	q.ARN, q.URL = s.values.arn("sqs", q.Name), s.values.queueURL(q.Name)
	for _, policy := range s.all("AWS::SQS::QueuePolicy") {
		if m := policy.at("Properties"); slices.Contains(m.at("Queues").texts(), q.URL) {
			q.Policy = append(q.Policy, m.at("PolicyDocument").policy()...)
		}
	}
	return q
}

func (s *samTemplate) topic() Topic {
	p := s.only("AWS::SNS::Topic").at("Properties")
	policy := s.only("AWS::SNS::TopicPolicy").at("Properties")
	topic := Topic{
		Name:   p.at("TopicName").text(),
		ARN:    s.values.arn("sns", p.at("TopicName").text()),
		KMSKey: p.at("KmsMasterKeyId").or("").text(),
		Policy: policy.at("PolicyDocument").policy(),
	}
	if of := policy.at("Topics").texts(); !slices.Equal(of, []string{topic.ARN}) {
		policy.failf("the policy is of %v", of)
	}
	return topic
}

func (s *samTemplate) routes(functions map[string]Function) map[string]string {
	routes := map[string]string{}
	integrations := s.all("AWS::ApiGatewayV2::Integration")
	for _, r := range s.all("AWS::ApiGatewayV2::Route") {
		p := r.at("Properties")
		target := strings.TrimPrefix(p.at("Target").text(), "integrations/")
		uri := newTree(target, integrations[target].value).at("Properties", "IntegrationUri")
		routes[p.at("RouteKey").text()] = functionOf(functions, uri.or("").text())
	}
	return routes
}

func (s *samTemplate) api(functions map[string]Function) API {
	p := s.only("AWS::ApiGatewayV2::Api").at("Properties")
	stage := s.only("AWS::ApiGatewayV2::Stage").at("Properties")
	a := API{
		Name:                    p.at("Name").text(),
		Protocol:                p.at("ProtocolType").text(),
		DefaultEndpointDisabled: p.at("DisableExecuteApiEndpoint").flag(),
		Stage:                   stage.at("StageName").text(),
		AutoDeploy:              stage.at("AutoDeploy").flag(),
		Throttle:                samThrottle(stage.at("DefaultRouteSettings")),
		Throttles:               map[string]Throttle{},
		AccessLog:               logGroupOf(stage.at("AccessLogSettings", "DestinationArn").text()),
		AccessLogFormat:         stage.at("AccessLogSettings", "Format").json(),
		PayloadFormats:          map[string]string{},
	}
	routes, _ := stage.at("RouteSettings").value.(map[string]any)
	for route := range routes {
		a.Throttles[route] = samThrottle(stage.at("RouteSettings", route))
	}
	for _, r := range s.all("AWS::ApiGatewayV2::Integration") {
		p := r.at("Properties")
		a.PayloadFormats[functionOf(functions, p.at("IntegrationUri").text())] = p.at("IntegrationType").text() + " " + p.at("PayloadFormatVersion").text()
	}
	if len(s.all("AWS::ApiGatewayV2::DomainName")) > 0 {
		a.Domain = s.domain()
	}
	if len(s.all("AWS::Route53::RecordSet")) > 0 {
		p := s.only("AWS::Route53::RecordSet").at("Properties")
		a.Record = &Record{
			p.at("HostedZoneId").text(), p.at("Name").text(), p.at("Type").text(),
			p.at("AliasTarget", "DNSName").text(), p.at("AliasTarget", "HostedZoneId").text(),
		}
	}
	return a
}

func samThrottle(settings tree) Throttle {
	return Throttle{settings.at("ThrottlingRateLimit").number(), settings.at("ThrottlingBurstLimit").number()}
}

func (s *samTemplate) domain() *Domain {
	p := s.only("AWS::ApiGatewayV2::DomainName").at("Properties")
	mapping := s.only("AWS::ApiGatewayV2::ApiMapping").at("Properties")
	if mapping.at("DomainName").text() != p.at("DomainName").text() || mapping.at("ApiMappingKey").there() {
		mapping.failf("the API is not at the root of the domain")
	}
	settings := p.at("DomainNameConfigurations")
	return &Domain{
		p.at("DomainName").text(), settings.at("CertificateArn").text(), settings.at("EndpointType").text(),
		settings.at("SecurityPolicy").text(), p.at("MutualTlsAuthentication", "TruststoreUri").or("").text(), mapping.at("ApiId").text(), mapping.at("Stage").text(),
	}
}

// logGroupOf is the name of the log group that an ARN is of.
func logGroupOf(arn string) string {
	_, name, _ := strings.Cut(arn, ":log-group:")
	return strings.TrimSuffix(name, ":*")
}

func (s *samTemplate) events(name string, functions map[string]Function) EventSource {
	p := s.all("AWS::Lambda::EventSourceMapping")[name].at("Properties")
	if p.errs == nil {
		s.errs = append(s.errs, fmt.Errorf("there is no event source %s", name))
		return EventSource{}
	}
	return EventSource{
		p.at("EventSourceArn").text(), functionOf(functions, p.at("FunctionName").text()), p.at("BatchSize").number(),
		p.at("ScalingConfig", "MaximumConcurrency").number(), p.at("FunctionResponseTypes").texts(),
	}
}

func (s *samTemplate) reconcile(functions map[string]Function) Schedule {
	p := s.only("AWS::Scheduler::Schedule").at("Properties")
	schedule := Schedule{
		Name:        p.at("Name").text(),
		Description: p.at("Description").text(),
		Expression:  p.at("ScheduleExpression").text(),
		Window:      p.at("FlexibleTimeWindow", "Mode").text() + " " + p.at("FlexibleTimeWindow", "MaximumWindowInMinutes").text(),
		Function:    functionOf(functions, p.at("Target", "Arn").text()),
		Input:       p.at("Target", "Input").text(),
	}
	schedule.Trust, schedule.Policy, schedule.Boundary = s.role(p.at("Target", "RoleArn").text())
	return schedule
}

func (s *samTemplate) logGroups() map[string]LogGroup {
	groups := map[string]LogGroup{}
	for _, r := range s.all("AWS::Logs::LogGroup") {
		p := r.at("Properties")
		groups[p.at("LogGroupName").text()] = LogGroup{p.at("RetentionInDays").number(), p.at("KmsKeyId").or("").text()}
	}
	return groups
}

func (s *samTemplate) metrics() map[string]Metric {
	metrics := map[string]Metric{}
	for _, r := range s.all("AWS::Logs::MetricFilter") {
		p := r.at("Properties")
		as := p.at("MetricTransformations")
		metrics[p.at("FilterName").text()] = Metric{
			p.at("LogGroupName").text(), p.at("FilterPattern").text(),
			as.at("MetricNamespace").text(), as.at("MetricName").text(), as.at("MetricValue").text(),
		}
	}
	return metrics
}

func (s *samTemplate) alarms() map[string]Alarm {
	alarms := map[string]Alarm{}
	for _, r := range s.all("AWS::CloudWatch::Alarm") {
		p := r.at("Properties")
		a := Alarm{
			Description: p.at("AlarmDescription").text(),
			Namespace:   p.at("Namespace").text(),
			Metric:      p.at("MetricName").text(),
			Statistic:   p.at("Statistic").text(),
			Dimensions:  map[string]string{},
			Period:      p.at("Period").number(),
			Evaluations: p.at("EvaluationPeriods").number(),
			Threshold:   p.at("Threshold").number(),
			Comparison:  p.at("ComparisonOperator").text(),
			Missing:     p.at("TreatMissingData").text(),
			Actions:     p.at("AlarmActions").or([]any{}).texts(),
			OKActions:   p.at("OKActions").or([]any{}).texts(),
		}
		for _, dimension := range p.at("Dimensions").or([]any{}).list() {
			a.Dimensions[dimension.at("Name").text()] = dimension.at("Value").text()
		}
		alarms[p.at("AlarmName").text()] = a
	}
	return alarms
}

func (s *samTemplate) outputs() map[string]string {
	outputs := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.section("Outputs"))) {
		output := newTree(name, s.section("Outputs")[name])
		exists, err := s.exists(output)
		s.errs = append(s.errs, err)
		if !exists {
			continue
		}
		value, err := s.resolve(output.at("Value").value)
		s.errs = append(s.errs, err)
		outputs[name] = scalar(value)
	}
	return outputs
}

// Kept are the properties of every resource that a CloudFormation template
// keeps when its stack is deleted, by its name in the template.
func Kept(file string, v Values) (map[string]map[string]any, error) {
	t, err := readTemplate(file, v)
	if err != nil {
		return nil, err
	}
	byType, err := t.resources()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	properties := map[string]map[string]any{}
	for _, resources := range byType {
		for name, r := range resources {
			if kept(r) {
				properties[name], _ = r.at("Properties").value.(map[string]any)
			}
		}
	}
	return properties, nil
}
