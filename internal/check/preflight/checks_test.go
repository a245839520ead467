package preflight

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	route53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/larder-registry/larder/internal/check/findings"
)

const account = "123456789012"

var deployer = caller{"arn:aws:iam::" + account + ":user/dev", account, "aws"}

// answers is every API at once: each question has one answer, or this error.
type answers struct {
	err      error
	identity *sts.GetCallerIdentityOutput
	settings *lambda.GetAccountSettingsOutput
	head     *s3.HeadBucketOutput
	cert     *acmtypes.CertificateDetail
	hosted   *route53types.HostedZone

	role      *iamtypes.Role
	refused   []string // actions
	simulated []string // whose rights were asked for
	boundary  string   // without which no role may be made
}

func (a *answers) GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error) {
	return a.identity, a.err
}

func (a *answers) GetAccountSettings(context.Context, *lambda.GetAccountSettingsInput, ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error) {
	return a.settings, a.err
}

func (a *answers) HeadBucket(context.Context, *s3.HeadBucketInput, ...func(*s3.Options)) (*s3.HeadBucketOutput, error) {
	return a.head, a.err
}

func (a *answers) DescribeCertificate(context.Context, *acm.DescribeCertificateInput, ...func(*acm.Options)) (*acm.DescribeCertificateOutput, error) {
	return &acm.DescribeCertificateOutput{Certificate: a.cert}, a.err
}

func (a *answers) GetHostedZone(context.Context, *route53.GetHostedZoneInput, ...func(*route53.Options)) (*route53.GetHostedZoneOutput, error) {
	return &route53.GetHostedZoneOutput{HostedZone: a.hosted}, a.err
}

func (a *answers) GetRole(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error) {
	if a.role == nil {
		return nil, &smithy.GenericAPIError{Code: "AccessDenied"}
	}
	return &iam.GetRoleOutput{Role: a.role}, nil
}

// SimulatePrincipalPolicy answers one action a page.
func (a *answers) SimulatePrincipalPolicy(_ context.Context, in *iam.SimulatePrincipalPolicyInput, _ ...func(*iam.Options)) (*iam.SimulatePrincipalPolicyOutput, error) {
	if a.err != nil {
		return nil, a.err
	}
	a.simulated = append(a.simulated, aws.ToString(in.PolicySourceArn))
	at := slices.Index(in.ActionNames, aws.ToString(in.Marker)) // -1 on the first page
	action := in.ActionNames[at+1]
	decision := iamtypes.PolicyEvaluationDecisionTypeAllowed
	unbound := a.boundary != "" && !slices.ContainsFunc(in.ContextEntries, func(e iamtypes.ContextEntry) bool {
		return aws.ToString(e.ContextKeyName) == "iam:PermissionsBoundary" && slices.Equal(e.ContextKeyValues, []string{a.boundary})
	})
	if slices.Contains(a.refused, action) || unbound && action == "iam:CreateRole" {
		decision = iamtypes.PolicyEvaluationDecisionTypeImplicitDeny
	}
	out := &iam.SimulatePrincipalPolicyOutput{EvaluationResults: []iamtypes.EvaluationResult{{EvalActionName: &action, EvalDecision: decision}}}
	if at+2 < len(in.ActionNames) {
		out.IsTruncated, out.Marker = true, &action
	}
	return out, nil
}

// apiError is an error as AWS's services answer it.
func apiError(code string, status int, header ...string) error {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: h}},
		Err:      &smithy.GenericAPIError{Code: code, Message: "no"},
	}}
}

var errNetwork = errors.New("dial tcp: no such host")

// verdict is the finding of one check.
func verdict(t *testing.T, ask func(check)) findings.Finding {
	t.Helper()
	list := new(findings.List)
	ask(check{list, Params{
		With: "sam", BucketName: "acme-registry", DomainName: "registry.example.com", HostedZoneID: "Z1", PublishConcurrency: 4,
		CertificateArn: "arn:aws:acm:eu-central-1:" + account + ":certificate/1", UploaderNamespace: "acme",
	}, "eu-central-1", func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }})
	if len(list.All()) != 1 {
		t.Fatalf("%d findings, want one: %+v", len(list.All()), list.All())
	}
	return list.All()[0]
}

// expect wants a check to have found something, with words of what it is and of
// what to do.
func expect(t *testing.T, name string, got findings.Finding, result findings.Result, words ...string) {
	t.Helper()
	if got.Result != result || (got.Advice == "") != (result == findings.OK) {
		t.Errorf("%s: %+v, want %s", name, got, result)
	}
	for _, word := range words {
		if !strings.Contains(got.Found+" → "+got.Advice, word) {
			t.Errorf("%s: %+v does not say %q", name, got, word)
		}
	}
}

func identityOf(arn string) *sts.GetCallerIdentityOutput {
	return &sts.GetCallerIdentityOutput{Arn: &arn, Account: aws.String(account)}
}

func TestIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		api    answers
		result findings.Result
		words  []string
	}{
		"a user":           {answers{identity: identityOf(deployer.arn)}, findings.OK, []string{account, "eu-central-1", "user/dev"}},
		"the root user":    {answers{identity: identityOf("arn:aws:iam::" + account + ":root")}, findings.Warn, []string{"root"}},
		"nobody":           {answers{identity: identityOf("x")}, findings.Fail, []string{"AWS_ENDPOINT_URL"}},
		"expired":          {answers{err: apiError("ExpiredToken", 403)}, findings.Fail, []string{"aws sso login"}},
		"unknown":          {answers{err: apiError("InvalidClientTokenId", 403)}, findings.Fail, []string{"region"}},
		"a wrong secret":   {answers{err: apiError("SignatureDoesNotMatch", 403)}, findings.Fail, []string{"clock"}},
		"denied":           {answers{err: apiError("AccessDenied", 403)}, findings.Fail, []string{"get-caller-identity"}},
		"no way to AWS":    {answers{err: errNetwork}, findings.Fail, []string{"no such host", "region's name"}},
		"something else":   {answers{err: apiError("InternalFailure", 500)}, findings.Fail, []string{"get-caller-identity"}},
		"another region's": {answers{err: apiError("UnrecognizedClientException", 403)}, findings.Fail, []string{"enabled the region"}},
	} {
		got := verdict(t, func(c check) {
			if who, ok := c.identity(t.Context(), &tt.api); ok == (tt.result == findings.Fail) || ok && who.account != account {
				t.Errorf("%s: %+v, %v", name, who, ok)
			}
		})
		expect(t, name, got, tt.result, tt.words...)
	}
}

func TestSAMRegion(t *testing.T) {
	for name, tt := range map[string]struct {
		region, standard string
		result           findings.Result
		words            []string
	}{
		"both":                      {"eu-central-1", "eu-central-1", findings.OK, []string{"eu-central-1"}},
		"what SAM reads":            {"", "eu-central-1", findings.OK, []string{"eu-central-1"}},
		"neither":                   {"", "", findings.OK, []string{"the profile", "--region"}},
		"what SAM does not read":    {"eu-central-1", "", findings.Warn, []string{"AWS_REGION", "AWS_DEFAULT_REGION=eu-central-1", "--region eu-central-1"}},
		"another one for SAM":       {"eu-central-1", "us-east-1", findings.Warn, []string{"us-east-1", "AWS_DEFAULT_REGION=eu-central-1"}},
		"another than what is said": {"", "us-east-1", findings.Warn, []string{"us-east-1", "--region eu-central-1"}},
	} {
		expect(t, name, verdict(t, func(c check) { c.samRegion(tt.region, tt.standard) }), tt.result, tt.words...)
	}
}

func TestConcurrency(t *testing.T) {
	limit := func(n int32) *lambda.GetAccountSettingsOutput {
		return &lambda.GetAccountSettingsOutput{AccountLimit: &lambdatypes.AccountLimit{ConcurrentExecutions: n, UnreservedConcurrentExecutions: &n}}
	}
	for name, tt := range map[string]struct {
		api    answers
		result findings.Result
		words  []string
	}{
		"usual":         {answers{settings: limit(1000)}, findings.OK, []string{"1000"}},
		"enough":        {answers{settings: limit(24)}, findings.OK, nil},
		"little":        {answers{settings: limit(23)}, findings.Warn, []string{"answer 19 requests"}},
		"a new account": {answers{settings: limit(10)}, findings.Warn, []string{"10 functions", "answer 6 requests", "Service Quotas"}},
		"nothing":       {answers{settings: limit(0)}, findings.Warn, []string{"answer 0 requests"}},
		"no limit":      {answers{settings: &lambda.GetAccountSettingsOutput{}}, findings.Warn, []string{"not checked"}},
		"denied":        {answers{err: apiError("AccessDeniedException", 403)}, findings.Warn, []string{"not checked", "lambda:GetAccountSettings"}},
		"no way to AWS": {answers{err: errNetwork}, findings.Fail, []string{"no such host"}},
	} {
		expect(t, name, verdict(t, func(c check) { c.concurrency(t.Context(), &tt.api) }), tt.result, tt.words...)
	}
}

func TestBucket(t *testing.T) {
	in := func(region string) *s3.HeadBucketOutput { return &s3.HeadBucketOutput{BucketRegion: &region} }
	for name, tt := range map[string]struct {
		api    answers
		result findings.Result
		words  []string
	}{
		"free":                {answers{err: apiError("NotFound", 404)}, findings.OK, []string{"free"}},
		"ours":                {answers{head: in("eu-central-1")}, findings.Warn, []string{"adopt.yaml"}},
		"ours, elsewhere":     {answers{head: in("us-east-1")}, findings.Fail, []string{"us-east-1", "eu-central-1"}},
		"elsewhere":           {answers{err: apiError("MovedPermanently", 301, "x-amz-bucket-region", "us-east-1")}, findings.Fail, []string{"us-east-1"}},
		"another's or denied": {answers{err: apiError("Forbidden", 403)}, findings.Fail, []string{"another account", "s3:ListBucket"}},
		"a bad request":       {answers{err: apiError("BadRequest", 400)}, findings.Fail, []string{"no answer"}},
		"no way to AWS":       {answers{err: errNetwork}, findings.Fail, []string{"no such host"}},
	} {
		expect(t, name, verdict(t, func(c check) { c.bucket(t.Context(), &tt.api, deployer) }), tt.result, tt.words...)
	}
}

func TestCertificate(t *testing.T) {
	issued := func(end int, names ...string) *acmtypes.CertificateDetail {
		return &acmtypes.CertificateDetail{
			Status: acmtypes.CertificateStatusIssued, DomainName: &names[0], SubjectAlternativeNames: names,
			NotAfter: aws.Time(time.Date(2026, 1, 1+end, 0, 0, 0, 0, time.UTC)),
		}
	}
	for name, tt := range map[string]struct {
		api    answers
		result findings.Result
		words  []string
	}{
		"good":           {answers{cert: issued(300, "registry.example.com")}, findings.OK, []string{"registry.example.com"}},
		"among others":   {answers{cert: issued(300, "example.com", "Registry.example.com")}, findings.OK, nil},
		"a star":         {answers{cert: issued(300, "*.example.com")}, findings.OK, nil},
		"a star too far": {answers{cert: issued(300, "*.com")}, findings.Fail, []string{"*.com"}},
		"another name":   {answers{cert: issued(300, "example.com")}, findings.Fail, []string{"example.com"}},
		"not renewed":    {answers{cert: issued(20, "registry.example.com")}, findings.Warn, []string{"2026-01-21"}},
		"not validated":  {answers{cert: &acmtypes.CertificateDetail{Status: acmtypes.CertificateStatusPendingValidation}}, findings.Fail, []string{"DNS records"}},
		"expired":        {answers{cert: &acmtypes.CertificateDetail{Status: acmtypes.CertificateStatusExpired}}, findings.Fail, []string{"EXPIRED"}},
		"not there":      {answers{err: apiError("ResourceNotFoundException", 400)}, findings.Fail, []string{"no certificate"}},
		"nothing":        {answers{}, findings.Warn, []string{"not checked"}},
		"denied":         {answers{err: apiError("AccessDeniedException", 400)}, findings.Warn, []string{"not checked", "acm:DescribeCertificate"}},
		"no way to AWS":  {answers{err: errNetwork}, findings.Fail, []string{"no such host"}},
	} {
		expect(t, name, verdict(t, func(c check) { c.certificate(t.Context(), &tt.api) }), tt.result, tt.words...)
	}
	elsewhere := verdict(t, func(c check) {
		c.CertificateArn = strings.Replace(c.CertificateArn, "eu-central-1", "us-east-1", 1)
		c.certificate(t.Context(), &answers{cert: issued(300, "registry.example.com")})
	})
	expect(t, "in another region", elsewhere, findings.Fail, "us-east-1", "eu-central-1")
}

func TestZone(t *testing.T) {
	zone := func(name string, private bool) *route53types.HostedZone {
		return &route53types.HostedZone{Name: &name, Config: &route53types.HostedZoneConfig{PrivateZone: private}}
	}
	for name, tt := range map[string]struct {
		api    answers
		result findings.Result
		words  []string
	}{
		"the parent's":   {answers{hosted: zone("example.com.", false)}, findings.OK, []string{"example.com"}},
		"the domain's":   {answers{hosted: zone("registry.example.com.", false)}, findings.OK, nil},
		"another":        {answers{hosted: zone("example.org.", false)}, findings.Fail, []string{"example.org"}},
		"an end alike":   {answers{hosted: zone("ple.com.", false)}, findings.Fail, nil},
		"a private zone": {answers{hosted: zone("example.com.", true)}, findings.Fail, []string{"private"}},
		"not there":      {answers{err: apiError("NoSuchHostedZone", 404)}, findings.Fail, []string{"list-hosted-zones"}},
		"nothing":        {answers{}, findings.Warn, []string{"not checked"}},
		"denied":         {answers{err: apiError("AccessDenied", 403)}, findings.Warn, []string{"not checked", "route53:GetHostedZone"}},
		"no way to AWS":  {answers{err: errNetwork}, findings.Fail, []string{"no such host"}},
	} {
		expect(t, name, verdict(t, func(c check) { c.zone(t.Context(), &tt.api) }), tt.result, tt.words...)
	}
}

func TestPermissions(t *testing.T) {
	session := "arn:aws:sts::" + account + ":assumed-role/Admin/dev"
	deep := "arn:aws:iam::" + account + ":role/aws-reserved/sso.amazonaws.com/Admin"
	for name, tt := range map[string]struct {
		arn       string
		api       answers
		simulated string // whose rights are asked for; empty: nobody's
		result    findings.Result
		words     []string
	}{
		"a user":          {deployer.arn, answers{}, deployer.arn, findings.OK, []string{"actions of a deployment with SAM are allowed"}},
		"a role's path":   {session, answers{role: &iamtypes.Role{Arn: &deep}}, deep, findings.OK, nil},
		"a role, guessed": {session, answers{}, "arn:aws:iam::" + account + ":role/Admin", findings.OK, nil},
		"two refused":     {deployer.arn, answers{refused: []string{"kms:CreateKey", "iam:PassRole"}}, deployer.arn, findings.Fail, []string{"not allowed: kms:CreateKey on *; iam:PassRole on arn:aws:iam::" + account + ":role/acme-registry-publish", "with SAM"}},
		"the root user":   {"arn:aws:iam::" + account + ":root", answers{}, "", findings.Warn, []string{"not checked"}},
		"federated":       {"arn:aws:sts::" + account + ":federated-user/dev", answers{}, "", findings.Warn, []string{"not checked", "federated-user/dev"}},
		"a guess amiss":   {session, answers{err: apiError("NoSuchEntity", 404)}, "", findings.Warn, []string{"not checked", "role/Admin"}},
		"denied":          {deployer.arn, answers{err: apiError("AccessDenied", 403)}, "", findings.Warn, []string{"not checked", "iam:SimulatePrincipalPolicy"}},
		"no way to AWS":   {deployer.arn, answers{err: errNetwork}, "", findings.Fail, []string{"no such host"}},
	} {
		got := verdict(t, func(c check) { c.permissions(t.Context(), &tt.api, caller{tt.arn, account, "aws"}) })
		expect(t, name, got, tt.result, tt.words...)
		for _, principal := range tt.api.simulated {
			if principal != tt.simulated {
				t.Errorf("%s: asked for the rights of %s, want %q", name, principal, tt.simulated)
			}
		}
		if (len(tt.api.simulated) > 0) != (tt.simulated != "") {
			t.Errorf("%s: asked for the rights of %v, want %q", name, tt.api.simulated, tt.simulated)
		}
	}
}

// TestBoundary holds that who may make roles with a boundary alone may deploy with it.
func TestBoundary(t *testing.T) {
	const boundary = "arn:aws:iam::" + account + ":policy/boundary"
	for given, result := range map[string]findings.Result{boundary: findings.OK, "": findings.Fail, boundary + "2": findings.Fail} {
		api := answers{boundary: boundary}
		got := verdict(t, func(c check) {
			c.BoundaryArn = given
			c.permissions(t.Context(), &api, deployer)
		})
		expect(t, "with "+given, got, result)
		if result == findings.Fail && got.Found != "not allowed: iam:CreateRole on arn:aws:iam::"+account+":role/acme-registry-publish" {
			t.Errorf("with %q: %s", given, got.Found)
		}
	}
}
