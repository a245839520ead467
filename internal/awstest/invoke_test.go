package awstest

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/internal/templatetest"
)

// TestInvokeRefuses holds what comes to no function.
func TestInvokeRefuses(t *testing.T) {
	operate := func() *templatetest.Deployment {
		return &templatetest.Deployment{Managed: map[string]templatetest.Policy{"acme-operate": {{
			Effect: "Allow", Actions: []string{"lambda:InvokeFunction"}, Resources: []string{"arn:aws:lambda:us-east-1:111122223333:function:acme-publish"},
		}}}}
	}
	s := &Stack{
		Bucket: "acme", AccessKey: "uploader", Operator: newCredentials(), Admin: newCredentials(),
		Deployment: operate(), twin: operate(),
		functions: map[string]*function{"publish": {deployed: "acme-publish"}, "download": {deployed: "acme-download"}},
	}
	uploader, stranger := Credentials{"uploader", "secret"}, newCredentials()
	for name, c := range map[string]struct {
		caller               Credentials
		function, body, kind string
		service              string
		status               int
		code                 string
	}{
		"not signed":             {Credentials{}, "acme-publish", "{}", "", "lambda", 403, "UnrecognizedClientException"},
		"signed by nobody known": {stranger, "acme-publish", "{}", "", "lambda", 403, "UnrecognizedClientException"},
		"signed for S3":          {s.Operator, "acme-publish", "{}", "", "s3", 403, "UnrecognizedClientException"},
		"an uploader":            {uploader, "acme-publish", "{}", "", "lambda", 403, "AccessDeniedException"},
		"another function":       {s.Operator, "acme-download", "{}", "", "lambda", 403, "AccessDeniedException"},
		"another registry's":     {s.Operator, "other-publish", "{}", "", "lambda", 403, "AccessDeniedException"},
		"no function":            {s.Admin, "other-publish", "{}", "", "lambda", 404, "ResourceNotFoundException"},
		"no JSON":                {s.Operator, "acme-publish", "{", "", "lambda", 400, "InvalidRequestContentException"},
		"an event":               {s.Operator, "acme-publish", "{}", "Event", "lambda", 400, "InvalidParameterValueException"},
		"too large":              {s.Operator, "acme-publish", `"` + strings.Repeat("x", maxPayload) + `"`, "", "lambda", 413, "RequestTooLargeException"},
		"no path of Invoke":      {s.Operator, "acme-publish/x", "{}", "", "lambda", 404, "UnknownOperationException"},
	} {
		r := httptest.NewRequest(http.MethodPost, "https://127.0.0.1/2015-03-31/functions/"+c.function+"/invocations", strings.NewReader(c.body))
		r.Header.Set("X-Amz-Invocation-Type", c.kind)
		if c.caller.AccessKey != "" {
			signFor(t, r, c.caller, c.service, c.body)
		}
		w := httptest.NewRecorder()
		s.serveLambda(w, r)
		if got := w.Header().Get("X-Amzn-Errortype"); w.Code != c.status || got != c.code {
			t.Errorf("%s: %d %s %s, want %d %s", name, w.Code, got, w.Body, c.status, c.code)
		}
	}
}

func signFor(t *testing.T, r *http.Request, c Credentials, service, body string) {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	credentials := aws.Credentials{AccessKeyID: c.AccessKey, SecretAccessKey: c.SecretKey}
	if err := signer.SignHTTP(t.Context(), credentials, r, hex.EncodeToString(sum[:]), service, region, time.Now()); err != nil {
		t.Fatal(err)
	}
}
