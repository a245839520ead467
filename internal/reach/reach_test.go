package reach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/socket"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/registry"
)

// fixed is a registry with one answer.
type fixed control.Answer

func (f fixed) Handle(context.Context, control.Request) control.Answer { return control.Answer(f) }

// startNode answers in a data folder of its own.
func startNode(t *testing.T, answer control.Answer) (data string) {
	t.Helper()
	data = t.TempDir()
	listener, err := socket.Listen(filepath.Join(data, datadir.Socket))
	if err != nil {
		t.Fatal(err)
	}
	server := socket.Serve(listener, fixed(answer), nil, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = server.Close() })
	return data
}

func find(t *testing.T, o Options) *Registry {
	t.Helper()
	r, err := Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var (
	deprecate = control.Request{Standing: &control.Standing{Address: "acme/widget", Version: "1.0.0", State: registry.Deprecated, Message: "no"}}
	rotate    = control.Request{Rotate: &control.Rotate{}}
	verify    = control.Request{Verify: &control.Verify{Part: control.Part{After: "here"}}}
	rules     = control.Request{Access: &admin.Request{ListRules: &admin.ListRules{}}}
)

// An answer has what was asked for, or it is an error.
func TestAnswers(t *testing.T) {
	stood := control.Answer{Standing: &control.VersionStanding{Subject: "provider acme/widget 1.0.0"}}
	for name, test := range map[string]struct {
		request control.Request
		answer  control.Answer
		says    string
	}{
		"standing":            {deprecate, stood, ""},
		"key":                 {rotate, control.Answer{Rotated: &control.Key{}}, ""},
		"walk":                {verify, control.Answer{Walked: &control.Walked{}}, ""},
		"error":               {deprecate, control.Answer{Error: "there is no such version"}, "there is no such version"},
		"rules":               {rules, control.Answer{Access: &admin.Answer{Rules: &admin.RuleList{}}}, ""},
		"nothing":             {deprecate, control.Answer{}, "another version"},
		"no rules":            {rules, control.Answer{Access: &admin.Answer{Tokens: &admin.TokenPage{}}}, "another version"},
		"nothing of tokens":   {rules, stood, "another version"},
		"no key":              {rotate, stood, "another version"},
		"no part of the walk": {verify, stood, "another version"},
	} {
		answer, err := find(t, Options{Data: startNode(t, test.answer)}).Ask(t.Context(), test.request)
		if test.says == "" && (err != nil || answer == control.Answer{}) {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

func TestNoNode(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(here, "nowhere")
	want := "no larder serves from " + data + ": start it, or name another folder with --data, or a deployment with --stack"
	for _, named := range []string{data, "nowhere"} {
		_, err := find(t, Options{Data: named}).Ask(t.Context(), verify)
		var lost *Lost
		if err == nil || err.Error() != want || !errors.As(err, &lost) || errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v, want %q", named, err, want)
		}
	}
}

func TestFindRefuses(t *testing.T) {
	for name, value := range map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "HOME": t.TempDir()} {
		t.Setenv(name, value)
	}
	for says, o := range map[string]Options{
		"give --stack":  {Data: ".larder", Region: "eu-central-1"},
		"give --region": {Stack: "acme-registry"},
	} {
		if _, err := Find(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v, want %q", o, err, says)
		}
	}
}

// said is one of Lambda's answers to an invocation.
type said struct {
	status        int
	code          string // of an error
	functionError string
	body          string
}

// cloud answers as Lambda does, with one answer after the other and the last
// for ever.
type cloud struct {
	answers []said
	asked   []string // the paths and bodies of requests
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.asked = append(c.asked, r.Method+" "+r.URL.Path+" "+string(body))
	answer := c.answers[0]
	if len(c.answers) > 1 {
		c.answers = c.answers[1:]
	}
	if answer.code != "" {
		w.Header().Set("X-Amzn-ErrorType", answer.code)
	}
	if answer.functionError != "" {
		w.Header().Set("X-Amz-Function-Error", answer.functionError)
	}
	w.WriteHeader(answer.status)
	_, _ = io.WriteString(w, answer.body)
}

// startCloud makes the environment lead to a Lambda with these answers.
func startCloud(t *testing.T, answers ...said) *cloud {
	t.Helper()
	c := &cloud{answers: answers}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_LAMBDA": server.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "eu-central-1", "HOME": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return c
}

// findDeployment finds one that is asked again at once.
func findDeployment(t *testing.T) *Registry {
	t.Helper()
	d, err := newDeployment(t.Context(), "acme-registry", "")
	if err != nil {
		t.Fatal(err)
	}
	d.lambda = lambda.New(d.lambda.Options(), func(o *lambda.Options) {
		o.Retryer = retry.AddWithMaxBackoffDelay(o.Retryer, time.Millisecond)
	})
	return &Registry{d.ask}
}

func TestDeploymentIsAsked(t *testing.T) {
	c := startCloud(t, said{status: 200, body: `{"walked":{"steps":{"records":3},"next":"there","news":"of a newer larder"}}`})
	answer, err := find(t, Options{Stack: "acme-registry"}).Ask(t.Context(), verify)
	if err != nil || answer.Walked.Next != "there" || answer.Walked.Steps["records"] != 3 {
		t.Errorf("%+v, %v", answer, err)
	}
	want := `POST /2015-03-31/functions/acme-registry-publish/invocations {"control":{"verify":{"after":"here"}}}`
	if len(c.asked) != 1 || c.asked[0] != want {
		t.Errorf("asked %q, want %q", c.asked, want)
	}
	var event struct{ Control control.Request }
	if err := json.Unmarshal([]byte(c.asked[0][strings.Index(c.asked[0], "{"):]), &event); err != nil || event.Control.Verify == nil {
		t.Errorf("%+v, %v", event, err)
	}
}

// Tokens and rules are asked for of a function of their own, which the one that
// publishes knows nothing of.
func TestTokensAreOfAnotherFunction(t *testing.T) {
	c := startCloud(t, said{status: 200, body: `{"rules":{"rules":[]}}`}, said{status: 200, body: `{"error":"no more"}`},
		said{status: 403, code: "AccessDeniedException", body: `{"Message":"not authorized"}`})
	deployment := find(t, Options{Stack: "acme-registry"})
	if answer, err := deployment.Ask(t.Context(), rules); err != nil || answer.Access.Rules == nil {
		t.Errorf("%+v, %v", answer, err)
	}
	if want := `POST /2015-03-31/functions/acme-registry-login/invocations {"access":{"list_rules":{}}}`; c.asked[0] != want {
		t.Errorf("asked %q, want %q", c.asked[0], want)
	}
	for _, want := range []string{"no more", "lambda:InvokeFunction on its function acme-registry-login"} {
		if _, err := deployment.Ask(t.Context(), rules); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, ErrUnknown) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// What is wrong with a deployment is said in the operator's words, and what may
// be well a moment later is asked for again.
func TestDeploymentFails(t *testing.T) {
	for name, test := range map[string]struct {
		answer  said
		says    []string
		lost    bool
		unknown bool
		asked   int
	}{
		"no function": {said{status: 404, code: "ResourceNotFoundException", body: `{"Message":"Function not found"}`},
			[]string{`no deployment "acme-registry" in region eu-central-1`, "BucketName"}, false, false, 1},
		"no right": {said{status: 403, code: "AccessDeniedException", body: `{"Message":"not authorized"}`},
			[]string{"lambda:InvokeFunction", "acme-registry-publish", "not authorized"}, false, false, 1},
		"no credentials": {said{status: 403, code: "UnrecognizedClientException", body: `{"message":"The security token is invalid"}`},
			[]string{`ask the deployment "acme-registry"`, "security token"}, false, true, 1},
		"busy": {said{status: 429, code: "TooManyRequestsException", body: `{"Message":"Rate Exceeded","Reason":"ReservedFunctionConcurrentInvocationLimitExceeded"}`},
			[]string{"try again later"}, true, false, 3},
		"down": {said{status: 500, code: "ServiceException", body: `{"Message":"sorry"}`},
			[]string{"sorry"}, true, true, 3},
		"out of time": {said{status: 200, functionError: "Unhandled", body: `{"errorMessage":"Task timed out after 300 seconds"}`},
			[]string{"acme-registry-publish failed", "timed out", "/aws/lambda/acme-registry-publish"}, false, true, 1},
		"silent": {said{status: 200, functionError: "Unhandled", body: `?`}, []string{"does not say why"}, false, true, 1},
		"an older function": {said{status: 200, body: `{"batchItemFailures":[]}`},
			[]string{"another version"}, false, true, 1},
		"no JSON": {said{status: 200, body: `hello`}, []string{"cannot be read"}, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCloud(t, test.answer)
			_, err := findDeployment(t).Ask(t.Context(), verify)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want %q", err, want)
				}
			}
			if errors.Is(err, ErrUnknown) != test.unknown {
				t.Errorf("%v: what became of it is unknown: %v, want %v", err, !test.unknown, test.unknown)
			}
			var lost *Lost
			if errors.As(err, &lost) != test.lost || len(c.asked) != test.asked {
				t.Errorf("lost %v after %d requests, want %v after %d", !test.lost, len(c.asked), test.lost, test.asked)
			}
		})
	}
}

func TestDeploymentIsAskedAgain(t *testing.T) {
	c := startCloud(t, said{status: 503, body: "{}"}, said{status: 200, body: `{"walked":{}}`})
	if _, err := findDeployment(t).Ask(t.Context(), verify); err != nil || len(c.asked) != 2 {
		t.Errorf("after %d requests: %v", len(c.asked), err)
	}
}
