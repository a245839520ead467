package doctor

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/check/findings"
	"github.com/larder-registry/larder/pkg/access"
)

// findingsOf are what a visit found of some checks, with the advice.
func findingsOf(list *findings.List, checks ...string) (all []string) {
	for _, f := range list.All() {
		for _, check := range checks {
			if f.Check == check {
				all = append(all, f.Check+": "+f.Found+" -> "+f.Advice)
			}
		}
	}
	return all
}

// A bucket that cannot be reached is told as that, and not as a wrong clock or
// a malformed document.
func TestBucketThatIsNotReached(t *testing.T) {
	l := newLive(t)
	l.breaks = func(r *http.Request, a *reply) {
		const nobody = "https://127.0.0.1:1"
		if strings.HasSuffix(r.URL.Path, getProvider) {
			a.replace(l.URL, nobody)
		}
		if strings.HasSuffix(r.URL.Path, getModule) {
			a.header.Set("X-Terraform-Get", strings.ReplaceAll(a.header.Get("X-Terraform-Get"), l.URL, nobody))
		}
	}
	got := findingsOf(examine(t, l.options()), "module.archive", "provider.shasums", "provider.archive", "provider.signature")
	if len(got) != 3 {
		t.Errorf("%d findings: %q", len(got), got)
	}
	for _, finding := range got {
		if !strings.Contains(finding, "connection refused -> modules and providers are downloaded from the bucket, so this machine must reach 127.0.0.1:1: ") {
			t.Error(finding)
		}
	}
}

func TestAdviceOnBucket(t *testing.T) {
	refused := &noAnswerError{errors.New("connection refused")}
	const reach = "modules and providers are downloaded from the bucket, so this machine must reach %s: look at name server, firewall and proxy; on a single node, LARDER_S3_URL sets the URL at which others reach its bucket"
	const loop = "modules and providers are downloaded from the bucket, and %s is each machine's own address: set LARDER_S3_ADDR to an address that others reach, or LARDER_S3_URL to the URL at which they reach it"
	for _, tt := range []struct {
		name, registry, bucket string
		err                    error
		want                   string
	}{
		{"it answers 403", "registry.example.com", "s3.example.com", errors.New("it answers 403"), "as answered"},
		{"no answer", "registry.example.com", "s3.example.com:9443", fmt.Errorf("at: %w", refused), fmt.Sprintf(reach, "s3.example.com:9443")},
		{"loopback", "registry.example.com", "127.0.0.1:9443", refused, fmt.Sprintf(loop, "127.0.0.1:9443")},
		{"loopback by IPv6", "192.0.2.1:8443", "[::1]:9443", refused, fmt.Sprintf(loop, "[::1]:9443")},
		{"loopback by name", "registry.example.com", "localhost:9443", refused, fmt.Sprintf(loop, "localhost:9443")},
		{"loopback by name, in capitals", "registry.example.com", "LOCALHOST:9443", refused, fmt.Sprintf(loop, "LOCALHOST:9443")},
		{"loopback, as is the registry", "127.0.0.1:8443", "127.0.0.1:9443", refused, fmt.Sprintf(reach, "127.0.0.1:9443")},
		{"no trust", "registry.example.com", "s3.example.com:9443", &noAnswerError{&tls.CertificateVerificationError{Err: errors.New("x")}},
			"modules and providers are downloaded from the bucket, so trust the certificate at https://s3.example.com:9443 on every machine, too (SSL_CERT_FILE, or its system's store)"},
	} {
		v := &visit{client: &client{host: tt.registry}}
		if got := v.adviceOnBucket(&url.URL{Scheme: "https", Host: tt.bucket}, tt.err, "as answered"); got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

// What a token's scopes do not match is not found: that may be why.
func TestScopesThatAreTooNarrow(t *testing.T) {
	const module = "module.versions: the registry shows no module acme/network/aws to this token -> if it is published, the token's scopes are too narrow: " +
		`a token with "read modules:acme/network/aws" sees it, and larder token list shows what this one may read; else see the outcome of its upload, in its tags`
	const provider = "provider.versions: the registry shows no provider acme/widget to this token -> if it is published, the token's scopes are too narrow: " +
		`a token with "read providers:acme/widget" sees it, and larder token list shows what this one may read; else see the outcome of its upload, in its tags`
	l := newLive(t)
	l.closed, l.scopes = true, []string{"read modules:other/*"}
	o := l.options()
	o.Token = goodToken
	if got := findingsOf(examine(t, o), "module.versions", "provider.versions"); len(got) != 2 || got[0] != module || got[1] != provider {
		t.Errorf("got %q", got)
	}
	if _, err := access.ParseScopes([]string{"read modules:acme/network/aws", "read providers:acme/widget"}); err != nil {
		t.Error(err)
	}
	l.closed = false // where nobody looks at tokens, nothing is there
	l.breaks = onPath(listModule, status(404))
	const absent = "module.versions: there is no module acme/network/aws -> see the outcome of its upload, in its tags"
	if got := findingsOf(examine(t, o), "module.versions"); len(got) != 1 || got[0] != absent {
		t.Errorf("where reading is open: %q", got)
	}
}
