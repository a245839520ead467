package preflight

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/awsconfig"
	"github.com/larder-registry/larder/internal/check/findings"
)

// script is one of AWS's answers, word for word.
type script struct {
	status int
	header string // of its error code, where a protocol has one
	body   string
}

const (
	identityXML = `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>` +
		`<Arn>arn:aws:sts::123456789012:assumed-role/Admin/dev</Arn><UserId>AROA:dev</UserId><Account>123456789012</Account>` +
		`</GetCallerIdentityResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetCallerIdentityResponse>`
	roleXML = `<GetRoleResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetRoleResult><Role><Path>/team/</Path>` +
		`<Arn>arn:aws:iam::123456789012:role/team/Admin</Arn><RoleName>Admin</RoleName><RoleId>AROA</RoleId>` +
		`<CreateDate>2026-01-01T00:00:00Z</CreateDate></Role></GetRoleResult></GetRoleResponse>`
	queryDenied = `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error><RequestId>1</RequestId></ErrorResponse>`
	zoneXML     = `<?xml version="1.0"?><GetHostedZoneResponse xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><HostedZone>` +
		`<Id>/hostedzone/Z1</Id><Name>example.com.</Name><CallerReference>1</CallerReference><Config><PrivateZone>false</PrivateZone></Config>` +
		`</HostedZone></GetHostedZoneResponse>`
	certificateJSON = `{"Certificate":{"Status":"ISSUED","DomainName":"registry.example.com","SubjectAlternativeNames":["registry.example.com"],"NotAfter":4102444800}}`
	settingsJSON    = `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":1000},"AccountUsage":{"FunctionCount":0}}`
	jsonDenied      = `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}`
)

// well is an account to which everything can be deployed.
func well() map[string]script {
	return map[string]script{
		"GetCallerIdentity":   {200, "", identityXML},
		"GetAccountSettings":  {200, "", settingsJSON},
		"HeadBucket":          {404, "", ""},
		"DescribeCertificate": {200, "", certificateJSON},
		"GetHostedZone":       {200, "", zoneXML},
		"GetRole":             {200, "", roleXML},
	}
}

// cloud is AWS as far as preflight asks it, in its wire formats.
type cloud struct {
	*httptest.Server
	with    string            // what deploys; empty is sam
	scripts map[string]script // by operation
	refused string            // an action

	lock  sync.Mutex
	asked []string
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{scripts: well()}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		operation := operationOf(r, form)
		c.lock.Lock()
		c.asked = append(c.asked, operation)
		answer, scripted := c.scripts[operation]
		c.lock.Unlock()
		if !scripted && operation == "SimulatePrincipalPolicy" {
			answer = script{200, "", simulation(form, c.refused)}
		}
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=test/") {
			answer = script{403, "", queryDenied}
		}
		if answer.header != "" {
			w.Header().Set("X-Amzn-ErrorType", answer.header)
		}
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
	}))
	t.Cleanup(c.Close)
	return c
}

// operationOf tells what is asked for, in each of the protocols.
func operationOf(r *http.Request, form url.Values) string {
	switch target := r.Header.Get("X-Amz-Target"); {
	case target != "":
		return strings.TrimPrefix(target, "CertificateManager.")
	case form.Get("Action") != "":
		return form.Get("Action")
	case r.Method == http.MethodHead && r.URL.Path == "/acme-registry" && r.Header.Get("X-Amz-Expected-Bucket-Owner") == account:
		return "HeadBucket"
	case strings.TrimSuffix(r.URL.Path, "/") == "/2016-08-19/account-settings":
		return "GetAccountSettings"
	case r.URL.Path == "/2013-04-01/hostedzone/Z1":
		return "GetHostedZone"
	}
	return r.Method + " " + r.URL.Path
}

// simulation allows every action that is asked for but one.
func simulation(form url.Values, refused string) string {
	var results strings.Builder
	for i := 1; form.Has(fmt.Sprintf("ActionNames.member.%d", i)); i++ {
		action, decision := form.Get(fmt.Sprintf("ActionNames.member.%d", i)), "allowed"
		if action == refused || form.Get("PolicySourceArn") != "arn:aws:iam::123456789012:role/team/Admin" {
			decision = "implicitDeny"
		}
		fmt.Fprintf(&results, "<member><EvalActionName>%s</EvalActionName><EvalDecision>%s</EvalDecision></member>", action, decision)
	}
	return `<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><SimulatePrincipalPolicyResult>` +
		`<IsTruncated>false</IsTruncated><EvaluationResults>` + results.String() + `</EvaluationResults>` +
		`</SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>`
}

// run asks everything, and is what was found, by check.
func (c *cloud) run(t *testing.T) map[string]findings.Finding {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": c.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-central-1", "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	cfg, err := awsconfig.Load(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	list := new(findings.List)
	Run(t.Context(), Params{
		With: cmp.Or(c.with, "sam"), BucketName: "acme-registry", DomainName: "registry.example.com", HostedZoneID: "Z1", PublishConcurrency: 4,
		CertificateArn: "arn:aws:acm:eu-central-1:123456789012:certificate/1",
	}, cfg, os.Getenv, list)
	found := map[string]findings.Finding{}
	for _, f := range list.All() {
		found[f.Check] = f
	}
	return found
}

// An account to which everything can be deployed.
func TestWell(t *testing.T) {
	c := newCloud(t)
	found := c.run(t)
	for _, f := range found {
		if f.Result != findings.OK {
			t.Errorf("%+v", f)
		}
	}
	if len(found) != 7 {
		t.Errorf("%d checks, want 7: %+v", len(found), found)
	}
	slices.Sort(c.asked)
	want := []string{"DescribeCertificate", "GetAccountSettings", "GetCallerIdentity", "GetHostedZone", "GetRole", "HeadBucket", "SimulatePrincipalPolicy"}
	if got := slices.Compact(c.asked); !slices.Equal(got, want) {
		t.Errorf("asked for %v, want %v", got, want)
	}
}

// One thing after another is denied, or amiss: its check says so, and all others
// are as they were.
func TestAmiss(t *testing.T) {
	for name, tt := range map[string]struct {
		operation string
		answer    script
		check     string
		result    findings.Result
		word      string
	}{
		"settings denied":    {"GetAccountSettings", script{403, "AccessDeniedException", `{"Message":"no"}`}, "lambda.concurrency", findings.Warn, "lambda:GetAccountSettings"},
		"a new account":      {"GetAccountSettings", script{200, "", strings.ReplaceAll(settingsJSON, "1000", "10")}, "lambda.concurrency", findings.Warn, "6 requests"},
		"bucket denied":      {"HeadBucket", script{403, "", ""}, "s3.bucket", findings.Fail, "s3:ListBucket"},
		"bucket there":       {"HeadBucket", script{200, "", ""}, "s3.bucket", findings.Warn, "adopt.yaml"},
		"certificate denied": {"DescribeCertificate", script{400, "", jsonDenied}, "acm.certificate", findings.Warn, "acm:DescribeCertificate"},
		"no certificate":     {"DescribeCertificate", script{400, "", `{"__type":"ResourceNotFoundException","message":"no"}`}, "acm.certificate", findings.Fail, "no certificate"},
		"not validated":      {"DescribeCertificate", script{200, "", `{"Certificate":{"Status":"PENDING_VALIDATION"}}`}, "acm.certificate", findings.Fail, "not validated"},
		"zone denied":        {"GetHostedZone", script{403, "", queryDenied}, "route53.zone", findings.Warn, "route53:GetHostedZone"},
		"no zone":            {"GetHostedZone", script{404, "", strings.Replace(queryDenied, "AccessDenied", "NoSuchHostedZone", 1)}, "route53.zone", findings.Fail, "no hosted zone"},
		"role denied":        {"GetRole", script{403, "", queryDenied}, "iam.permissions", findings.Fail, "s3:CreateBucket"}, // for the guess has no rights here
		"simulation denied":  {"SimulatePrincipalPolicy", script{403, "", queryDenied}, "iam.permissions", findings.Warn, "iam:SimulatePrincipalPolicy"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.scripts[tt.operation] = tt.answer
			for check, f := range c.run(t) {
				if check != tt.check && f.Result != findings.OK {
					t.Errorf("%+v", f)
				}
				if check == tt.check && (f.Result != tt.result || !strings.Contains(f.Found+f.Advice, tt.word)) {
					t.Errorf("%+v, want %s with %q", f, tt.result, tt.word)
				}
			}
		})
	}
}

// SAM's region is SAM's alone.
func TestTerraformIsNotSAM(t *testing.T) {
	c := newCloud(t)
	c.with = "terraform"
	if found := c.run(t); len(found) != 6 || found["aws.credentials"].Result != findings.OK {
		t.Errorf("%d checks, want 6: %+v", len(found), found)
	}
}

// A right that is missing is named.
func TestRefused(t *testing.T) {
	c := newCloud(t)
	c.refused = "iam:PassRole"
	if f := c.run(t)["iam.permissions"]; f.Result != findings.Fail || f.Found != "not allowed: iam:PassRole on arn:aws:iam::123456789012:role/acme-registry-publish" {
		t.Errorf("%+v", f)
	}
}

// Without credentials that are good, nothing else is asked.
func TestNoCredentials(t *testing.T) {
	for _, code := range []string{"AccessDenied", "ExpiredToken"} {
		c := newCloud(t)
		c.scripts["GetCallerIdentity"] = script{403, "", strings.Replace(queryDenied, "AccessDenied", code, 1)}
		found := c.run(t)
		if f := found["aws.credentials"]; f.Result != findings.Fail || len(found) != 1 || len(c.asked) != 1 {
			t.Errorf("%s: %+v after %v", code, found, c.asked)
		}
	}
}
