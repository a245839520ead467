package awstest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// parameters are those of type SecureString in the parameter store of Systems
// Manager, by their names.
type parameters map[string]string

// ssmInput is the input of GetParameter.
type ssmInput struct {
	Name           string
	WithDecryption bool
}

// ssmCalls returns the permissions that a request to Systems Manager needs. To decrypt needs
// none: the key is aws/ssm.
func ssmCalls(r *http.Request, body []byte) ([]Call, error) {
	var in ssmInput
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("a request to Systems Manager: %w", err)
	}
	action := "ssm:" + operationOf(r)
	resource := "arn:aws:ssm:" + region + ":" + account + ":parameter/" + strings.TrimPrefix(in.Name, "/")
	return []Call{{Action: action, Resource: resource, Request: action}}, nil
}

// ServeHTTP answers GetParameter. See
// https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_GetParameter.html
func (p parameters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in ssmInput
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&in)
	value, found := p[in.Name]
	switch {
	case err != nil || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter":
		refuseSSM(w, http.StatusBadRequest, "UnknownOperationException", "this Systems Manager knows GetParameter alone")
	case !found:
		refuseSSM(w, http.StatusBadRequest, "ParameterNotFound", "")
	default:
		if !in.WithDecryption {
			value = "AQICAHh" // the real one returns the ciphertext
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		fmt.Fprint(w, encode(map[string]any{"Parameter": map[string]any{ //nolint:errcheck // the client may have left
			"ARN": "arn:aws:ssm:" + region + ":" + account + ":parameter" + in.Name, "DataType": "text", "LastModifiedDate": 1764000000.5,
			"Name": in.Name, "Type": "SecureString", "Value": value, "Version": 1,
		}}))
	}
}

// refuseSSM answers with an error in the form of Systems Manager.
func refuseSSM(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.WriteHeader(status)
	fmt.Fprint(w, encode(map[string]string{"__type": code, "message": message})) //nolint:errcheck // the client may have left
}
