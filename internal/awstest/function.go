package awstest

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/internal/lambdatest"
)

// function is a deployed function with as many instances as may run at once. Each instance has
// its own endpoints of AWS, so it is known which invocation made which call.
type function struct {
	name        string
	deployed    string // its name on AWS
	timeout     time.Duration
	credentials aws.Credentials // of its role
	instances   []*instance
	free        chan struct{} // has one for each instance that is in idle

	mu   sync.Mutex
	idle []*instance // the one that ran last is the last
}

// take waits for an idle instance, and prefers the one that ran last: the others may never have
// run.
func (f *function) take() *instance {
	<-f.free
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.idle) - 1
	i := f.idle[last]
	f.idle = f.idle[:last]
	return i
}

func (f *function) giveBack(i *instance) {
	f.mu.Lock()
	f.idle = append(f.idle, i)
	f.mu.Unlock()
	f.free <- struct{}{}
}

type instance struct {
	lambda *lambdatest.Function
	made   *calls
}

// readInstances is how many instances a function that reads has: two, so that a test does not
// mistake the memory of one of them for the store.
const readInstances = 2

// newFunction gives a function the credentials of its role, as Lambda does.
// Their token is as long and as awkward as AWS's.
func (s *Stack) newFunction(name string) *function {
	d := s.Deployment.Functions[name]
	f := &function{
		name:     name,
		deployed: d.Name,
		timeout:  time.Duration(d.Timeout) * time.Second,
		credentials: aws.Credentials{
			AccessKeyID:     "ASIA" + rand.Text()[:16],
			SecretAccessKey: rand.Text() + rand.Text(),
			SessionToken:    "IQoJb3JpZ2luX2VjE" + rand.Text() + "/" + rand.Text() + "+" + rand.Text() + "==",
		},
	}
	s.sessions[f.credentials.SessionToken] = f
	group := fmt.Sprintf("arn:aws:logs:%s:%s:log-group:%s:log-stream:%s", region, account, d.LogGroup, rand.Text())
	for _, action := range []string{"logs:CreateLogStream", "logs:PutLogEvents"} { // Lambda's own
		s.ledger.add(Call{Function: name, Action: action, Resource: group})
	}
	return f
}

// startFunction starts the instances of a function until the test ends.
func (s *Stack) startFunction(t testing.TB, f *function, binaries string, count int) {
	t.Helper()
	f.free = make(chan struct{}, count)
	binary := filepath.Join(binaries, f.name, "bootstrap")
	for range count {
		made := &calls{}
		i := &instance{lambdatest.Start(t, binary, s.environment(t, f, made)), made}
		f.instances = append(f.instances, i)
		f.giveBack(i)
	}
}

// environment returns the environment of a function in the template, and the variables that
// Lambda adds. Only the AWS SDK's variables for endpoints are those of the tests.
func (s *Stack) environment(t testing.TB, f *function, made *calls) []string {
	t.Helper()
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, slices.Concat(s.CA, s.config.Trusted), 0o600); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{
		"AWS_REGION":               region,
		"AWS_DEFAULT_REGION":       region,
		"AWS_ACCESS_KEY_ID":        f.credentials.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY":    f.credentials.SecretAccessKey,
		"AWS_SESSION_TOKEN":        f.credentials.SessionToken,
		"AWS_LAMBDA_FUNCTION_NAME": s.Deployment.Functions[f.name].Name,
		"_HANDLER":                 s.Deployment.Functions[f.name].Handler,
		"TZ":                       ":UTC",
		"SSL_CERT_FILE":            trusted,

		"AWS_ENDPOINT_URL_S3":       s.bucketEndpoint(t, f, made),
		"AWS_ENDPOINT_URL_DYNAMODB": s.endpoint(t, f.name, made, inBody(dynamoCalls(s.tableARN)), s.dynamodb),
		"AWS_ENDPOINT_URL_KMS":      s.endpoint(t, f.name, made, inBody(kmsCalls), s.KMS),
		"AWS_ENDPOINT_URL_SQS":      s.endpoint(t, f.name, made, inBody(sqsCalls), s.sqs),
		"AWS_ENDPOINT_URL_SNS":      s.endpoint(t, f.name, made, inBody(snsCalls), s.topic),
		"AWS_ENDPOINT_URL_SSM":      s.endpoint(t, f.name, made, inBody(ssmCalls), s.secrets),
	}
	maps.Copy(variables, s.Deployment.Functions[f.name].Environment)
	var environment []string
	for name, value := range variables {
		environment = append(environment, name+"="+value)
	}
	slices.Sort(environment)
	return environment
}

// bucketEndpoint returns the endpoint of S3 for an instance of a function. Publish sends it
// requests; catalog asks by URLs, as users do; versions and download only give URLs to users, and a
// request of theirs must be seen; fetch does both.
func (s *Stack) bucketEndpoint(t testing.TB, f *function, made *calls) string {
	t.Helper()
	asked := s.record(f.name, made, func(r *http.Request) ([]Call, error) { return s3Calls(r, nil) }, s.strict(s.owned))
	users := s.serveUsers()
	switch f.name {
	case publisher:
		server := httptest.NewServer(asked)
		t.Cleanup(server.Close)
		return server.URL
	case cataloger:
		server := httptest.NewServer(s.record(f.name, made, func(r *http.Request) ([]Call, error) { return s3Calls(r, nil) }, withoutListing(users)))
		t.Cleanup(server.Close)
		return server.URL
	case fetcher:
		return "https://" + serveTLS(t, s.certificate, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Security-Token") != "" { // else it has the token in an URL
				asked.ServeHTTP(w, r)
				return
			}
			users.ServeHTTP(w, r)
		}))
	}
	return s.S3Endpoint
}

// withoutListing answers as S3 does to whoever may not list the bucket: access is denied to what is
// not there.
func withoutListing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		if answer.Code == http.StatusNotFound {
			refuseXML(w, http.StatusForbidden, "AccessDenied", "Access Denied")
			return
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w) // the function may have left
	})
}

// invoke runs a function in an idle instance, and also returns the calls that it made.
func (s *Stack) invoke(f *function, payload string, timeout time.Duration) ([]byte, []Call, error) {
	i := f.take()
	defer f.giveBack(i)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	s.ledger.add(i.made.take()...) // of an invocation that was given up
	response, err := i.lambda.Invoke(ctx, []byte(payload))
	made := i.made.take()
	s.ledger.add(made...)
	return response, made, err
}

// Logs returns the log of a function.
func (s *Stack) Logs(name string) string {
	var logs string
	for _, i := range s.functions[name].instances {
		logs += i.lambda.Logs()
	}
	return logs
}
