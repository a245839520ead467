package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// need is the actions of the deployment on the same resources.
type need struct {
	actions   []string
	resources []string
}

// rights are actions, with spaces between them, by the place that they are for.
type rights map[place]string

// tool is a way to deploy: the rights that it needs itself, and those to make the resources of
// each type in its description of the deployment.
type tool struct {
	name  string
	own   rights
	types map[string]rights
}

// tools are the values of --with.
var tools = map[string]tool{
	"sam":       {"SAM", samItself, cloudFormation},
	"terraform": {"Terraform", nil, terraform},
}

// needs returns the rights that the caller needs to deploy: for the tool itself, and to make
// each resource.
func (c check) needs(who caller) []need {
	byPlace := map[place][]string{}
	add := func(r rights) {
		for at, actions := range r {
			byPlace[at] = append(byPlace[at], strings.Fields(actions)...)
		}
	}
	add(tools[c.With].own)
	for _, r := range tools[c.With].types {
		add(r)
	}
	var all []need
	places := c.places(who)
	for _, at := range slices.Sorted(maps.Keys(byPlace)) {
		if len(places[at]) == 0 {
			continue // the parameters do not ask for such resources
		}
		slices.Sort(byPlace[at])
		all = append(all, need{slices.Compact(byPlace[at]), places[at]})
	}
	return all
}

// place is a kind of resource for which a policy may allow actions.
type place string

const (
	anything      place = "anything" // for actions that are not for a resource
	alarms        place = "alarms"
	apis          place = "APIs"
	bucket        place = "bucket"
	changes       place = "changes of DNS"
	dashboard     place = "dashboard"
	domains       place = "domains"
	eventSources  place = "event sources"
	functions     place = "functions"
	key           place = "key"
	keyAlias      place = "alias of the key"
	logGroups     place = "log groups"
	metricFilters place = "metric filters"
	network       place = "network"
	policies      place = "policies"
	queues        place = "queues"
	roles         place = "roles"
	samBucket     place = "SAM's bucket"
	samObjects    place = "objects in SAM's bucket"
	samStack      place = "SAM's stack"
	samTransform  place = "SAM's transform"
	schedule      place = "schedule"
	stack         place = "stack"
	table         place = "table"
	topic         place = "topic"
	zone          place = "hosted zone"
	zonesToSearch place = "hosted zones"
)

// Identifiers in the form of those that AWS makes.
const (
	anyID = "00000000-0000-0000-0000-000000000000"

	// samManaged is the name of the stack that `sam deploy` makes for itself, once in an
	// account and region, and the beginning of the name of its bucket.
	samManaged      = "aws-sam-cli-managed-default"
	samManagedStore = samManaged + "-samclisourcebucket-0123456789ab"
)

// places returns the ARNs of the resources of each kind. If several names have the same
// beginning, there is one for all. Kinds that the parameters do not ask for have none.
func (c check) places(who caller) map[place][]string {
	b := c.BucketName
	global := func(service, account, resource string) string {
		return fmt.Sprintf("arn:%s:%s::%s:%s", who.partition, service, account, resource)
	}
	all := map[place][]string{
		anything:     {"*"},
		alarms:       {c.arn(who, "cloudwatch", "alarm:"+b+"-dead-letters")},
		bucket:       {global("s3", "", b)},
		dashboard:    {global("cloudwatch", who.account, "dashboard/"+b)},
		eventSources: {c.arn(who, "lambda", "event-source-mapping:"+anyID)},
		functions:    {c.arn(who, "lambda", "function:"+b+"-publish")},
		key:          {c.arn(who, "kms", "key/"+anyID)},
		keyAlias:     {c.arn(who, "kms", "alias/"+b)},
		logGroups:    {c.arn(who, "logs", "log-group:/aws/lambda/"+b+"-publish"), c.arn(who, "logs", "log-group:/aws/vendedlogs/"+b+"/api")},
		policies:     {global("iam", who.account, "policy/"+b+"-operate")},
		queues:       {c.arn(who, "sqs", b+"-uploads"), c.arn(who, "sqs", b+"-dead-letters")},
		roles:        {global("iam", who.account, "role/"+b+"-publish")},
		samBucket:    {global("s3", "", samManagedStore)},
		samObjects:   {global("s3", "", samManagedStore+"/"+anyID)},
		samStack:     {c.arn(who, "cloudformation", "stack/"+samManaged+"/"+anyID)},
		samTransform: {fmt.Sprintf("arn:%s:cloudformation:%s:aws:transform/Serverless-2016-10-31", who.partition, c.region)},
		schedule:     {c.arn(who, "scheduler", "schedule/default/"+b+"-reconcile")},
		stack:        {c.arn(who, "cloudformation", "stack/larder/"+anyID)},
		table:        {c.arn(who, "dynamodb", "table/"+b)},
		topic:        {c.arn(who, "sns", b+"-outcomes")},
	}
	gateway := fmt.Sprintf("arn:%s:apigateway:%s::", who.partition, c.region)
	all[apis] = []string{gateway + "/apis", gateway + "/apis/a1b2c3d4e5"}
	if c.DomainName != "" {
		all[domains] = []string{gateway + "/domainnames", gateway + "/domainnames/" + c.DomainName}
	}
	if c.HostedZoneID != "" {
		all[zone] = []string{global("route53", "", "hostedzone/"+c.HostedZoneID)}
		all[changes] = []string{global("route53", "", "change/C0123456789ABCDEFGHIJ")}
		all[zonesToSearch] = all[anything]
	}
	if c.SubnetIDs != "" {
		all[network] = all[anything]
	}
	if c.MoreAlarms {
		all[metricFilters] = all[logGroups][:1]
	}
	if c.UploaderNamespace != "" {
		all[policies] = append(all[policies], global("iam", who.account, "policy/"+b+"-upload-"+c.UploaderNamespace))
	}
	return all
}
