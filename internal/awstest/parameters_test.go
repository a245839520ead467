package awstest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestParameters(t *testing.T) {
	p := parameters{"/larder/secret": "s3cret"}
	for _, c := range []struct {
		target, body string
		status       int
		words        string
	}{
		{"AmazonSSM.GetParameter", `{"Name":"/larder/secret","WithDecryption":true}`, http.StatusOK, `"Value":"s3cret"`},
		{"AmazonSSM.GetParameter", `{"Name":"/larder/secret"}`, http.StatusOK, `"Value":"AQICAHh"`},
		{"AmazonSSM.GetParameter", `{"Name":"/larder/other","WithDecryption":true}`, http.StatusBadRequest, "ParameterNotFound"},
		{"AmazonSSM.GetParameters", `{}`, http.StatusBadRequest, "UnknownOperationException"},
		{"AmazonSSM.GetParameter", `[]`, http.StatusBadRequest, "UnknownOperationException"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("X-Amz-Target", c.target)
		made, err := ssmCalls(r, []byte(c.body))
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.words) {
			t.Errorf("%s %s: %d %s", c.target, c.body, w.Code, w.Body)
		}
		if want := []string{"ssm:GetParameter: ssm:GetParameter arn:aws:ssm:us-east-1:111122223333:parameter/larder/secret"}; w.Code == http.StatusOK && (err != nil || !slices.Equal(told(made), want)) {
			t.Errorf("%q, %v, want %q", told(made), err, want)
		}
	}
}
