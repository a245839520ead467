package locals3

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/pkg/access"
)

// withToken is a client that has the key of a session.
func (e *endpoint) withToken(who Credentials, token string) *s3.Client {
	return s3.New(e.Client(who).Options(), func(o *s3.Options) {
		o.Credentials = credentials.NewStaticCredentialsProvider(who.AccessKeyID, who.SecretAccessKey, token)
	})
}

// The key of a session is good with its token alone, for what an uploader may do, also
// after a restart, and until its time is over or the keys are changed.
func TestSessions(t *testing.T) {
	path := t.TempDir()
	e := start(t, path)
	const name = "github repo:acme/x:ref:refs/heads/main"
	key, token, err := e.Keys.NewSession(name, []string{"acme"}, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	other, otherToken, err := e.Keys.NewSession("x", []string{"labs"}, time.Now().Add(time.Hour))
	if err != nil || other == key || otherToken == token {
		t.Fatalf("two sessions: %v", err)
	}
	put1 := func(who Credentials, token, key string) error {
		_, err := e.withToken(who, token).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: &key, Body: strings.NewReader("x")})
		return err
	}
	check := func() {
		t.Helper()
		const mine = "modules/acme/x"
		if err := put1(key, token, mine); err != nil {
			t.Error(err)
		}
		e.checkWriter(t, "a session", mine, name, map[string]string{})
		beginUpload(t, e.withToken(key, token), mine).complete(t, e.withToken(key, token))
		for _, foreign := range []string{"modules/labs/x", "registry/x", "mirror/x", "modules/acme/../labs/x"} {
			if err := put1(key, token, foreign); err == nil {
				t.Errorf("a session wrote %s", foreign)
			}
		}
		wantCode(t, "without its token", put1(key, "", mine), "InvalidAccessKeyId")
		wantCode(t, "with another token", put1(key, otherToken, mine), "InvalidAccessKeyId")
		wantCode(t, "with another secret", put1(Credentials{key.AccessKeyID, other.SecretAccessKey}, token, mine), "SignatureDoesNotMatch")
		wantCode(t, "the operator with a token", put1(e.Keys.Operator(), token, mine), "InvalidAccessKeyId")
		for i := range token {
			if i%37 == 0 {
				bent := token[:i] + string(token[i]^1) + token[i+1:]
				if _, ok := e.Keys.holder(key.AccessKeyID, bent); ok {
					t.Errorf("good with the token %s", bent)
				}
			}
		}
	}
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.dir.Close()
	e = start(t, path)
	check()

	short, shortToken, err := e.Keys.NewSession("x", []string{"acme"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a session that is over", put1(short, shortToken, "modules/acme/x"), "InvalidAccessKeyId")
	if err := e.Keys.Rotate(time.Minute); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a session from before a rotation", put1(key, token, "modules/acme/x"), "InvalidAccessKeyId")
}

func TestSessionTokens(t *testing.T) {
	_, keys, err := openKeys(t, t.TempDir(), earlier) // which has no key for sessions
	if err != nil {
		t.Fatal(err)
	}
	var many []string
	for i := range access.MaxNamespaces {
		many = append(many, fmt.Sprintf("%064d", i))
	}
	at := time.Now().Add(time.Hour)
	if _, token, err := keys.NewSession(strings.Repeat("n", 240), many, at); err != nil || len(token) > maxSessionToken {
		t.Errorf("the longest token has %d bytes, %v", len(token), err)
	}
	if _, _, err := keys.NewSession(strings.Repeat("n", maxSessionToken), many, at); err == nil {
		t.Error("a longer one is good")
	}
	if _, _, err := keys.NewSession("x", []string{"*"}, at); err == nil || !strings.Contains(err.Error(), "is not a namespace") {
		t.Errorf("for everything: %v", err)
	}
	sealed := func(text string) string {
		payload := base64.RawURLEncoding.EncodeToString([]byte(text))
		return payload + "." + keys.seal("token", payload)
	}
	for _, token := range []string{"", ".", "x", "x.y", sealed("{"), sealed("") + "x", "." + keys.seal("token", "")} {
		if h, ok := keys.readSession(token); ok {
			t.Errorf("the token %q is that of %v", token, h)
		}
	}
}

// Who asks for an access key comes to who gives them, and nobody else does.
func TestWhoAsksForKeys(t *testing.T) {
	e := start(t, t.TempDir())
	ask := func(method, path, kind string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, e.url+path, strings.NewReader("Action=x"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", kind)
		return e.answer(t, request)
	}
	const form = "application/x-www-form-urlencoded; charset=utf-8"
	if status, body := ask("POST", "/", form); status != http.StatusForbidden || !strings.Contains(body, "AccessDenied") {
		t.Errorf("before anybody gives them: %d %s", status, body)
	}
	e.IssueBy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "asked with %s", body)
	}))
	if status, body := ask("POST", "/", form); status != http.StatusOK || body != "asked with Action=x" {
		t.Errorf("%d %s", status, body)
	}
	for _, other := range [][3]string{{"POST", "/larder", form}, {"POST", "/larder/x", form}, {"PUT", "/", form}, {"GET", "/", form}, {"POST", "/", "text/plain"}, {"POST", "/", ""}} {
		if status, body := ask(other[0], other[1], other[2]); status != http.StatusForbidden || !strings.Contains(body, "<Error>") {
			t.Errorf("%q: %d %s", other, status, body)
		}
	}
	if status, body := e.raw(t, e.Operator, "GET", "/"); status != http.StatusOK || !strings.Contains(body, "ListAllMyBucketsResult") {
		t.Errorf("signed: %d %s", status, body)
	}
}
