package variables

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// whole is an environment in which every variable is set.
var whole = map[string]string{
	"LARDER_TABLE":              "larder",
	"LARDER_BUCKET":             "larder-bucket",
	"LARDER_AUTH":               "open",
	"LARDER_URL_LIFETIME":       "20m",
	"LARDER_KMS_KEY":            "arn:aws:kms:eu-central-1:111122223333:key/1",
	"LARDER_QUEUE_URL":          "https://sqs.eu-central-1.amazonaws.com/111122223333/larder",
	"LARDER_TOPIC_ARN":          "arn:aws:sns:eu-central-1:111122223333:larder-outcomes",
	"LARDER_FETCH_QUEUE_URL":    "https://sqs.eu-central-1.amazonaws.com/111122223333/larder-fetch.fifo",
	"LARDER_MIRROR_UPSTREAMS":   "registry.terraform.io/hashicorp/*",
	"LARDER_MIRROR_PLATFORMS":   "all",
	"LARDER_HOST":               "registry.example.com",
	"LARDER_LOGIN_ISSUER":       "https://login.example.com",
	"LARDER_LOGIN_CLIENT_ID":    "larder",
	"LARDER_LOGIN_SCOPES":       "openid groups",
	"AWS_REGION":                "eu-central-1",
	"AWS_ACCESS_KEY_ID":         "id",
	"AWS_SECRET_ACCESS_KEY":     "s3cret",
	"AWS_SESSION_TOKEN":         "t0ken",
	"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1",
	"AWS_ENDPOINT_URL_S3":       "http://127.0.0.1:2",
	"AWS_ENDPOINT_URL_KMS":      "http://127.0.0.1:3",
	"AWS_ENDPOINT_URL_SQS":      "http://127.0.0.1:4",
	"AWS_ENDPOINT_URL_SNS":      "http://127.0.0.1:5",
	"AWS_ENDPOINT_URL_SSM":      "http://127.0.0.1:6",

	"LARDER_LOGIN_CLIENT_SECRET_NAME": "/larder/login",
}

var every = []Variable{Table, Bucket, Auth, URLLifetime, SigningKey, QueueURL, Topic, FetchQueue, Upstreams, Platforms,
	Host, LoginIssuer, LoginClientID, LoginSecretName, LoginScopes}

// with is the environment with some variables changed.
func with(changes ...string) func(string) string {
	env := maps.Clone(whole)
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		env[name] = value
	}
	return func(name string) string { return env[name] }
}

func TestRead(t *testing.T) {
	c, err := Read(with(), every...)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := c.Credentials.Retrieve(t.Context())
	if err != nil || credentials.AccessKeyID != "id" || credentials.SecretAccessKey != "s3cret" || credentials.SessionToken != "t0ken" {
		t.Errorf("credentials %+v, %v", credentials, err)
	}
	c.Credentials = nil
	want := Values{
		Table: "larder", Bucket: "larder-bucket", Open: true, URLLifetime: 20 * time.Minute,
		SigningKey: whole["LARDER_KMS_KEY"], QueueURL: whole["LARDER_QUEUE_URL"], Topic: whole["LARDER_TOPIC_ARN"], Region: "eu-central-1",
		FetchQueueURL: whole["LARDER_FETCH_QUEUE_URL"], Upstreams: "registry.terraform.io/hashicorp/*", Platforms: "all",
		Host: "registry.example.com", LoginIssuer: "https://login.example.com", LoginClientID: "larder", LoginSecretName: "/larder/login", LoginScopes: "openid groups",
		SSMEndpoint: "http://127.0.0.1:6", DynamoDBEndpoint: "http://127.0.0.1:1", S3Endpoint: "http://127.0.0.1:2",
		KMSEndpoint: "http://127.0.0.1:3", SQSEndpoint: "http://127.0.0.1:4", SNSEndpoint: "http://127.0.0.1:5",
	}
	if c != want {
		t.Errorf("Read = %+v, want %+v", c, want)
	}
}

// Reading is closed unless it was opened, and nothing is read that was not
// asked for.
func TestReadDefaults(t *testing.T) {
	c, err := Read(with("LARDER_AUTH=", "LARDER_URL_LIFETIME=", "LARDER_TABLE="), Auth, URLLifetime)
	if err != nil || c.Open || c.URLLifetime != 15*time.Minute {
		t.Errorf("Read = %+v, %v", c, err)
	}
	if c.Bucket != "" {
		t.Errorf("the bucket was not asked for, and is %q", c.Bucket)
	}
	if c, err := Read(with("LARDER_AUTH=required"), Auth); err != nil || c.Open {
		t.Errorf("required: Read = %+v, %v", c, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, change := range []string{
		"LARDER_TABLE=", "LARDER_BUCKET=", "LARDER_KMS_KEY=", "LARDER_QUEUE_URL=", "LARDER_QUEUE_URL=larder", "LARDER_TOPIC_ARN=",
		"LARDER_FETCH_QUEUE_URL=", "LARDER_FETCH_QUEUE_URL=larder", "LARDER_MIRROR_UPSTREAMS=", "LARDER_MIRROR_PLATFORMS=",
		"LARDER_HOST=", "LARDER_LOGIN_ISSUER=http://login.example.com", "LARDER_LOGIN_ISSUER=login.example.com",
		"LARDER_AUTH=Open", "LARDER_AUTH=none",
		"LARDER_URL_LIFETIME=15", "LARDER_URL_LIFETIME=0s", "LARDER_URL_LIFETIME=-15m", "LARDER_URL_LIFETIME=31m",
		"AWS_REGION=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=",
		"AWS_ENDPOINT_URL_S3=127.0.0.1:9000", "AWS_ENDPOINT_URL_DYNAMODB=ftp://127.0.0.1", "AWS_ENDPOINT_URL_KMS=http://", "AWS_ENDPOINT_URL_SQS=:", "AWS_ENDPOINT_URL_SNS=sns", "AWS_ENDPOINT_URL_SSM=ssm",
	} {
		_, err := Read(with(change), every...)
		if name, _, _ := strings.Cut(change, "="); err == nil || !strings.HasPrefix(err.Error(), name+" is ") {
			t.Errorf("%s: Read = %v, want an error that names the variable", change, err)
		}
	}
	_, err := Read(func(string) string { return "" }, every...)
	for _, name := range []string{"LARDER_TABLE", "LARDER_BUCKET", "LARDER_KMS_KEY", "LARDER_QUEUE_URL", "LARDER_TOPIC_ARN", "LARDER_FETCH_QUEUE_URL", "LARDER_MIRROR_UPSTREAMS", "LARDER_MIRROR_PLATFORMS", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if err == nil || !strings.Contains(err.Error(), name+" is not set") {
			t.Errorf("nothing is set: Read = %v, want an error with %s", err, name)
		}
	}
}
