package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// registry is a running registry as its users see it, by either door.
type registry struct {
	vars   map[string]string // what users have in their environment
	host   string            // LARDER_HOST, as module and provider addresses have it
	listen string            // 127.0.0.1:<port>, where it is
	bucket string            // LARDER_BUCKET
	http   *http.Client      // trusts the registry's CA and nothing else that it would not trust anyway
	s3     *s3.Client
	log    func() []byte // how its log ends

	wholeLog func() []byte

	operator map[string]string // what operators have in their environment
	admin    map[string]string // what those have, on AWS, who may do more
	named    []string          // how they name the registry to the larder command
}

// connect makes the clients that the tests speak through.
func (r *registry) connect(vars map[string]string) error {
	r.vars, r.host, r.bucket = vars, vars["LARDER_HOST"], vars["LARDER_BUCKET"]
	r.listen = r.host
	bundle, err := os.ReadFile(vars["SSL_CERT_FILE"])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("no certificate in %s", vars["SSL_CERT_FILE"])
	}
	r.http = &http.Client{
		Timeout:       patience,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.s3 = s3.New(s3.Options{
		Region:       vars["AWS_REGION"],
		BaseEndpoint: aws.String(vars["AWS_ENDPOINT_URL_S3"]),
		Credentials:  credentials.NewStaticCredentialsProvider(vars["AWS_ACCESS_KEY_ID"], vars["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:   r.http,
		UsePathStyle: true,
	})
	return nil
}

// operate runs the larder command as an operator does.
func (r *registry) operate(t testing.TB, args ...string) string {
	t.Helper()
	return r.operation(args...).must(t)
}

func (r *registry) operation(args ...string) command {
	return command{env: r.operator, argv: append(append([]string{larder}, args...), r.named...)}
}

// The doors, by which the same registry is reached.
const (
	singleNode = "node" // `larder serve`
	deployed   = "aws"  // the functions, with all that template.yaml puts around them
)

// only skips a test of another door than this run's. A run with that door runs it.
func only(t testing.TB, its string) {
	t.Helper()
	if its != door {
		t.Skipf("it is about the door %q", its)
	}
}

// common is the shared registry once a test has asked for it. commonErr says why it did not start.
var (
	common     *registry
	commonErr  error
	commonOnce sync.Once
	stopCommon = func() bool { return true } // says whether all was well with it
)

// sharedRegistry returns the registry for all tests that do not stop it and do not need it empty. Each test uses
// namespaces of its own.
func sharedRegistry(t testing.TB) *registry {
	t.Helper()
	commonOnce.Do(func() {
		switch door {
		case singleNode:
			common, stopCommon, commonErr = launchSharedNode()
		case deployed:
			common, stopCommon, commonErr = launchSharedStack()
		}
	})
	if commonErr != nil {
		t.Fatal(commonErr)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the shared registry's log ends:\n%s", common.log())
		}
	})
	return common
}
