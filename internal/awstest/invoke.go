package awstest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/templatetest"
)

// Credentials are an access key for requests to AWS.
type Credentials struct{ AccessKey, SecretKey string }

func newCredentials() Credentials {
	return Credentials{"AKIA" + rand.Text()[:16], rand.Text() + rand.Text()}
}

// maxPayload is the largest event that Invoke takes, in bytes.
const maxPayload = 6 << 20

// invocationPath is that of Invoke.
// See https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
var invocationPath = regexp.MustCompile(`^/2015-03-31/functions/([a-zA-Z0-9-_]+)/invocations$`)

// serveLambda is the part of Lambda's own API that operators need: Invoke, which waits for the
// answer. It knows the signer by the access key, and does not check the signature.
func (s *Stack) serveLambda(w http.ResponseWriter, r *http.Request) {
	path := invocationPath.FindStringSubmatch(r.URL.Path)
	if r.Method != http.MethodPost || path == nil || r.URL.RawQuery != "" {
		refuseLambda(w, http.StatusNotFound, "UnknownOperationException", "this Lambda knows Invoke alone")
		return
	}
	policies, ok := s.invoker(r)
	if !ok {
		refuseLambda(w, http.StatusForbidden, "UnrecognizedClientException", "The security token included in the request is invalid.")
		return
	}
	arn := fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", region, account, path[1])
	for _, policy := range policies {
		if !policy.Allows("lambda:InvokeFunction", arn, nil) {
			refuseLambda(w, http.StatusForbidden, "AccessDeniedException", "User: arn:aws:iam::"+account+":user/someone is not authorized to perform: "+
				"lambda:InvokeFunction on resource: "+arn+" because no identity-based policy allows the lambda:InvokeFunction action")
			return
		}
	}
	f := s.deployed(path[1])
	payload, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPayload))
	switch kind := r.Header.Get("X-Amz-Invocation-Type"); {
	case f == nil:
		refuseLambda(w, http.StatusNotFound, "ResourceNotFoundException", "Function not found: "+arn)
	case err != nil:
		refuseLambda(w, http.StatusRequestEntityTooLarge, "RequestTooLargeException", err.Error())
	case !json.Valid(payload):
		refuseLambda(w, http.StatusBadRequest, "InvalidRequestContentException", "Could not parse request body into json")
	case kind != "" && kind != "RequestResponse":
		refuseLambda(w, http.StatusBadRequest, "InvalidParameterValueException", "this Lambda does not know the invocation type "+kind)
	default:
		s.answerInvoke(w, f, string(payload))
	}
}

// deployed returns the function with a name on AWS.
func (s *Stack) deployed(name string) *function {
	for _, f := range s.functions {
		if f.deployed == name {
			return f
		}
	}
	return nil
}

// credential is the form of the Authorization header: the signer's key and the scope.
var credential = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/\d{8}/` + region + `/lambda/aws4_request, *SignedHeaders=[^,]*host[^,]*, *Signature=[0-9a-f]{64}$`)

// invoker returns the policies by which the signer of a request may call functions, in each
// description of the registry.
func (s *Stack) invoker(r *http.Request) ([]templatetest.Policy, bool) {
	parts := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		return nil, false
	}
	switch parts[1] {
	case s.Operator.AccessKey:
		return s.attached("operate", "access"), true
	case s.Admin.AccessKey:
		return []templatetest.Policy{{{Effect: "Allow", Actions: []string{"lambda:*"}, Resources: []string{"*"}}}}, true
	case s.AccessKey: // the users: they upload
		return []templatetest.Policy{nil}, true
	}
	return nil, false
}

// attached joins managed policies of the deployment, in each description of the registry.
func (s *Stack) attached(names ...string) []templatetest.Policy {
	policies := make([]templatetest.Policy, 2)
	for n, d := range []*templatetest.Deployment{s.Deployment, s.twin} {
		for _, name := range names {
			policies[n] = append(policies[n], d.Managed[s.Bucket+"-"+name]...)
		}
	}
	return policies
}

// answerInvoke invokes a function and answers with its result or its error; both have the status
// of a success.
func (s *Stack) answerInvoke(w http.ResponseWriter, f *function, payload string) {
	response, made, err := s.invoke(f, payload, f.timeout)
	s.note(f.name, Invocation{payload, made, err != nil})
	if err != nil {
		failure := &lambdatest.Error{Message: err.Error()}
		errors.As(err, &failure)
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		response = []byte(encode(failure))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amz-Executed-Version", "$LATEST")
	_, _ = w.Write(response) // the client may have left
}

// refuseLambda answers with an error in Lambda's form.
func refuseLambda(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	fmt.Fprint(w, encode(map[string]string{"Message": message, "Type": "User"})) //nolint:errcheck // the client may have left
}

// SignWith deploys the registry again with another signing key, in the parameter SigningKeyArn.
// Earlier calls are checked with the earlier policies.
func (s *Stack) SignWith(t testing.TB, keyARN string) {
	t.Helper()
	s.values.Parameters = maps.Clone(s.values.Parameters)
	s.values.Parameters["SigningKeyArn"] = keyARN
	deployment, err := templatetest.Load(s.config.Template, s.values)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := templatetest.LoadTerraform(s.config.Module, s.values)
	if err != nil {
		t.Fatal(err)
	}
	f := s.functions[publisher]
	for range f.instances { // so that none runs
		defer f.giveBack(f.take())
	}
	s.verifyCalls(t)
	s.ledger.take()
	s.Deployment.Functions[publisher], s.twin.Functions[publisher] = deployment.Functions[publisher], twin.Functions[publisher]
	for _, i := range f.instances {
		for name, value := range deployment.Functions[publisher].Environment {
			i.lambda.Setenv(name, value)
		}
	}
}
