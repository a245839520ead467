package preflight

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func template(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var nextParameter = regexp.MustCompile(`\n {0,2}[A-Za-z]`)

// Each parameter is one of the template's, and takes what that does.
func TestParamsAreTheTemplates(t *testing.T) {
	for _, p := range params {
		_, rest, found := strings.Cut(template(t), "\n  "+p.name+":\n")
		if !found {
			t.Errorf("the template has no parameter %s", p.name)
			continue
		}
		parameter := nextParameter.Split(rest, 2)[0]
		want := "AllowedPattern: " + p.pattern
		switch p.name {
		case "PublishConcurrency":
			want = "Default: " + p.standard
		case "MoreAlarms":
			want = `Default: "` + p.standard + `"`
		}
		if !strings.Contains(parameter+"\n", want+"\n") {
			t.Errorf("the template's %s has no %s:\n%s", p.name, want, parameter)
		}
	}
}

func TestLoad(t *testing.T) {
	const certificate = "--certificate-arn=arn:aws:acm:eu-central-1:123456789012:certificate/1"
	for _, tt := range []struct {
		args string
		want string // in the error; empty: none
	}{
		{"--bucket-name=acme-registry", ""},
		{"--bucket-name=acme-registry --domain-name=registry.example.com --hosted-zone-id=Z1 " + certificate, ""},
		{"", "--bucket-name (BucketName)"},
		{"--bucket-name=Acme", "--bucket-name (BucketName)"},
		{"--bucket-name=b-b --domain-name=registry", "--domain-name (DomainName)"},
		{"--bucket-name=b-b --domain-name=registry.example.com", "needs --certificate-arn"},
		{"--bucket-name=b-b " + certificate, "give it, too"},
		{"--bucket-name=b-b --certificate-arn=x", "--certificate-arn (CertificateArn)"},
		{"--bucket-name=b-b --hosted-zone-id=example.com", "--hosted-zone-id (HostedZoneId)"},
		{"--bucket-name=b-b --uploader-namespace=A", "--uploader-namespace (UploaderNamespace)"},
		{"--bucket-name=b-b --publish-concurrency=1", "from 2 to 1000"},
		{"--bucket-name=b-b --publish-concurrency=x", "--publish-concurrency (PublishConcurrency)"},
		{"--bucket-name=b-b --with=terraform", ""},
		{"--bucket-name=b-b --with=tofu", "--with is \"tofu\": it must be sam or terraform"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		AddFlags(flags)
		if err := flags.Parse(strings.Fields(tt.args)); err != nil {
			t.Fatal(err)
		}
		p, err := Load(flags)
		if tt.want == "" && (err != nil || p.PublishConcurrency != 4) {
			t.Errorf("%s: %+v, %v", tt.args, p, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.args, err, tt.want)
		}
	}
}
