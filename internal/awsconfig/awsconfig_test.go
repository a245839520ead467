package awsconfig

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/localca"
)

// operator is an environment with nothing of the one who runs the tests.
func operator(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

func TestLoad(t *testing.T) {
	operator(t, map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"})
	if _, err := Load(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "--region") {
		t.Errorf("without a region: %v", err)
	}
	for _, tt := range []struct{ variable, flag, want string }{
		{"eu-central-1", "", "eu-central-1"},
		{"eu-central-1", "us-east-1", "us-east-1"},
	} {
		t.Setenv("AWS_REGION", tt.variable)
		cfg, err := Load(t.Context(), tt.flag)
		if err != nil || cfg.Region != tt.want {
			t.Errorf("region %q, flag %q: %q, %v", tt.variable, tt.flag, cfg.Region, err)
			continue
		}
		if got, err := cfg.Credentials.Retrieve(t.Context()); err != nil || got.AccessKeyID != "id" {
			t.Errorf("credentials of %q, %v", got.AccessKeyID, err)
		}
	}
	t.Setenv("AWS_PROFILE", "nobody")
	if _, err := Load(t.Context(), "us-east-1"); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("with a profile that is not there: %v", err)
	}
}

// A bucket is asked for by its path at a server that is not Amazon's, and by a host name
// of its own at Amazon's.
func TestS3(t *testing.T) {
	const profile = "[profile larder]\nregion = us-east-1\nendpoint_url = http://profile\n"
	const services = "[profile larder]\nservices = larder\n[services larder]\ns3 =\n  endpoint_url = http://services\n"
	for _, tt := range []struct {
		file string
		vars map[string]string
		want string
	}{
		{"", nil, "https://larder.s3.us-east-1.amazonaws.com/"},
		{"", map[string]string{"AWS_ENDPOINT_URL": "http://all"}, "http://all/larder"},
		{"", map[string]string{"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3"}, "http://s3/larder"},
		{"", map[string]string{"AWS_ENDPOINT_URL_KMS": "http://kms"}, "https://larder.s3.us-east-1.amazonaws.com/"},
		{"", map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, "https://larder.s3.us-east-1.amazonaws.com/"},
		{profile, map[string]string{"AWS_PROFILE": "larder"}, "http://profile/larder"},
		{services, map[string]string{"AWS_PROFILE": "larder"}, "http://services/larder"},
		{profile, map[string]string{"AWS_PROFILE": "larder", "AWS_ENDPOINT_URL_S3": "http://s3"}, "http://s3/larder"},
		{profile, map[string]string{"AWS_PROFILE": "larder", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, "https://larder.s3.us-east-1.amazonaws.com/"},
		{profile, nil, "https://larder.s3.us-east-1.amazonaws.com/"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			operator(t, tt.vars)
			file := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("AWS_CONFIG_FILE", file)
			t.Setenv("AWS_ACCESS_KEY_ID", "id")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			cfg, err := Load(t.Context(), "us-east-1")
			if err != nil {
				t.Fatal(err)
			}
			signed, err := s3.NewPresignClient(S3(cfg)).PresignHeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("larder")})
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := strings.Cut(signed.URL, "?"); got != tt.want {
				t.Errorf("%q with %v: %s, want %s", tt.file, tt.vars, got, tt.want)
			}
		})
	}
}

// The certificates of AWS_CA_BUNDLE are trusted by what Transport returns.
func TestTransport(t *testing.T) {
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := localca.Load(dir, time.Now()); err != nil {
		t.Fatal(err)
	}
	operator(t, map[string]string{"AWS_CA_BUNDLE": dir.Path(datadir.CACert), "AWS_REGION": "us-east-1"})
	cfg, err := Load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	transport, ok := Transport(cfg).(*http.Transport)
	if !ok || transport.TLSClientConfig == nil || transport.TLSClientConfig.RootCAs == nil {
		t.Errorf("%T has no roots of AWS_CA_BUNDLE", Transport(cfg))
	}
}
