package awstest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// TestUsersDoor holds who gets through to S3 from outside.
func TestUsersDoor(t *testing.T) {
	for name, c := range map[string]struct {
		target, token, authorization string
		want, broken                 int
	}{
		"a user":                         {"/b/k", "", "AWS4-HMAC-SHA256", http.StatusOK, 0},
		"an URL of nobody's":             {"/b/k?X-Amz-Security-Token=nobody", "", "", http.StatusForbidden, 0},
		"an URL with a wrong signature":  {"/b/k?X-Amz-Security-Token=session&X-Amz-Signature=0", "", "", http.StatusForbidden, 0},
		"an URL and a token":             {"/b/k?X-Amz-Security-Token=session&X-Amz-Signature=0", "", "Bearer token", http.StatusBadRequest, 0},
		"a function that asks S3 itself": {"/b/k", "session", "", http.StatusNotImplemented, 1},
		"tags that S3 would refuse":      {"/b/k?tagging", "", "", http.StatusBadRequest, 0},
	} {
		s := &Stack{sessions: map[string]*function{"session": {name: "download", credentials: aws.Credentials{SessionToken: "session"}}}}
		s.gateway = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		r := httptest.NewRequest(http.MethodPut, c.target, nil)
		r.Header.Set("X-Amz-Security-Token", c.token)
		r.Header.Set("Authorization", c.authorization)
		w := httptest.NewRecorder()
		s.serveUsers().ServeHTTP(w, r)
		if w.Code != c.want || len(s.problems) != c.broken {
			t.Errorf("%s: %d, %v, want %d", name, w.Code, s.problems, c.want)
		}
	}
}
