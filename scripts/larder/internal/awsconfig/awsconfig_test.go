package awsconfig

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/scripts/larder/internal/datadir"
	"github.com/larder-registry/larder/scripts/larder/internal/localca"
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

func TestEndpoint(t *testing.T) {
	for _, tt := range []struct {
		vars map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"AWS_ENDPOINT_URL": "http://all"}, "http://all"},
		{map[string]string{"AWS_ENDPOINT_URL": "http://all", "AWS_ENDPOINT_URL_S3": "http://s3"}, "http://s3"},
		{map[string]string{"AWS_ENDPOINT_URL_KMS": "http://kms"}, ""},
		{map[string]string{"AWS_ENDPOINT_URL_S3": "http://s3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, ""},
	} {
		if got := Endpoint(func(name string) string { return tt.vars[name] }, "S3"); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.vars, got, tt.want)
		}
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
