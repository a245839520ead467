package login

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// sessionsDouble makes keys and notes for whom. Real sessions are tested with the bucket.
type sessionsDouble struct {
	made    []string
	expires time.Time
	err     error
}

func (d *sessionsDouble) NewSession(name string, namespaces []string, expires time.Time) (Session, error) {
	d.made, d.expires = append(d.made, fmt.Sprint(name, " ", namespaces)), expires
	return Session{"LARDERT1", "s3cret+key", "the/session/token"}, d.err
}

// assuming is what AWS's clients send.
func assuming(token string, changes ...string) url.Values {
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "RoleArn": {"arn:aws:iam::000000000000:role/larder"},
		"RoleSessionName": {"mallory"}, "WebIdentityToken": {token},
	}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
	}
	return form
}

type stsAnswer struct {
	status  int
	header  http.Header
	Subject string `xml:"AssumeRoleWithWebIdentityResult>SubjectFromWebIdentityToken"`
	Key     struct {
		AccessKeyID, SecretAccessKey, SessionToken, Expiration string
		ID                                                     string `xml:"AccessKeyId"`
	} `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	Type    string `xml:"Error>Type"`
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
}

// sts is a world and what gives access keys in it.
type sts struct {
	*world
	*issuer
	sessions *sessionsDouble
	handler  http.Handler
}

func newSTS(t *testing.T, configure ...func(*Config)) *sts {
	t.Helper()
	s := &sts{issuer: newIssuer(t), sessions: &sessionsDouble{}}
	s.world = newWorld(t, append(configure, func(c *Config) {
		c.Identities = s.issuer.verifier()
		s.handler = NewSTS(*c, s.sessions)
	})...)
	return s
}

func (s *sts) ask(r *http.Request) (a stsAnswer) {
	s.Helper()
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	if err := xml.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Header().Get("Content-Type") != "text/xml" || w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
		s.Errorf("answered %v %s: %v", w.Header(), w.Body, err)
	}
	a.status, a.header = w.Code, w.Header()
	return a
}

// uploads adds a rule for pipelines of acme.
func (s *sts) uploads(name string, lifetime time.Duration, namespaces ...string) {
	s.Helper()
	rule := access.Rule{Name: name, Use: access.ForPipelines, Issuer: s.URL, Audience: audience, Uploads: namespaces, Lifetime: access.Duration(lifetime),
		Claims: []access.Claim{{Name: "repository_owner", Pattern: "acme"}}}
	if err := rule.Validate(); err != nil {
		s.Fatal(err)
	}
	if err := s.store.AddRule(s.Context(), rule); err != nil {
		s.Fatal(err)
	}
}

func TestAssumeRole(t *testing.T) {
	s := newSTS(t)
	s.uploads("acme", time.Hour, "acme", "labs")
	s.uploads("more", 20*time.Minute, "labs", "x")
	s.rule(access.Rule{Name: "reads", Use: access.ForPipelines, Issuer: s.URL, Audience: audience}, "repository_owner=acme", "read *")
	raw := s.token(t, pipeline)
	s.secret("s3cret+key", "the/session/token", raw)
	for duration, want := range map[string]time.Duration{"": 20 * time.Minute, "3600": 20 * time.Minute, "43200": 20 * time.Minute, "900": 15 * time.Minute} {
		form := assuming(raw + "\n")
		if duration != "" {
			form.Set("DurationSeconds", duration)
		}
		before := time.Now().Truncate(time.Second)
		got := s.ask(newForm("/", form.Encode()))
		if got.status != http.StatusOK || got.Subject != "repo:acme/widget:ref:refs/heads/main" || got.Key.ID != "LARDERT1" || got.Key.SecretAccessKey != "s3cret+key" || got.Key.SessionToken != "the/session/token" {
			t.Fatalf("answered %+v", got)
		}
		expires, err := time.Parse(time.RFC3339, got.Key.Expiration)
		if err != nil || !expires.Equal(s.sessions.expires) || expires.Before(before.Add(want)) || expires.After(time.Now().Add(want)) {
			t.Errorf("for %q, it expires at %v, %v, not %v from %v", duration, got.Key.Expiration, err, want, before)
		}
	}
	if want := "acme,more repo:acme/widget:ref:refs/heads/main [acme labs x]"; len(s.sessions.made) != 4 || s.sessions.made[0] != want {
		t.Errorf("made for %q, want %q", s.sessions.made, want)
	}
	if got := s.audit(); len(got) != 4 || got[0] != "pipeline repo:acme/widget:ref:refs/heads/main of "+s.URL+" | access key for uploads to acme, labs, x | true | by rule acme, more, access key LARDERT1" {
		t.Errorf("the audit has %q", got)
	}
}

func TestAssumeRoleIsRefused(t *testing.T) {
	s := newSTS(t)
	s.uploads("acme", time.Hour, "acme")
	good := s.token(t, pipeline)
	for name, test := range map[string]struct {
		form        url.Values
		status      int
		code, words string
	}{
		"another action":      {assuming(good, "Action", "GetCallerIdentity"), 400, "ValidationError", "the Action must be AssumeRoleWithWebIdentity: nothing else is answered here"},
		"no action":           {url.Values{"WebIdentityToken": {good}}, 400, "ValidationError", "the Action must be AssumeRoleWithWebIdentity: nothing else is answered here"},
		"no token":            {assuming(""), 400, "ValidationError", "there is no WebIdentityToken"},
		"two tokens":          {url.Values{"Action": {"AssumeRoleWithWebIdentity"}, "WebIdentityToken": {good, good}}, 400, "ValidationError", "a parameter is given more than once"},
		"OAuth 2.0":           {assuming(good, "ProviderId", "www.amazon.com"), 400, "ValidationError", "there can be no ProviderId: the WebIdentityToken must be one of OpenID Connect"},
		"a policy":            {assuming(good, "Policy", "{}"), 400, "ValidationError", "there can be no Policy: the rules of the registry say what a session may do"},
		"a policy by its ARN": {assuming(good, "PolicyArns.member.1.arn", "x"), 400, "ValidationError", "there can be no PolicyArns.member.1.arn: the rules of the registry say what a session may do"},
		"too short":           {assuming(good, "DurationSeconds", "899"), 400, "ValidationError", "DurationSeconds must be a number of 900 or more"},
		"no number":           {assuming(good, "DurationSeconds", "1h"), 400, "ValidationError", "DurationSeconds must be a number of 900 or more"},
		"beyond numbers":      {assuming(good, "DurationSeconds", "65536"), 400, "ValidationError", "DurationSeconds must be a number of 900 or more"},
		"no identity token":   {assuming("mallory"), 400, "InvalidIdentityToken", "there is no identity token"},
		"another issuer":      {assuming(s.token(t, pipeline, access.Claims{"iss": "https://example.com"})), 403, "AccessDenied", "no rule of this registry trusts the issuer of the identity token"},
		"another audience":    {assuming(s.token(t, pipeline, access.Claims{"aud": "x"})), 400, "InvalidIdentityToken", "and must be for"},
		"expired":             {assuming(s.token(t, pipeline, access.Claims{"exp": time.Now().Add(-time.Hour).Unix()})), 400, "InvalidIdentityToken", "expired"},
		"another owner":       {assuming(s.token(t, pipeline, access.Claims{"repository_owner": "mallory"})), 403, "AccessDenied", "no rule of this registry fits its claims; its sub is repo:acme/widget"},
		"nobody":              {assuming(s.token(t, pipeline, access.Claims{"sub": ""})), 403, "AccessDenied", "(sub)"},
	} {
		got := s.ask(newForm("/", test.form.Encode()))
		if got.status != test.status || got.Code != test.code || got.Type != "Sender" || !strings.Contains(got.Message, test.words) {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
	if got := s.ask(newForm("/?Action=AssumeRoleWithWebIdentity", assuming(good).Encode())); got.status != 400 || got.Code != "ValidationError" {
		t.Errorf("with parameters in the query: %+v", got)
	}
	if got := s.ask(newForm("/", assuming(good, "x", strings.Repeat("x", maxForm)).Encode())); got.status != 413 || got.Code != "ValidationError" {
		t.Errorf("a large one: %+v", got)
	}
	if len(s.sessions.made) > 0 {
		t.Errorf("made %q", s.sessions.made)
	}
	if slices.ContainsFunc(s.audit(), func(line string) bool { return !strings.Contains(line, " | access key for an identity | false | ") }) {
		t.Errorf("the audit has %q", s.audit())
	}
}

// Rules that let read give no keys, and those that let upload no tokens.
func TestReadingIsNotUploading(t *testing.T) {
	reads := newSTS(t)
	reads.rule(access.Rule{Name: "reads", Use: access.ForPipelines, Issuer: reads.URL, Audience: audience}, "repository_owner=acme", "read *")
	if got := reads.ask(newForm("/", assuming(reads.token(t, pipeline)).Encode())); got.status != 403 || got.Code != "AccessDenied" || len(reads.sessions.made) > 0 {
		t.Errorf("answered %+v", got)
	}
	uploads := newSTS(t)
	uploads.uploads("acme", time.Hour, "acme")
	uploads.wantToken(newForm("/v1/token", exchanging(uploads.token(t, pipeline)).Encode()), 400, "invalid_grant")
}

func TestAssumeRoleInVain(t *testing.T) {
	full := newSTS(t, func(c *Config) { c.Admit = func(*http.Request) bool { return false } })
	full.uploads("acme", time.Hour, "acme")
	if got := full.ask(newForm("/", assuming(full.token(t, pipeline)).Encode())); got.status != 429 || got.Code != "Throttling" || got.Type != "Sender" || got.header.Get("Retry-After") == "" {
		t.Errorf("without room: %+v", got)
	}
	broken := newSTS(t)
	broken.sessions.err = errors.New("no randomness")
	broken.uploads("acme", time.Hour, "acme")
	if got := broken.ask(newForm("/", assuming(broken.token(t, pipeline)).Encode())); got.status != 500 || got.Code != "InternalFailure" || got.Type != "Receiver" || strings.Contains(got.Message, "randomness") {
		t.Errorf("without a key: %+v", got)
	}
	away := newSTS(t)
	away.uploads("acme", time.Hour, "acme")
	raw := away.token(t, pipeline)
	away.Close()
	if got := away.ask(newForm("/", assuming(raw).Encode())); got.status != 503 || got.Code != "ServiceUnavailable" || got.Type != "Receiver" {
		t.Errorf("without its issuer: %+v", got)
	}
}

// Keys are for as many namespaces as an uploader may have, and no more.
func TestAssumeRoleForMany(t *testing.T) {
	s := newSTS(t)
	var names []string
	for i := range access.MaxNamespaces {
		names = append(names, fmt.Sprint("n", i))
	}
	s.uploads("most", time.Hour, names...)
	raw := s.token(t, pipeline)
	if got := s.ask(newForm("/", assuming(raw).Encode())); got.status != 200 {
		t.Errorf("for the most: %+v", got)
	}
	s.uploads("more", time.Hour, "one-more")
	if got := s.ask(newForm("/", assuming(raw).Encode())); got.status != 403 || got.Code != "AccessDenied" || !strings.Contains(got.Message, "more than 20 namespaces") || len(s.sessions.made) != 1 {
		t.Errorf("for more: %+v", got)
	}
	who := "pipeline repo:acme/widget:ref:refs/heads/main of " + s.URL
	s.wantAudit(who+" | access key for uploads to "+strings.Join(names, ", ")+" | true | by rule most, access key LARDERT1",
		who+" | access key for an identity | false | the rules that fit give uploads to more than 20 namespaces: ask those who run the registry to give fewer")
}

func TestWriter(t *testing.T) {
	for want, p := range map[string]identified{
		"github repo:acme/x":                    {subject: "repo:acme/x", Grant: access.Grant{Rules: []string{"github"}}},
		"a,b ?rger ?":                           {subject: "Ärger ☃", Grant: access.Grant{Rules: []string{"a", "b"}}},
		"a " + strings.Repeat("x", maxWriter-2): {subject: strings.Repeat("x", maxWriter-1), Grant: access.Grant{Rules: []string{"a"}}},
	} {
		if got := writer(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
