// Package templatetest reads how the registry is deployed on AWS, for tests: template.yaml for
// SAM, and infra/ for Terraform and OpenTofu. Both become a [Deployment], in which every
// reference, condition and function is resolved for one account, region and set of parameters.
// So tests can compare the two, route requests, and check calls to AWS with the policies.
//
// It refuses unknown resource types, intrinsic functions and condition operators.
package templatetest

import (
	"fmt"
	"maps"
	"strings"
)

// Values are the inputs of a deployment.
type Values struct {
	// Account is the AWS account's number. Empty: 111122223333.
	Account string

	// Region is the AWS region. Empty: eu-central-1.
	Region string

	// KeyID is the id that KMS gives the signing key. Empty: one of zeros.
	KeyID string

	// Parameters are the template's parameters by their names, such as BucketName. Others
	// have their defaults.
	Parameters map[string]string
}

const (
	partition = "aws"
	urlSuffix = "amazonaws.com"
	apiID     = "a1b2c3d4e5"

	// The target that API Gateway makes for a custom domain.
	domainTarget = "d-a1b2c3d4e5.execute-api." + urlSuffix
	domainZone   = "ZDOMAIN"
)

func (v Values) complete() Values {
	for field, value := range map[*string]string{
		&v.Account: "111122223333", &v.Region: "eu-central-1", &v.KeyID: "00000000-0000-0000-0000-000000000000",
	} {
		if *field == "" {
			*field = value
		}
	}
	return v
}

// arn returns the ARN of a resource in the account and region.
func (v Values) arn(service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", partition, service, v.Region, v.Account, resource)
}

func (v Values) iamARN(resource string) string {
	return fmt.Sprintf("arn:%s:iam::%s:%s", partition, v.Account, resource)
}

func bucketARN(name string) string { return fmt.Sprintf("arn:%s:s3:::%s", partition, name) }

func (v Values) queueURL(name string) string {
	return fmt.Sprintf("https://sqs.%s.%s/%s/%s", v.Region, urlSuffix, v.Account, name)
}

func (v Values) apiHost() string {
	return fmt.Sprintf("%s.execute-api.%s.%s", apiID, v.Region, urlSuffix)
}

// Deployment is a whole deployment.
type Deployment struct {
	Functions       map[string]Function // by the folder of their code, such as "publish"
	Routes          map[string]string   // from a route key, such as "ANY /v1/…" or "$default", to a function
	API             API
	Bucket          Bucket
	Table           Table
	SigningKey      Key // the deployment's own
	Queue           Queue
	DeadLetterQueue Queue
	Outcomes        Topic
	Events          EventSource // from Queue to publish
	Fetching        *Fetching   // nil where the mirror does not pull through
	Reconcile       Schedule
	Managed         map[string]Policy // by name: to attach to users and their roles
	LogGroups       map[string]LogGroup
	Metrics         map[string]Metric // that logs are counted as, by the names of the filters
	Alarms          map[string]Alarm
	Dashboard       any               // as JSON is decoded
	Outputs         map[string]string // by the template's names for them
}

// Function is a Lambda function and its role.
type Function struct {
	Name         string // on AWS
	Description  string
	Code         string // the folder of its bootstrap, from the repository's root
	Runtime      string
	Architecture string
	Handler      string
	Memory       int    // MB
	Timeout      int    // seconds
	Storage      int    // MB, under /tmp
	Recursion    string // what becomes of a chain of events that leads back to it: Allow or Terminate
	LogGroup     string
	Environment  map[string]string
	Subnets      []string // none where it is in no VPC
	Groups       []string // of security, in its VPC
	Role         string   // ARN
	Boundary     string   // ARN of the policy that bounds the role; empty for none
	Trust        Policy   // who may take the role
	Policy       Policy   // what the role may do
	Invokers     []Invoker
}

// Invoker is a service that may call a function.
type Invoker struct{ Action, Principal, SourceARN string }

// API is the HTTP API.
type API struct {
	Name                    string
	Protocol                string
	DefaultEndpointDisabled bool
	Stage                   string
	AutoDeploy              bool
	Throttle                Throttle
	Throttles               map[string]Throttle // of the routes that have one of their own, by their keys
	AccessLog               string              // name of the log group
	AccessLogFormat         any                 // as JSON is decoded
	PayloadFormats          map[string]string
	Domain                  *Domain
	Record                  *Record
}

// Throttle is how many requests are allowed: per second, and at once.
type Throttle struct{ Rate, Burst int }

// Domain is a custom domain.
type Domain struct {
	Name, Certificate, EndpointType, SecurityPolicy string
	Truststore                                      string // of the only clients that may connect; empty for all
	API, Stage                                      string
}

// Record is the domain's DNS record.
type Record struct{ Zone, Name, Type, Target, TargetZone string }

// Bucket is the bucket and everything that is set on it.
type Bucket struct {
	Name          string
	Kept          bool // when the deployment is removed
	Versioning    string
	Encryption    string
	Ownership     string
	PublicAccess  map[string]string
	Lifecycle     map[string]LifecycleRule
	Notifications []Notification
	Policy        Policy
	PolicyKept    bool
}

// LifecycleRule is a rule of a bucket; 0 days means never.
type LifecycleRule struct {
	Prefix                                           string
	Enabled                                          bool
	ExpireDays, ExpireNoncurrentDays, AbortAfterDays int
}

// Notification says which events of a bucket go to which queue.
type Notification struct{ Prefix, Event, Queue string }

// Table is the DynamoDB table.
type Table struct {
	Name, ARN          string
	Kept               bool
	Billing            string
	DeletionProtection bool
	Recovery           bool // to a point in time
	TTL                string
	Keys               []string // partition, then sort key, such as "PK S"
}

// Key is the signing key.
type Key struct {
	ARN         string
	Kept        bool
	Description string
	Spec, Usage string
	MultiRegion bool
	Window      int // days until a deletion
	Alias       string
	Policy      Policy
}

// Queue is an SQS queue.
type Queue struct {
	Name, ARN, URL string
	FIFO           bool
	ManagedSSE     bool
	KMSKey         string // that encrypts it; empty for none
	Visibility     int    // seconds; 0 for SQS's default
	Retention      int    // seconds
	Wait           int    // seconds
	DeadLetters    string // ARN
	MaxReceives    int
	Redrive        any // who may use it for dead letters
	Policy         Policy
}

// Fetching is the queue by which a mirror pulls through.
type Fetching struct {
	Queue           Queue
	DeadLetterQueue Queue
	Events          EventSource // from Queue to fetch
}

// Topic is an SNS topic.
type Topic struct {
	Name, ARN string
	KMSKey    string // that encrypts it; empty for none
	Policy    Policy
}

// EventSource is how a queue's messages come to a function.
type EventSource struct {
	Queue, Function string
	BatchSize       int
	Concurrency     int
	ResponseTypes   []string
}

// Schedule calls a function again and again.
type Schedule struct {
	Name, Description string
	Expression        string
	Window            string
	Function, Input   string
	Boundary          string // of its role
	Trust, Policy     Policy
}

// LogGroup is a group of logs.
type LogGroup struct {
	Days   int    // for which they are kept
	KMSKey string // that encrypts them; empty for none
}

// Metric is what lines of a log are counted as.
type Metric struct{ LogGroup, Pattern, Namespace, Name, Value string }

// Alarm is a CloudWatch alarm.
type Alarm struct {
	Description, Namespace, Metric, Statistic string
	Dimensions                                map[string]string
	Period, Evaluations, Threshold            int
	Comparison, Missing                       string
	Actions, OKActions                        []string
}

// Allows reports whether AWS would allow a function's role an action, by the role's own policy
// and those of the bucket, the queues, the topic and the signing key. The context has the
// condition keys of the request, named as in the policies; those that follow from the function
// are added.
func (d *Deployment) Allows(function, action, resource string, context map[string]string) bool {
	f := d.Functions[function]
	request := map[string]string{"aws:PrincipalArn": f.Role, "aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}
	maps.Copy(request, context)
	policies := []Policy{f.Policy, d.Bucket.Policy, d.Queue.Policy, d.Outcomes.Policy}
	if d.Fetching != nil {
		policies = append(policies, d.Fetching.Queue.Policy)
	}
	for _, p := range policies {
		if p.decide(action, resource, request) == denied {
			return false
		}
	}
	// A key's policy says "*" for the key, and without it nobody has rights to the key. One that takes the place of
	// the deployment's own is made with the same policy. The keys that encrypt have policies of their own, elsewhere.
	signs := resource == d.SigningKey.ARN || resource == d.Functions["publish"].Environment["LARDER_KMS_KEY"]
	if strings.HasPrefix(action, "kms:") && signs && !d.SigningKey.Policy.Allows(action, resource, request) {
		return false
	}
	return f.Policy.Allows(action, resource, request)
}

// functionOf returns the function with a deployed name or ARN.
func functionOf(functions map[string]Function, nameOrARN string) string {
	_, after, found := strings.Cut(nameOrARN, ":function:")
	if !found {
		after = nameOrARN
	}
	for folder, f := range functions {
		if f.Name == after {
			return folder
		}
	}
	return ""
}
