package e2e

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/awstest"
	"github.com/larder-registry/larder/internal/s3test"
)

// stack is the registry as template.yaml deploys it.
type stack struct {
	*registry
	*awstest.Stack
}

// startStack deploys an empty registry for as long as the test runs. It is for tests of AWS: the requests to it, the
// queue, its failures. So the test runs only with that door.
func startStack(t testing.TB) *stack {
	t.Helper()
	return startStackAs(t, "")
}

// startStackAs deploys one with a host name of its own.
func startStackAs(t testing.TB, hostname string) *stack {
	t.Helper()
	return startStackWith(t, awstest.Config{Domain: hostname})
}

// startStackWith deploys one with further settings.
func startStackWith(t testing.TB, c awstest.Config) *stack {
	t.Helper()
	only(t, deployed)
	sharedRegistry(t) // which has the S3
	s, err := newStack(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// commonS3 has a bucket for every stack.
var commonS3 *s3test.Server

func newStack(t testing.TB, c awstest.Config) (*stack, error) {
	t.Helper()
	c.Template, c.Module, c.Binaries, c.S3 = "../template.yaml", "../infra", functions, commonS3
	s := &stack{&registry{}, awstest.Start(t, c)}
	t.Cleanup(func() { used.note(s.Stack) })
	s.log = func() []byte { return []byte(s.Logs("publish")) }
	s.wholeLog = func() []byte {
		var all []byte
		for name := range s.Deployment.Functions {
			all = append(all, s.Logs(name)...)
		}
		return all
	}
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, s.CA, 0o600); err != nil {
		return nil, err
	}
	s.named = []string{"--stack", s.Bucket}
	s.operator = map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": s.LambdaEndpoint,
		"AWS_ENDPOINT_URL_KMS":    s.KMSEndpoint,
		"AWS_ACCESS_KEY_ID":       s.Operator.AccessKey,
		"AWS_SECRET_ACCESS_KEY":   s.Operator.SecretKey,
		"AWS_REGION":              s.Region,
		"AWS_DEFAULT_REGION":      s.Region, // which version 1 of the AWS CLI knows alone
		"AWS_CA_BUNDLE":           ca,
	}
	s.admin = maps.Clone(s.operator)
	s.admin["AWS_ACCESS_KEY_ID"], s.admin["AWS_SECRET_ACCESS_KEY"] = s.Admin.AccessKey, s.Admin.SecretKey
	return s, s.connect(map[string]string{
		"AWS_ENDPOINT_URL_S3":   s.S3Endpoint,
		"AWS_ACCESS_KEY_ID":     s.AccessKey,
		"AWS_SECRET_ACCESS_KEY": s.SecretKey,
		"AWS_REGION":            s.Region,
		"AWS_CA_BUNDLE":         ca,
		"SSL_CERT_FILE":         ca,
		"LARDER_BUCKET":         s.Bucket,
		"LARDER_HOST":           s.Host,
	})
}

// launchSharedStack deploys the stack that tests share, and returns what takes it down.
func launchSharedStack() (shared *registry, stop func() bool, err error) {
	o := newOwner("the shared stack")
	err = o.start(func() {
		commonS3 = awstest.StartS3(o)
		s, err := newStack(o, awstest.Config{})
		if err != nil {
			o.Fatal(err)
		}
		shared = s.registry
	})
	return shared, o.end, err
}

// permissions are those of template.yaml, and whether any stack needed them.
type permissions struct {
	mu   sync.Mutex
	used map[awstest.Permission]bool
}

var used = permissions{used: map[awstest.Permission]bool{}}

func (p *permissions) note(s *awstest.Stack) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for permission, needed := range awstest.Permissions(s.Deployment, s.Calls()) {
		p.used[permission] = p.used[permission] || needed
	}
}

// elsewhere are the permissions to find a package at its origin, and to fetch it. The functions only connect to public
// addresses, so they cannot reach an origin on this machine. TestPullThrough in functions/ has an origin, and compares
// its requests with the same policies.
var elsewhere = []string{
	"fetch s3:PutObject arn:aws:s3:::<name>/mirror/*",
	"fetch sqs:SendMessage arn:aws:sqs:us-east-1:111122223333:<name>-fetch.fifo",
}

// allPermissionsUsed says whether the run needed every permission of the functions, except those that it cannot need.
func allPermissionsUsed() bool {
	if door != deployed || flag.Lookup("test.run").Value.String() != "" {
		return true
	}
	ok := true
	for permission, needed := range used.used {
		switch excepted := slices.Contains(elsewhere, permission.String()); {
		case !needed && !excepted:
			fmt.Println("nothing has needed this permission of template.yaml:", permission)
			ok = false
		case needed && excepted:
			fmt.Println("take this permission off the list of those that are needed elsewhere:", permission)
			ok = false
		}
	}
	return ok
}
