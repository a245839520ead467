// Package awstest runs the registry as template.yaml deploys it, on this
// machine: the functions' own binaries behind a Runtime API, and everything
// around them that AWS would be.
//
// What there is, which function gets which environment, which request goes to
// which function, what the bucket tells the queue and how often a message is
// tried: all of that is read from template.yaml. S3 is a real S3 (versitygw)
// and DynamoDB is DynamoDB Local; KMS is that of kmstest; the gateway, the
// queue with its poller, the topic, the bucket's events, the parameter store and
// the API by which operators invoke functions are this package's.
//
// Every request that a function makes is written down with the permissions
// that it takes, which [Stack.Close] holds against the function's policies.
//
// What the gateway does is as AWS documents it, but for its throttling. Not
// documented, and so a guess: routes are matched with the path as it was
// written, an answer to HEAD has the length that the function gave, and a body is
// in base64 unless its type is one of text.
package awstest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/internal/templatetest"
)

const (
	region  = "us-east-1"
	account = "111122223333"

	publisher = "publish" // the function that the queue of uploads and the schedule call
	cataloger = "catalog" // the function that lists and describes
	fetcher   = "fetch"   // the function that the queue of packages calls, if there is one
	login     = "login"   // the function for tokens

	// hurry is how much faster than on AWS a failed message comes again.
	hurry = 3600

	// quiet bounds how long the queue may take to come to rest.
	quiet = 2 * time.Minute
)

// Config is what a stack is made of.
type Config struct {
	Template string         // path of template.yaml
	Module   string         // path of infra/, whose policies have to do as well
	Binaries string         // folder with a bootstrap for this machine in a folder of each function
	S3       *s3test.Server // of which the stack has a bucket of its own

	// Domain is the registry's own host name; it leads nowhere. Empty, it is
	// deployed without one.
	Domain string

	// Upstreams are the patterns of what the mirror pulls through. Empty, it
	// does not.
	Upstreams string

	// Closed requires a token to read. Otherwise everybody may read.
	Closed bool

	// Login is with whom people log in. Nil: nobody can.
	Login *Login

	// Trusted are certificates, in PEM, by which the functions trust issuers of
	// identities, beside those of the stack itself.
	Trusted []byte
}

// Login is the provider that people log in with.
type Login struct {
	Issuer, ClientID string
	Secret           string // of the client, in the parameter store; empty for a public client
	Scopes           string // empty for the template's
}

// loginSecret is the name of the parameter that has the client's secret.
const loginSecret = "/larder/login-secret"

// Stack is a deployed registry.
type Stack struct {
	Deployment *templatetest.Deployment

	Host                 string // of the registry: 127.0.0.1:<port>
	Name                 string // by which it is reached on AWS; here it leads nowhere
	S3Endpoint           string // https://127.0.0.1:<port>; the bucket is in the path
	Region               string
	AccessKey, SecretKey string // of the users
	Bucket               string // versioned, and empty at first
	CA                   []byte // in PEM; clients have to trust it

	// Operator has the template's policies for operators, that for tokens
	// included, and Admin may call every function. LambdaEndpoint and KMSEndpoint
	// are for them.
	Operator, Admin             Credentials
	LambdaEndpoint, KMSEndpoint string

	KMS *kmstest.Handler

	config      Config
	certificate tls.Certificate
	values      templatetest.Values

	twin     *templatetest.Deployment // by Terraform
	gateway  http.Handler             // the local S3
	owned    http.Handler             // the same, to which requests go as the bucket's owner's
	dynamodb http.Handler
	sqs      http.Handler
	s3       *s3.Client // as the owner
	routes   routes
	queue    *Queue
	wanted   *Queue // for fetch; nil where the mirror does not pull through
	topic    *Topic
	secrets  parameters
	locks    keyLocks

	functions map[string]*function
	sessions  map[string]*function // by session token

	pick atomic.Pointer[func(Call) Fault]
	deaf atomic.Bool

	ledger calls // of all functions

	mu          sync.Mutex
	requests    []Request
	invocations map[string][]Invocation // by function
	problems    []error                 // of the tests themselves
}

// discard discards the messages of servers and proxies when a client leaves.
var discard = log.New(io.Discard, "", 0)

// parameters are the template's.
func (c Config) parameters(bucket string) map[string]string {
	all := map[string]string{"BucketName": bucket, "ReadAccess": "open"}
	if c.Closed {
		all["ReadAccess"] = "required"
	}
	if c.Domain != "" {
		all["DomainName"] = c.Domain
		all["CertificateArn"] = "arn:aws:acm:" + region + ":" + account + ":certificate/11111111-2222-3333-4444-555555555555"
	}
	if c.Upstreams != "" {
		all["MirrorUpstreams"] = c.Upstreams
	}
	if c.Login != nil {
		all["LoginIssuer"], all["LoginClientId"] = c.Login.Issuer, c.Login.ClientID
		if c.Login.Secret != "" {
			all["LoginClientSecretName"] = loginSecret
		}
		if c.Login.Scopes != "" {
			all["LoginScopes"] = c.Login.Scopes
		}
	}
	return all
}

// Start deploys an empty registry until the test ends.
func Start(t testing.TB, c Config) *Stack {
	t.Helper()
	private := kmstest.NewKey(kmstest.RSAKey(t, 4096))
	bucket := "larder-" + strings.ToLower(rand.Text()[:12])
	values := templatetest.Values{
		Account: account, Region: region, KeyID: private.ID,
		Parameters: c.parameters(bucket),
	}
	deployment, err := templatetest.Load(c.Template, values)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := templatetest.LoadTerraform(c.Module, values)
	if err != nil {
		t.Fatal(err)
	}
	private.Alias = deployment.SigningKey.Alias
	s := &Stack{
		Deployment: deployment, twin: twin, Region: region, Bucket: bucket,
		AccessKey: c.S3.AccessKey, SecretKey: c.S3.SecretKey,
		Operator: newCredentials(), Admin: newCredentials(),
		config: c, values: values,
		KMS:       kmstest.New(private),
		s3:        c.S3.Client(),
		routes:    newRoutes(deployment.Routes),
		topic:     NewTopic(deployment.Outcomes.ARN),
		secrets:   parameters{},
		functions: map[string]*function{},
		sessions:  map[string]*function{},

		invocations: map[string][]Invocation{},
	}
	t.Cleanup(func() { s.verify(t) }) // after all else
	if c.Login != nil && c.Login.Secret != "" {
		s.secrets[loginSecret] = c.Login.Secret
	}
	s.queue = NewQueue(deployment.Queue)
	s.sqs = ServeSQS(s.queue)
	if deployment.Fetching != nil {
		s.wanted = NewQueue(deployment.Fetching.Queue)
		s.sqs = ServeSQS(s.queue, s.wanted)
	}
	s.createBucket(t)
	s.createTable(t)
	s.serve(t, c)
	s.deliverAll(t)
	return s
}

// serve starts the functions and the servers for users.
func (s *Stack) serve(t testing.TB, c Config) {
	t.Helper()
	gateway := forward(t, c.S3.Endpoint, nil)
	gateway.ModifyResponse = s.notify
	owner := aws.Credentials{AccessKeyID: c.S3.AccessKey, SecretAccessKey: c.S3.SecretKey}
	owned := forward(t, c.S3.Endpoint, func(r *http.Request) error { return sign(r, owner) })
	owned.ModifyResponse = s.notify
	s.gateway, s.owned = gateway, owned
	s.Name = s.Deployment.Functions[login].Environment["LARDER_HOST"]
	certificate, ca := newCertificate(t, s.Name)
	s.CA, s.certificate = ca, certificate
	s.S3Endpoint = "https://" + serveTLS(t, certificate, s.serveUsers())
	for name := range s.Deployment.Functions {
		s.functions[name] = s.newFunction(name)
	}
	for name, f := range s.functions {
		count := readInstances
		switch name {
		case publisher:
			count = s.Deployment.Events.Concurrency
		case fetcher: // which answers requests while it fetches
			count += s.Deployment.Fetching.Events.Concurrency
		}
		s.startFunction(t, f, c.Binaries, count)
	}
	s.Host = serveTLS(t, certificate, http.HandlerFunc(s.serveHTTP))
	s.LambdaEndpoint = "https://" + serveTLS(t, certificate, http.HandlerFunc(s.serveLambda))
	s.KMSEndpoint = "https://" + serveTLS(t, certificate, s.KMS)
}

// serveTLS serves until the test ends, and returns its URL.
func serveTLS(t testing.TB, certificate tls.Certificate, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = discard
	server.Config.MaxHeaderBytes = 4 * maxHead // the gateway looks at what is too large itself
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func (s *Stack) createBucket(t testing.TB) {
	t.Helper()
	if _, err := s.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.s3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &s.Bucket,
		VersioningConfiguration: &s3types.VersioningConfiguration{
			Status: s3types.BucketVersioningStatus(s.Deployment.Bucket.Versioning),
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func (s *Stack) createTable(t testing.TB) {
	t.Helper()
	engine := dynamotest.Start(t)
	s.dynamodb = forward(t, engine.Endpoint, nil)
	table := s.Deployment.Table
	input := &dynamodb.CreateTableInput{TableName: &table.Name, BillingMode: dynamotypes.BillingModePayPerRequest}
	for n, key := range table.Keys {
		name, kind, _ := strings.Cut(key, " ")
		role := []dynamotypes.KeyType{dynamotypes.KeyTypeHash, dynamotypes.KeyTypeRange}[n]
		input.KeySchema = append(input.KeySchema, dynamotypes.KeySchemaElement{AttributeName: &name, KeyType: role})
		input.AttributeDefinitions = append(input.AttributeDefinitions, dynamotypes.AttributeDefinition{
			AttributeName: &name, AttributeType: dynamotypes.ScalarAttributeType(kind),
		})
	}
	client := engine.Client()
	if _, err := client.CreateTable(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), headTimeout)
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name}); err != nil {
			t.Error(err)
		}
	})
}

func (s *Stack) tableARN(name string) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", region, account, name)
}

// deliverAll delivers the queues' messages until the test ends. The first one is S3's test of the
// bucket's notification.
func (s *Stack) deliverAll(t testing.TB) {
	t.Helper()
	stop := make(chan struct{})
	var pollers sync.WaitGroup
	for range s.Deployment.Events.Concurrency {
		pollers.Go(func() { s.poll(s.queue, s.functions[publisher], stop) })
	}
	if s.wanted != nil {
		for range s.Deployment.Fetching.Events.Concurrency {
			pollers.Go(func() { s.poll(s.wanted, s.functions[fetcher], stop) })
		}
	}
	t.Cleanup(func() {
		close(stop)
		pollers.Wait()
	})
	s.queue.send(s.testNotification())
}

// Schedule calls publish as the daily schedule does, with a timeout: 0 is the template's own.
func (s *Stack) Schedule(t testing.TB, timeout time.Duration) {
	t.Helper()
	f := s.functions[publisher]
	if timeout == 0 {
		timeout = f.timeout
	}
	input := s.Deployment.Reconcile.Input
	_, made, err := s.invoke(f, input, timeout)
	s.note(f.name, Invocation{input, made, err != nil})
	if err != nil {
		t.Fatal(err)
	}
}

// Send sends a message to the queue, with the right to do so.
func (s *Stack) Send(body string) { s.queue.send(body) }

// SendWanted sends a message to the queue of packages, with the right to do so. Its
// deduplication id is also its group.
func (s *Stack) SendWanted(id, body string) { s.wanted.sendOnce(id, id, body) }

// Rest waits until the queues are empty.
func (s *Stack) Rest(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(quiet); !s.idle(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the queues are not at rest after %v", quiet)
		}
	}
}

// idle says whether no queue has a message. A fetched package is an upload before its message is
// deleted.
func (s *Stack) idle() bool { return (s.wanted == nil || s.wanted.idle()) && s.queue.idle() }

// DeadLetters returns the messages of uploads that were given up.
func (s *Stack) DeadLetters() []Message { return s.queue.deadLetters() }

// FetchDeadLetters returns the messages of packages that were given up.
func (s *Stack) FetchDeadLetters() []Message { return s.wanted.deadLetters() }

// Requests returns the requests to the registry so far.
func (s *Stack) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Invocations returns the runs of publish so far.
func (s *Stack) Invocations() []Invocation { return s.runs(publisher) }

// Fetches returns the runs of fetch for a package so far.
func (s *Stack) Fetches() []Invocation { return s.runs(fetcher) }

// Asked returns the runs of login for operators so far.
func (s *Stack) Asked() []Invocation { return s.runs(login) }

func (s *Stack) runs(function string) []Invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.invocations[function])
}

func (s *Stack) noteRequest(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

func (s *Stack) note(function string, i Invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invocations[function] = append(s.invocations[function], i)
}

func (s *Stack) broken(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}
