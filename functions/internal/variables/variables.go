// Package variables reads the environment variables of a function, and opens the
// catalog that they name.
package variables

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// Values has everything that functions read from their environment. Variables that begin
// with AWS_ are the AWS SDK's; Lambda sets all of them but the endpoints. Of the others a
// function has those that it asks for.
type Values struct {
	// Table is LARDER_TABLE, the name of the catalog's DynamoDB table.
	Table string

	// Bucket is LARDER_BUCKET, the name of the bucket.
	Bucket string

	// Hostname is LARDER_HOSTNAME, the registry's own, as the clients send it to
	// a mirror. Without it the mirror does not have the registry's own providers.
	Hostname string

	// Open is whether LARDER_AUTH is "open": then everybody may read. By default it
	// is "required": then reading needs a token.
	Open bool

	// URLLifetime is LARDER_URL_LIFETIME, how long presigned URLs work, as a Go
	// duration. The default is 15 minutes.
	URLLifetime time.Duration

	// SigningKey is LARDER_KMS_KEY, the ARN of the registry's signing key.
	SigningKey string

	// QueueURL is LARDER_QUEUE_URL, the URL of the queue of uploads.
	QueueURL string

	// FetchQueueURL is LARDER_FETCH_QUEUE_URL, the URL of the queue of packages to
	// fetch for the mirror.
	FetchQueueURL string

	// Upstreams is LARDER_MIRROR_UPSTREAMS, patterns of the providers that the
	// mirror pulls through, and Platforms is LARDER_MIRROR_PLATFORMS, for which
	// platforms. Package pullthrough parses them.
	Upstreams, Platforms string

	// Topic is LARDER_TOPIC_ARN, the ARN of the topic that outcomes of uploads
	// are announced to.
	Topic string

	// Host is LARDER_HOST, the host that browsers and clients reach the
	// registry at.
	Host string

	// LoginIssuer is LARDER_LOGIN_ISSUER, the URL of the provider that people
	// log in with. Without it nobody can log in.
	LoginIssuer string

	// LoginClientID is LARDER_LOGIN_CLIENT_ID, the registry's client ID at the
	// provider. LoginSecretName is LARDER_LOGIN_CLIENT_SECRET_NAME, the name of the
	// parameter of Systems Manager with the client's secret; empty for a public
	// client. LoginScopes is LARDER_LOGIN_SCOPES, the scopes to ask the provider
	// for, separated by spaces.
	LoginClientID, LoginSecretName, LoginScopes string

	// Region is AWS_REGION.
	Region string

	// Credentials are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
	// AWS_SESSION_TOKEN. Lambda replaces the process before they expire.
	Credentials aws.CredentialsProvider

	// The endpoints of servers that are not Amazon's, http:// or https://:
	// AWS_ENDPOINT_URL_DYNAMODB, _S3, _KMS, _SQS, _SNS and _SSM.
	DynamoDBEndpoint, S3Endpoint, KMSEndpoint, SQSEndpoint, SNSEndpoint, SSMEndpoint string
}

const (
	defaultURLLifetime = 15 * time.Minute

	// maxURLLifetime is short, since a URL expires with the credentials that signed
	// it, and Lambda does not say when these do.
	maxURLLifetime = 30 * time.Minute
)

// Variable is a variable that a function asks for.
type Variable string

// The variables.
const (
	Table       Variable = "LARDER_TABLE"
	Bucket      Variable = "LARDER_BUCKET"
	Hostname    Variable = "LARDER_HOSTNAME"
	Auth        Variable = "LARDER_AUTH"
	URLLifetime Variable = "LARDER_URL_LIFETIME"
	SigningKey  Variable = "LARDER_KMS_KEY"
	QueueURL    Variable = "LARDER_QUEUE_URL"
	Topic       Variable = "LARDER_TOPIC_ARN"
	FetchQueue  Variable = "LARDER_FETCH_QUEUE_URL"
	Upstreams   Variable = "LARDER_MIRROR_UPSTREAMS"
	Platforms   Variable = "LARDER_MIRROR_PLATFORMS"

	Host            Variable = "LARDER_HOST"
	LoginIssuer     Variable = "LARDER_LOGIN_ISSUER"
	LoginClientID   Variable = "LARDER_LOGIN_CLIENT_ID"
	LoginSecretName Variable = "LARDER_LOGIN_CLIENT_SECRET_NAME"
	LoginScopes     Variable = "LARDER_LOGIN_SCOPES"
)

// readers read the variables. A variable that is not set has an empty value.
var readers = map[Variable]func(v *Values, value string) error{
	Table:      func(v *Values, value string) error { return required(&v.Table, value) },
	Bucket:     func(v *Values, value string) error { return required(&v.Bucket, value) },
	SigningKey: func(v *Values, value string) error { return required(&v.SigningKey, value) },
	Topic:      func(v *Values, value string) error { return required(&v.Topic, value) },
	Upstreams:  func(v *Values, value string) error { return required(&v.Upstreams, value) },
	Platforms:  func(v *Values, value string) error { return required(&v.Platforms, value) },
	QueueURL:   func(v *Values, value string) error { return address(&v.QueueURL, value) },
	FetchQueue: func(v *Values, value string) error { return address(&v.FetchQueueURL, value) },
	Host:       func(v *Values, value string) error { return required(&v.Host, value) },

	LoginIssuer: func(v *Values, value string) error {
		v.LoginIssuer = value
		if value != "" && !strings.HasPrefix(value, "https://") {
			return fmt.Errorf("is %q: it must be a URL of https", value)
		}
		return nil
	},
	LoginClientID: func(v *Values, value string) error {
		v.LoginClientID = value
		return nil
	},
	LoginSecretName: func(v *Values, value string) error {
		v.LoginSecretName = value
		return nil
	},
	LoginScopes: func(v *Values, value string) error {
		v.LoginScopes = value
		return nil
	},
	Hostname: func(v *Values, value string) (err error) {
		if value != "" {
			v.Hostname, err = registry.ParseHostname(value)
		}
		return err
	},
	Auth: func(v *Values, value string) error {
		v.Open = value == "open"
		if value != "" && value != "open" && value != "required" {
			return fmt.Errorf("is %q: it must be open or required", value)
		}
		return nil
	},
	URLLifetime: func(v *Values, value string) (err error) {
		v.URLLifetime = defaultURLLifetime
		if value != "" {
			v.URLLifetime, err = time.ParseDuration(value)
		}
		if err != nil || v.URLLifetime < time.Second || v.URLLifetime > maxURLLifetime {
			return fmt.Errorf("is %q: it must be a duration such as 15m, up to %v", value, maxURLLifetime)
		}
		return nil
	},
}

// Read reads the variables of AWS and the wanted ones. The error names every wrong variable.
func Read(getenv func(string) string, wanted ...Variable) (Values, error) {
	var v Values
	var errs []error
	check := func(variable Variable, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %w", variable, err))
		}
	}
	for _, variable := range wanted {
		check(variable, readers[variable](&v, getenv(string(variable))))
	}
	var id, secret string
	for variable, value := range map[Variable]*string{
		"AWS_REGION": &v.Region, "AWS_ACCESS_KEY_ID": &id, "AWS_SECRET_ACCESS_KEY": &secret,
	} {
		check(variable, required(value, getenv(string(variable))))
	}
	v.Credentials = credentials.NewStaticCredentialsProvider(id, secret, getenv("AWS_SESSION_TOKEN"))
	for variable, value := range map[Variable]*string{
		"AWS_ENDPOINT_URL_DYNAMODB": &v.DynamoDBEndpoint, "AWS_ENDPOINT_URL_S3": &v.S3Endpoint,
		"AWS_ENDPOINT_URL_KMS": &v.KMSEndpoint, "AWS_ENDPOINT_URL_SQS": &v.SQSEndpoint,
		"AWS_ENDPOINT_URL_SNS": &v.SNSEndpoint, "AWS_ENDPOINT_URL_SSM": &v.SSMEndpoint,
	} {
		check(variable, endpoint(value, getenv(string(variable))))
	}
	return v, errors.Join(errs...)
}

func required(to *string, value string) error {
	if *to = value; value == "" {
		return errors.New("is not set")
	}
	return nil
}

// address is an endpoint that must be set.
func address(to *string, value string) error {
	return errors.Join(required(to, value), endpoint(to, value))
}

func endpoint(to *string, value string) error {
	*to = value
	if value == "" {
		return nil
	}
	if u, err := url.Parse(value); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("is %q: it must be a URL of http or https", value)
	}
	return nil
}

// Catalog is the catalog in the table. It sends no request.
func (v Values) Catalog() (*dynamocatalog.Catalog, error) {
	return dynamocatalog.New(dynamocatalog.Config{
		Table: v.Table, Region: v.Region, Credentials: v.Credentials, Endpoint: v.DynamoDBEndpoint,
	})
}
