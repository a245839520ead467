package templatetest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/larder-registry/larder/internal/templatetest"
	"github.com/larder-registry/larder/pkg/archive"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/pullthrough"
	"github.com/larder-registry/larder/pkg/upstream"
)

const (
	samFile      = "../../template.yaml"
	terraformDir = "../../infra"
)

const (
	truststore  = "s3://acme-certificates/front.pem"
	certificate = "arn:aws:acm:eu-central-1:111122223333:certificate/1"
	otherKey    = "arn:aws:kms:eu-central-1:111122223333:key/11111111-1111-1111-1111-111111111111"
	queueKey    = "arn:aws:kms:eu-central-1:111122223333:key/22222222-2222-2222-2222-222222222222"
	topicKey    = "arn:aws:kms:eu-central-1:111122223333:key/33333333-3333-3333-3333-333333333333"
	logKey      = "arn:aws:kms:eu-central-1:111122223333:key/mrk-44444444444444444444444444444444"
	boundary    = "arn:aws:iam::111122223333:policy/platform/boundary"
)

// deployments are parameters under which both descriptions must say the same.
var deployments = map[string]map[string]string{
	"the least": {"BucketName": "acme-registry"},
	"everything": {
		"BucketName": "acme-registry", "ReadAccess": "open", "InboxDays": "20", "LogDays": "90", "UrlLifetime": "5m",
		"DomainName": "registry.example.com", "CertificateArn": certificate, "HostedZoneId": "Z0123456789", "ClientTruststore": truststore,
		"RequestRate": "7", "RequestBurst": "9", "PublishConcurrency": "3", "UploaderNamespace": "acme",
		"MigrationPrincipalArn": "arn:aws:iam::111122223333:role/mover", "AlarmTopicArn": "arn:aws:sns:eu-central-1:111122223333:alarms",
		"SigningKeyArn":   otherKey,
		"MirrorUpstreams": "registry.terraform.io/hashicorp/*,registry.opentofu.org/*/*", "MirrorPlatforms": "linux_amd64",
		"LoginIssuer": "https://login.example.com", "LoginClientId": "larder", "LoginClientSecretName": "/acme/login", "LoginScopes": "openid groups",
		"PermissionsBoundaryArn": boundary, "SubnetIds": "subnet-0a,subnet-0b", "SecurityGroupIds": "sg-0c,sg-0d",
		"QueueKeyArn": queueKey, "TopicKeyArn": topicKey, "LogKeyArn": logKey, "MultiRegionKey": "true", "MoreAlarms": "true",
	},
	"more alarms":        {"BucketName": "acme-registry", "MoreAlarms": "true"},
	pulling:              {"BucketName": "acme-registry", "MirrorUpstreams": "registry.terraform.io/hashicorp/*"},
	"a domain elsewhere": {"BucketName": "acme-registry", "DomainName": "registry.example.com", "CertificateArn": certificate},
}

func load(t *testing.T, parameters map[string]string) (sam, terraform *templatetest.Deployment) {
	t.Helper()
	v := templatetest.Values{Parameters: parameters}
	sam, err := templatetest.Load(samFile, v)
	if err != nil {
		t.Fatal(err)
	}
	terraform, err = templatetest.LoadTerraform(terraformDir, v)
	if err != nil {
		t.Fatal(err)
	}
	return sam, terraform
}

// TestTwins holds that template.yaml and infra/ deploy the same.
func TestTwins(t *testing.T) {
	for name, parameters := range deployments {
		t.Run(name, func(t *testing.T) {
			sam, terraform := load(t, parameters)
			compare(t, "", reflect.ValueOf(*sam), reflect.ValueOf(*terraform))
		})
	}
}

// compare goes down to where the two differ.
func compare(t *testing.T, path string, sam, terraform reflect.Value) {
	t.Helper()
	switch {
	case reflect.DeepEqual(sam.Interface(), terraform.Interface()):
	case sam.Kind() == reflect.Struct:
		for n := range sam.NumField() {
			compare(t, path+"."+sam.Type().Field(n).Name, sam.Field(n), terraform.Field(n))
		}
	case sam.Kind() == reflect.Map && slices.Equal(keys(sam), keys(terraform)):
		for _, key := range sam.MapKeys() {
			compare(t, path+"["+key.String()+"]", sam.MapIndex(key), terraform.MapIndex(key))
		}
	default:
		t.Errorf("%s differs:\ntemplate.yaml %s\ninfra/        %s", path, show(sam), show(terraform))
	}
}

func keys(m reflect.Value) []string {
	var names []string
	for _, key := range m.MapKeys() {
		names = append(names, key.String())
	}
	slices.Sort(names)
	return names
}

func show(v reflect.Value) string {
	text, _ := json.Marshal(v.Interface())
	return string(text)
}

// TestTwinsRefuse holds that both take the same values for a parameter.
func TestTwinsRefuse(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	for _, c := range []struct {
		parameter, value string
		taken            bool
	}{
		{"BucketName", "abc", true},
		{"BucketName", strings.Repeat("a", 40), true},
		{"BucketName", strings.Repeat("a", 41), false},
		{"BucketName", "ab", false},
		{"BucketName", "Acme", false},
		{"BucketName", "acme.registry", false},
		{"BucketName", "acme-", false},
		{"BucketName", "", false},
		{"ReadAccess", "open", true},
		{"ReadAccess", "", false},
		{"ReadAccess", "closed", false},
		{"DomainName", "registry.example.com", false}, // without a certificate
		{"DomainName", "https://registry.example.com", false},
		{"DomainName", "localhost", false},
		{"CertificateArn", certificate, false}, // without a name
		{"CertificateArn", "arn:aws:iam::111122223333:server-certificate/1", false},
		{"ClientTruststore", truststore, false}, // without a domain
		{"ClientTruststore", "https://acme-certificates/front.pem", false},
		{"ClientTruststore", "s3://acme-certificates", false},
		{"HostedZoneId", "Z0", false}, // without a name
		{"HostedZoneId", "example.com", false},
		{"InboxDays", "15", true},
		{"InboxDays", "14", false},
		{"InboxDays", "3650", true},
		{"InboxDays", "3651", false},
		{"LogDays", "365", true},
		{"LogDays", "31", false},
		{"UrlLifetime", "1m", true},
		{"UrlLifetime", "30m", true},
		{"UrlLifetime", "31m", false},
		{"UrlLifetime", "0m", false},
		{"UrlLifetime", "1h", false},
		{"RequestRate", "0", false},
		{"RequestBurst", "0", false},
		{"PublishConcurrency", "2", true},
		{"PublishConcurrency", "1", false},
		{"PublishConcurrency", "1001", false},
		{"MirrorUpstreams", "registry.terraform.io/hashicorp/*", true},
		{"MirrorUpstreams", "registry.terraform.io/hashicorp/*,bücher.example/*/time", true},
		{"MirrorUpstreams", "registry.terraform.io", false},
		{"MirrorUpstreams", "registry.terraform.io/hashicorp/time/", false},
		{"MirrorUpstreams", "*/hashicorp/time", false},
		{"MirrorUpstreams", "registry.terraform.io/hashicorp/*,", false},
		{"MirrorUpstreams", "registry.terraform.io/hashicorp/*, registry.opentofu.org/*/*", false},
		{"MirrorUpstreams", "https://registry.terraform.io/hashicorp/*", false},
		{"MirrorPlatforms", "linux_amd64", true},
		{"MirrorPlatforms", "linux_amd64,darwin_arm64", true},
		{"MirrorPlatforms", "all", true},
		{"MirrorPlatforms", "", false},
		{"MirrorPlatforms", "linux", false},
		{"MirrorPlatforms", "linux/amd64", false},
		{"MirrorPlatforms", "linux_amd64,", false},
		{"LoginIssuer", "https://login.example.com", false}, // without a client
		{"LoginIssuer", "http://login.example.com", false},
		{"LoginIssuer", "https://login.example.com?a=b", false},
		{"LoginClientId", "0123-abcd.apps.example.com", true},
		{"LoginClientId", "two words", false},
		{"LoginClientSecretName", "/acme/login-secret", true},
		{"LoginClientSecretName", "acme-login-secret", false}, // whose ARN has a slash that the name has not
		{"LoginClientSecretName", "/acme/*", false},
		{"LoginClientSecretName", "/acme/", false},
		{"LoginScopes", "openid", true},
		{"LoginScopes", "profile", false},
		{"LoginScopes", "openid  profile", false},
		{"UploaderNamespace", "acme", true},
		{"UploaderNamespace", "acme/*", false},
		{"UploaderNamespace", "Acme", false},
		{"MigrationPrincipalArn", "arn:aws:iam::111122223333:user/ann", true},
		{"MigrationPrincipalArn", "arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/Mover_+=,.@-1", true},
		{"MigrationPrincipalArn", "*", false},
		{"MigrationPrincipalArn", "arn:aws:iam::111122223333:role/*", false}, // which in a condition would be all of them
		{"MigrationPrincipalArn", "arn:aws:iam::111122223333:role/move?", false},
		{"SigningKeyArn", otherKey, true},
		{"SigningKeyArn", "arn:aws:kms:eu-central-1:111122223333:alias/acme-registry", false}, // policies know no aliases
		{"SigningKeyArn", "11111111-1111-1111-1111-111111111111", false},
		{"SigningKeyArn", "arn:aws:kms:eu-central-1:111122223333:key/*", false},
		{"AlarmTopicArn", "arn:aws:sns:eu-central-1:111122223333:alarms", true},
		{"AlarmTopicArn", "ops@example.com", false},
		{"PermissionsBoundaryArn", boundary, true},
		{"PermissionsBoundaryArn", "arn:aws:iam::aws:policy/PowerUserAccess", true},
		{"PermissionsBoundaryArn", "boundary", false},
		{"PermissionsBoundaryArn", "arn:aws:iam::111122223333:role/boundary", false},
		{"SubnetIds", "subnet-0123456789abcdef0", false}, // without a security group
		{"SubnetIds", "subnet-1,", false},
		{"SubnetIds", "vpc-1", false},
		{"SecurityGroupIds", "sg-0123456789abcdef0,sg-1", false}, // without a subnet
		{"SecurityGroupIds", "default", false},
		{"QueueKeyArn", queueKey, true},
		{"QueueKeyArn", "alias/aws/sqs", false},
		{"TopicKeyArn", topicKey, true},
		{"TopicKeyArn", "alias/aws/sns", false},
		{"LogKeyArn", logKey, true},
		{"LogKeyArn", "*", false},
		{"MultiRegionKey", "true", true},
		{"MultiRegionKey", "yes", false},
		{"MoreAlarms", "true", true},
		{"MoreAlarms", "", false},
		{"NoSuchParameter", "1", false},
	} {
		v := templatetest.Values{Parameters: map[string]string{"BucketName": "acme-registry", c.parameter: c.value}}
		if _, err := templatetest.Load(samFile, v); (err == nil) != c.taken {
			t.Errorf("template.yaml with %s %q: %v, want taken: %t", c.parameter, c.value, err, c.taken)
		}
		if _, err := templatetest.LoadTerraform(terraformDir, v); (err == nil) != c.taken {
			t.Errorf("infra/ with %s %q: %v, want taken: %t", c.parameter, c.value, err, c.taken)
		}
	}
}

// TestTerraformRefuses holds what infra/ takes of what template.yaml has no
// parameter for, or cannot look at.
func TestTerraformRefuses(t *testing.T) {
	const foreignKey = "queue_key_arn, topic_key_arn and log_key_arn must be keys in eu-central-1, where this deploys."
	for _, c := range []struct {
		name       string
		parameters map[string]string
		want       string
	}{
		{"a record without a zone", map[string]string{"CreateRecord": "true", "DomainName": "registry.example.com", "CertificateArn": certificate}, "create_record needs domain_name and hosted_zone_id."},
		{"a record without a name", map[string]string{"CreateRecord": "true"}, "create_record needs domain_name and hosted_zone_id."},
		{"a zone without a name", map[string]string{"CreateRecord": "true", "HostedZoneId": "Z0123456789"}, "certificate_arn and hosted_zone_id need domain_name."},
		{"a certificate without a name", map[string]string{"CertificateArn": certificate}, "certificate_arn and hosted_zone_id need domain_name."},
		{"a policy for no namespace", map[string]string{"CreateUploaderPolicy": "true"}, "create_uploader_policy needs uploader_namespace."},
		{"a certificate of another region", map[string]string{"DomainName": "registry.example.com", "CertificateArn": "arn:aws:acm:us-east-1:111122223333:certificate/1"}, "certificate_arn must be a certificate in eu-central-1, where this deploys."},
		{"a key of another region", map[string]string{"SigningKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}, "signing_key_arn must be a key in eu-central-1, where this deploys."},
		{"a topic of another region", map[string]string{"AlarmTopicArn": "arn:aws:sns:us-east-1:111122223333:alarms"}, "alarm_topic_arn must be a topic in eu-central-1, where this deploys."},
		{"a queue's key of another region", map[string]string{"QueueKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}, foreignKey},
		{"a topic's key of another region", map[string]string{"TopicKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}, foreignKey},
		{"a log's key of another region", map[string]string{"LogKeyArn": "arn:aws:kms:us-east-1:111122223333:key/1"}, foreignKey},
		{"a prefix in no bucket", map[string]string{"CodePrefix": "larder/1.4.0/"}, "code_prefix needs code_bucket."},
		{"code at a URL", map[string]string{"CodeBucket": "s3://acme-artifacts"}, "code_bucket must be the name of a bucket."},
		{"a prefix without a slash", map[string]string{"CodeBucket": "acme-artifacts", "CodePrefix": "larder"}, "code_prefix must end with a slash and not begin with one, such as larder/1.4.0/."},
		{"a prefix that begins with one", map[string]string{"CodeBucket": "acme-artifacts", "CodePrefix": "/larder/"}, "code_prefix must end with a slash and not begin with one, such as larder/1.4.0/."},
	} {
		v := templatetest.Values{Parameters: map[string]string{"BucketName": "acme-registry"}}
		maps.Copy(v.Parameters, c.parameters)
		if _, err := templatetest.LoadTerraform(terraformDir, v); err == nil || !strings.HasSuffix(err.Error(), ": "+c.want) {
			t.Errorf("%s: it says %v, want %q", c.name, err, c.want)
		}
	}
}

// TestCodeInBucket holds where functions come from that are not uploaded.
func TestCodeInBucket(t *testing.T) {
	for prefix, want := range map[string]string{"": "s3://acme-artifacts/publish.zip", "larder/1.4.0/": "s3://acme-artifacts/larder/1.4.0/publish.zip"} {
		d, err := templatetest.LoadTerraform(terraformDir, templatetest.Values{Parameters: map[string]string{
			"BucketName": "acme-registry", "CodeBucket": "acme-artifacts", "CodePrefix": prefix,
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Functions["publish"].Code; got != want {
			t.Errorf("the code of publish is %s, want %s", got, want)
		}
	}
}

// TestRecordAndPolicyAreOptional holds that a zone and a namespace that are given make the record and the policy, unless
// that is said otherwise.
func TestRecordAndPolicyAreOptional(t *testing.T) {
	for said, want := range map[string]bool{"": true, "true": true, "false": false} {
		v := templatetest.Values{Parameters: maps.Clone(deployments["everything"])}
		if said != "" {
			v.Parameters["CreateRecord"], v.Parameters["CreateUploaderPolicy"] = said, said
		}
		d, err := templatetest.LoadTerraform(terraformDir, v)
		if err != nil {
			t.Fatal(err)
		}
		if _, policy := d.Managed["acme-registry-upload-acme"]; policy != want || (d.API.Record != nil) != want {
			t.Errorf("%q: there is a policy: %t, a record: %+v; want %t", said, policy, d.API.Record, want)
		}
	}
}

// TestNoCycle holds that nothing in the template waits for itself; that of
// infra/ fails to load if something does.
func TestNoCycle(t *testing.T) {
	cycle, err := templatetest.Cycle(samFile, templatetest.Values{Parameters: map[string]string{"BucketName": "acme-registry"}})
	if err != nil {
		t.Fatal(err)
	}
	if cycle != nil {
		t.Errorf("these wait for each other: %s", strings.Join(cycle, " -> "))
	}
}

// apiHost is the registry's name where it is given none: it is the registry all the same.
const apiHost = "a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com"

const pulling = "a mirror that pulls through" // of the deployments

// TestEnvironment holds which settings each function gets, and no other: names
// that begin with AWS_ are Lambda's own, and a stack that sets one fails.
func TestEnvironment(t *testing.T) {
	d, _ := load(t, deployments[pulling])
	want := map[string]map[string]string{
		"discovery": {"LARDER_LOGIN_ISSUER": ""},
		"versions":  {"LARDER_TABLE": "acme-registry", "LARDER_HOSTNAME": apiHost, "LARDER_AUTH": "required", "LARDER_LOGIN_ISSUER": ""},
		"download": {
			"LARDER_TABLE": "acme-registry", "LARDER_BUCKET": "acme-registry", "LARDER_HOSTNAME": apiHost, "LARDER_AUTH": "required", "LARDER_LOGIN_ISSUER": "",
			"LARDER_URL_LIFETIME": "15m",
		},
		"catalog": {"LARDER_TABLE": "acme-registry", "LARDER_BUCKET": "acme-registry", "LARDER_HOSTNAME": apiHost, "LARDER_AUTH": "required", "LARDER_LOGIN_ISSUER": ""},
		"publish": {
			"LARDER_TABLE": "acme-registry", "LARDER_BUCKET": "acme-registry", "LARDER_HOSTNAME": apiHost,
			"LARDER_KMS_KEY":   "arn:aws:kms:eu-central-1:111122223333:key/00000000-0000-0000-0000-000000000000",
			"LARDER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/acme-registry-uploads",
			"LARDER_TOPIC_ARN": "arn:aws:sns:eu-central-1:111122223333:acme-registry-outcomes",
		},
		"login": {
			"LARDER_TABLE": "acme-registry", "LARDER_HOST": apiHost,
			"LARDER_LOGIN_ISSUER": "", "LARDER_LOGIN_CLIENT_ID": "", "LARDER_LOGIN_CLIENT_SECRET_NAME": "", "LARDER_LOGIN_SCOPES": "openid profile email",
		},
		"fetch": {
			"LARDER_TABLE": "acme-registry", "LARDER_BUCKET": "acme-registry", "LARDER_HOSTNAME": apiHost, "LARDER_AUTH": "required", "LARDER_LOGIN_ISSUER": "",
			"LARDER_URL_LIFETIME": "15m", "LARDER_MIRROR_UPSTREAMS": "registry.terraform.io/hashicorp/*", "LARDER_MIRROR_PLATFORMS": pullthrough.DefaultPlatforms,
			"LARDER_FETCH_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/111122223333/acme-registry-fetch.fifo",
		},
	}
	got := map[string]map[string]string{}
	for name, f := range d.Functions {
		got[name] = f.Environment
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the functions' settings are %v, want %v", got, want)
	}
	for name := range d.Functions {
		for variable := range got[name] {
			if !strings.HasPrefix(variable, "LARDER_") {
				t.Errorf("%s sets %s", name, variable)
			}
		}
	}
}

// TestRoutes holds which function answers what.
func TestRoutes(t *testing.T) {
	want := map[string]string{
		"ANY /.well-known/terraform.json":                                     "discovery",
		"ANY /v1/modules/{namespace}/{name}/{system}/versions":                "versions",
		"ANY /v1/modules/{namespace}/{name}/{system}/download":                "versions",
		"ANY /v1/providers/{namespace}/{type}/versions":                       "versions",
		"ANY /v1/modules/{namespace}/{name}/{system}/{version}":               "catalog",
		"ANY /v1/modules/{namespace}/{name}/{system}/{version}/download":      "download",
		"ANY /v1/providers/{namespace}/{type}/{version}":                      "catalog",
		"ANY /v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}": "download",
		"ANY /v1/mirror/{hostname}/{namespace}/{type}/index.json":             "versions",
		"ANY /v1/mirror/{hostname}/{namespace}/{type}/{document}":             "download",
		"ANY /llms.txt":                               "discovery",
		"ANY /mcp":                                    "catalog",
		"ANY /v1/modules":                             "catalog",
		"ANY /v1/modules/search":                      "catalog",
		"ANY /v1/modules/{namespace}":                 "catalog",
		"ANY /v1/modules/{namespace}/{name}":          "catalog",
		"ANY /v1/modules/{namespace}/{name}/{system}": "catalog",
		"ANY /v1/modules/{namespace}/{name}/{system}/downloads/summary": "catalog",
		"ANY /v1/providers":                                                     "catalog",
		"ANY /v1/providers/{namespace}":                                         "catalog",
		"ANY /v1/providers/{namespace}/{type}":                                  "catalog",
		"ANY /v1/providers/{namespace}/{type}/{version}/docs":                   "catalog",
		"ANY /v1/providers/{namespace}/{type}/{version}/docs/{category}/{slug}": "catalog",
		"ANY /v1/token":          "login",
		"ANY /v1/login":          "login",
		"ANY /v1/login/callback": "login",
		"ANY /v1/login/consent":  "login",
		"$default":               "discovery",
	}
	checkRoutes(t, "the least", want)
	for route := range want {
		if strings.HasPrefix(route, "ANY /v1/mirror/") {
			want[route] = "fetch"
		}
	}
	checkRoutes(t, pulling, want)
}

func checkRoutes(t *testing.T, deployment string, want map[string]string) {
	t.Helper()
	d, _ := load(t, deployments[deployment])
	if !maps.Equal(d.Routes, want) {
		t.Errorf("%s: the routes are %v, want %v", deployment, d.Routes, want)
	}
	for route, function := range d.Routes {
		invokers := d.Functions[function].Invokers
		if len(invokers) != 1 || invokers[0].Principal != "apigateway.amazonaws.com" {
			t.Errorf("%s: %s leads to %s, which %v may call", deployment, route, function, invokers)
		}
	}
}

// TestThrottles holds that who asks without a token does so slower than whoever
// reads.
func TestThrottles(t *testing.T) {
	d, _ := load(t, deployments["the least"])
	for route, function := range d.Routes {
		throttle, own := d.API.Throttles[route]
		if own != (function == "login") || own && (throttle.Rate >= d.API.Throttle.Rate || throttle.Burst >= d.API.Throttle.Burst) {
			t.Errorf("%s: %+v, and %+v for the others", route, throttle, d.API.Throttle)
		}
		delete(d.API.Throttles, route)
	}
	if len(d.API.Throttles) > 0 {
		t.Errorf("there are no routes %v, and a stage that says something of them fails", d.API.Throttles)
	}
}

// TestLogin holds what the function for tokens is told of its host, and that it
// ends before the gateway does.
func TestLogin(t *testing.T) {
	d, _ := load(t, deployments["everything"])
	login := d.Functions["login"]
	if host := login.Environment["LARDER_HOST"]; host != "registry.example.com" || d.Outputs["RegistryHost"] != host {
		t.Errorf("the host is %s, and clients know %s", host, d.Outputs["RegistryHost"])
	}
	if login.Timeout >= 30 {
		t.Errorf("it may take %d s, and the gateway waits for 30", login.Timeout)
	}
}

// TestNothingFetches holds that without upstreams there is nothing that could
// fetch, and whom it might tell.
func TestNothingFetches(t *testing.T) {
	for _, d := range both(load(t, deployments["the least"])) {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if d.Fetching != nil || strings.Contains(string(text), "acme-registry-fetch") { // as all names begin
			t.Errorf("nothing is pulled through, and there is %s", text)
		}
	}
}

// TestFetching holds what AWS asks of a FIFO queue and who takes from it, and
// what fetching a package takes.
func TestFetching(t *testing.T) {
	d, _ := load(t, deployments[pulling])
	f, fetch := d.Fetching, d.Functions["fetch"]
	for _, q := range []templatetest.Queue{f.Queue, f.DeadLetterQueue} { // a FIFO queue's dead letters are in a FIFO queue
		if !q.FIFO || !strings.HasSuffix(q.Name, ".fifo") || len(q.Name) > 80 || !q.ManagedSSE {
			t.Errorf("the queue is %+v", q)
		}
	}
	if least := 6 * fetch.Timeout; f.Queue.Visibility < least {
		t.Errorf("the queue hides messages for %d s, want %d s or more: six times the function's timeout", f.Queue.Visibility, least)
	}
	if f.Queue.MaxReceives != 3 || f.Queue.DeadLetters != f.DeadLetterQueue.ARN || f.Events.BatchSize != 1 || f.Events.Queue != f.Queue.ARN ||
		f.Events.Function != "fetch" || f.Events.Concurrency < 2 || !slices.Equal(f.Events.ResponseTypes, []string{"ReportBatchItemFailures"}) {
		t.Errorf("the queue is %+v, and read by %+v", f.Queue, f.Events)
	}
	if fetch.Storage <= upstream.MaxArchive>>20 {
		t.Errorf("fetch has %d MB of disk: a package may have %d", fetch.Storage, upstream.MaxArchive>>20)
	}
}

// TestFunctions holds what AWS asks of functions and their queue.
func TestFunctions(t *testing.T) {
	d, _ := load(t, deployments[pulling])
	for name, f := range d.Functions {
		if f.Code != "build/"+name || f.Runtime != "provided.al2023" || f.Architecture != "arm64" || f.Handler != "bootstrap" {
			t.Errorf("%s is %+v", name, f)
		}
		if d.LogGroups[f.LogGroup].Days == 0 {
			t.Errorf("%s logs to %s, which is not among the log groups", name, f.LogGroup)
		}
		if len(f.Trust) != 1 || !slices.Equal(f.Trust[0].Principals, []string{"Service lambda.amazonaws.com"}) {
			t.Errorf("the role of %s may be taken by %v", name, f.Trust)
		}
	}
	if d.LogGroups[d.API.AccessLog].Days == 0 || !strings.HasPrefix(d.API.AccessLog, "/aws/vendedlogs/") {
		t.Errorf("the access log is %s", d.API.AccessLog)
	}
	publish := d.Functions["publish"]
	if least := 6 * publish.Timeout; d.Queue.Visibility < least {
		t.Errorf("the queue hides messages for %d s, want %d s or more: six times the function's timeout", d.Queue.Visibility, least)
	}
	if d.Queue.MaxReceives < 5 || d.Queue.DeadLetters != d.DeadLetterQueue.ARN || d.Events.BatchSize != 1 ||
		d.Events.Queue != d.Queue.ARN || d.Events.Function != "publish" || d.Events.Concurrency < 2 {
		t.Errorf("the queue is %+v, and read by %+v", d.Queue, d.Events)
	}
	// The upload, and a module unpacked and packed again.
	if least := inbox.MaxUpload + 2*archive.MaxModuleExpanded; publish.Storage<<20 <= least {
		t.Errorf("publish has %d MB of disk: it may take %d", publish.Storage, least>>20)
	}
	if d.Reconcile.Function != "publish" || d.Reconcile.Input != `{"reconcile":{}}` || !d.Reconcile.Policy.Allows("lambda:InvokeFunction", functionARN(publish), nil) {
		t.Errorf("the schedule is %+v", d.Reconcile)
	}
}

func functionARN(f templatetest.Function) string {
	return "arn:aws:lambda:eu-central-1:111122223333:function:" + f.Name
}

// TestBucket holds what becomes of objects.
func TestBucket(t *testing.T) {
	d, _ := load(t, deployments["the least"])
	if !d.Bucket.Kept || !d.Bucket.PolicyKept || !d.Table.Kept || !d.SigningKey.Kept {
		t.Error("bucket, bucket policy, table or key would go with the deployment")
	}
	for setting, value := range d.Bucket.PublicAccess {
		if value != "true" {
			t.Errorf("%s is %s", setting, value)
		}
	}
	inbox := []string{"keys/", "mirror/", "modules/", "providers/"}
	var expiring, telling []string
	for name, rule := range d.Bucket.Lifecycle {
		if rule.ExpireDays > 0 || rule.ExpireNoncurrentDays > 0 {
			expiring = append(expiring, rule.Prefix)
			if days := rule.ExpireNoncurrentDays * 24 * 60 * 60; days <= d.Queue.Retention {
				t.Errorf("%s removes versions that an event in the queue may still name", name)
			}
		}
	}
	for _, n := range d.Bucket.Notifications {
		telling = append(telling, n.Prefix)
		if n.Event != "s3:ObjectCreated:*" || n.Queue != d.Queue.ARN {
			t.Errorf("the bucket tells %+v", n)
		}
	}
	slices.Sort(expiring)
	slices.Sort(telling)
	if !slices.Equal(expiring, inbox) || !slices.Equal(telling, inbox) {
		t.Errorf("objects under %v expire, and events come from %v; want %v for both", expiring, telling, inbox)
	}
}

// TestAdopt holds that adopt.yaml takes what template.yaml keeps, and says of
// it what template.yaml says.
func TestAdopt(t *testing.T) {
	for _, multiRegion := range []string{"false", "true"} {
		v := templatetest.Values{Parameters: map[string]string{"BucketName": "acme-registry", "MultiRegionKey": multiRegion}}
		whole, err := templatetest.Kept(samFile, v)
		if err != nil {
			t.Fatal(err)
		}
		adopted, err := templatetest.Kept("../../adopt.yaml", v)
		if err != nil {
			t.Fatal(err)
		}
		if names := slices.Sorted(maps.Keys(whole)); !slices.Equal(names, slices.Sorted(maps.Keys(adopted))) {
			t.Fatalf("adopt.yaml does not take %v", names)
		}
		if adopted["Table"]["TimeToLiveSpecification"] == nil {
			t.Error("adopt.yaml says nothing of the table's TTL: the deployment would enable it, and DynamoDB refuses that twice")
		}
		if !reflect.DeepEqual(adopted["SigningKey"]["MultiRegion"], whole["SigningKey"]["MultiRegion"]) {
			t.Error("adopt.yaml says otherwise whether the key is of many regions: the deployment would change it, and KMS refuses that")
		}
		for name, properties := range adopted {
			for property, value := range properties {
				if name == "BucketPolicy" && property == "PolicyDocument" {
					continue // the least of it, until the deployment brings the rest
				}
				if !reflect.DeepEqual(value, whole[name][property]) {
					t.Errorf("%s of %s is %v, and in template.yaml %v", property, name, value, whole[name][property])
				}
			}
		}
	}
}

// TestFormatted holds that infra/ is written as `terraform fmt` writes it.
func TestFormatted(t *testing.T) {
	var files []string
	for _, pattern := range []string{"/*.tf", "/examples/*/*.tf"} {
		found, err := filepath.Glob(terraformDir + pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no file is %s (%v)", pattern, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(hclwrite.Format(source)) != string(source) {
			t.Errorf("%s is not formatted: run terraform fmt or tofu fmt", file)
		}
	}
}

// TestNothingIsRequired holds that what some organizations require is not there
// unless it is asked for.
func TestNothingIsRequired(t *testing.T) {
	for _, d := range both(load(t, deployments[pulling])) {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, right := range []string{"ec2:", "kms:Decrypt", "kms:GenerateDataKey"} {
			if strings.Contains(string(text), right) {
				t.Errorf("there is a right to %s", right)
			}
		}
		for name, f := range d.Functions {
			if f.Boundary != "" || len(f.Subnets) > 0 || len(f.Groups) > 0 {
				t.Errorf("%s is %+v", name, f)
			}
		}
		for _, q := range []templatetest.Queue{d.Queue, d.DeadLetterQueue, d.Fetching.Queue, d.Fetching.DeadLetterQueue} {
			if !q.ManagedSSE || q.KMSKey != "" {
				t.Errorf("the queue is %+v", q)
			}
		}
		for name, group := range d.LogGroups {
			if group.KMSKey != "" {
				t.Errorf("%s is encrypted with %s", name, group.KMSKey)
			}
		}
		if d.Outcomes.KMSKey != "" || d.SigningKey.MultiRegion || d.Reconcile.Boundary != "" || len(d.Metrics) > 0 || len(d.Alarms) != 6 {
			t.Errorf("there are %+v, %+v, %+v, %v and %d alarms", d.Outcomes, d.SigningKey, d.Reconcile, d.Metrics, len(d.Alarms))
		}
	}
}

// TestWhatIsRequired holds that what is asked for is everywhere where it belongs, and
// nowhere else.
func TestWhatIsRequired(t *testing.T) {
	for _, d := range both(load(t, deployments["everything"])) {
		for name, f := range d.Functions {
			var subnets, groups []string
			if name == "login" || name == "fetch" { // they alone connect to others than AWS
				subnets, groups = []string{"subnet-0a", "subnet-0b"}, []string{"sg-0c", "sg-0d"}
			}
			if f.Boundary != boundary || !slices.Equal(f.Subnets, subnets) || !slices.Equal(f.Groups, groups) {
				t.Errorf("%s is %+v", name, f)
			}
		}
		for _, q := range []templatetest.Queue{d.Queue, d.DeadLetterQueue, d.Fetching.Queue, d.Fetching.DeadLetterQueue} {
			if q.ManagedSSE || q.KMSKey != queueKey { // SQS takes one of both
				t.Errorf("the queue is %+v", q)
			}
		}
		if len(d.LogGroups) != 8 {
			t.Errorf("the log groups are %v", d.LogGroups)
		}
		for name, group := range d.LogGroups {
			if group.KMSKey != logKey {
				t.Errorf("%s is encrypted with %s", name, group.KMSKey)
			}
		}
		if d.Outcomes.KMSKey != topicKey || !d.SigningKey.MultiRegion || d.Reconcile.Boundary != boundary {
			t.Errorf("there are %+v, %+v, %+v", d.Outcomes, d.SigningKey, d.Reconcile)
		}
	}
}

// TestAlarms holds which alarms there are, whom they tell, and what they go by.
func TestAlarms(t *testing.T) {
	always := []string{"dead-letters", "oldest-upload", "publish-errors", "server-errors", "throttles"}
	more := []string{"read-throttles", "reconcile", "slow-publish", "write-throttles"}
	for name, want := range map[string][]string{
		"the least":   always,
		pulling:       slices.Concat(always, []string{"fetch-dead-letters"}),
		"more alarms": slices.Concat(always, more),
		"everything":  slices.Concat(always, more, []string{"certificate", "fetch-dead-letters", "fetch-errors"}),
	} {
		slices.Sort(want)
		for _, d := range both(load(t, deployments[name])) {
			var got []string
			for alarm, settings := range d.Alarms {
				got = append(got, strings.TrimPrefix(alarm, "acme-registry-"))
				var told []string
				if name == "everything" {
					told = []string{"arn:aws:sns:eu-central-1:111122223333:alarms"}
				}
				if !slices.Equal(settings.Actions, told) || !slices.Equal(settings.OKActions, told) {
					t.Errorf("%s: %s tells %v, and that all is well %v", name, alarm, settings.Actions, settings.OKActions)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s: there are %v, want %v", name, got, want)
			}
		}
	}
	d, _ := load(t, deployments["more alarms"])
	if slow := d.Alarms["acme-registry-slow-publish"]; slow.Threshold != d.Functions["publish"].Timeout*1000*4/5 {
		t.Errorf("publish is slow after %d ms, and has %d s", slow.Threshold, d.Functions["publish"].Timeout)
	}
	source, err := os.ReadFile("../../functions/internal/publishevents/publishevents.go")
	if err != nil {
		t.Fatal(err)
	}
	const complete = "the reconcile is complete"
	want := templatetest.Metric{
		LogGroup: "/aws/lambda/acme-registry-publish", Pattern: `{ $.msg = "` + complete + `" }`,
		Namespace: "Larder", Name: "acme-registry-reconciles", Value: "1",
	}
	alarm := d.Alarms["acme-registry-reconcile"]
	if got := d.Metrics["acme-registry-reconciles"]; got != want || alarm.Metric != got.Name || alarm.Namespace != got.Namespace ||
		!strings.Contains(string(source), `"`+complete+`"`) {
		t.Errorf("reconciles are counted by %+v, and the alarm is %+v", got, alarm)
	}
}

// TestAlarmsLeadSomewhere holds that every alarm names the place that says what
// to do.
func TestAlarmsLeadSomewhere(t *testing.T) {
	d, _ := load(t, deployments["everything"])
	operations, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, alarm := range d.Alarms {
		_, heading, found := strings.Cut(alarm.Description, `docs/operations.md, "`)
		if !found || !strings.Contains(string(operations), "\n### "+strings.TrimSuffix(heading, `"`)+"\n") {
			t.Errorf("the alarm %s says %q, which leads nowhere", name, alarm.Description)
		}
	}
}

// alarmRow is a row of the table of alarms in docs/operations.md: the name, whether it is one of more, and the heading.
var alarmRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)`( \\(more\\))? \\|.*\\| \\[([^]]+)\\]\\(#[a-z-]+\\) \\|$")

// TestOperationsListsAlarms holds that who is called by an alarm finds it in the table, with the heading that the alarm
// says, too.
func TestOperationsListsAlarms(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range alarmRow.FindAllStringSubmatch(string(page), -1) {
		got[row[1]+row[2]] = row[3]
	}
	all, _ := load(t, deployments["everything"])
	usual, _ := load(t, deployments[pulling])
	want := map[string]string{}
	for name, alarm := range all.Alarms {
		short := strings.TrimPrefix(name, "acme-registry-")
		if _, ok := usual.Alarms[name]; !ok {
			short += " (more)"
		}
		_, heading, _ := strings.Cut(alarm.Description, `docs/operations.md, "`)
		want[short] = strings.TrimSuffix(heading, `"`)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the table has %v, want %v", got, want)
	}
}

// TestOperationsKnowsTimeouts holds that what operators are told of functions that died says the time that they have.
func TestOperationsKnowsTimeouts(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	d, _ := load(t, deployments[pulling])
	for section, function := range map[string]string{"### Publish fails\n": "publish", "### Packages are not fetched\n": "fetch"} {
		_, said, _ := strings.Cut(string(page), section)
		said, _, _ = strings.Cut(said, "\n#")
		if want := fmt.Sprintf("out of time (%d s)", d.Functions[function].Timeout); !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", section, want)
		}
	}
}
