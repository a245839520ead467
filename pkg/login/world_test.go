package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/identity"
)

const (
	host         = "registry.example.com"
	providerName = "id.example.com"
)

// world is a registry that people log in to. When the test is over, no secret
// may have been in its log or in an answer that is not for it.
type world struct {
	*testing.T
	store   access.Store
	people  *people
	handler http.Handler
	log     *logtest.Log
	answers *logtest.Log
	mu      sync.Mutex
	secrets []string // which belong nowhere
	onForms []string // which belong in forms alone
}

func newWorld(t *testing.T, configure ...func(*Config)) *world {
	t.Helper()
	store, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, store: store, people: &people{}, log: &logtest.Log{}, answers: &logtest.Log{}}
	config := Config{
		Store: store, Provider: w.people, ProviderName: providerName, Host: host,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	for _, change := range configure {
		change(&config)
	}
	w.handler = New(config)
	t.Cleanup(func() {
		w.checkSecrets()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// full is a store that has no place for tickets.
type full struct{ access.Store }

func (full) KeepTicket(context.Context, access.ID, []byte, time.Time) error { return access.ErrFull }

// broken is a store that fails.
type broken struct{ access.Store }

func (broken) KeepTicket(context.Context, access.ID, []byte, time.Time) error {
	return errors.New("the disk is on fire")
}

func (w *world) secret(values ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = append(w.secrets, values...)
}

func (w *world) checkSecrets() {
	for _, secret := range append(w.secrets, w.onForms...) {
		if len(secret) > 8 && strings.Contains(w.log.String(), secret) {
			w.Errorf("the secret %s is in the log:\n%s", secret, w.log)
		}
	}
	for _, secret := range w.secrets {
		if len(secret) > 8 && strings.Contains(w.answers.String(), secret) {
			w.Errorf("the secret %s is in an answer", secret)
		}
	}
}

var auditLine = regexp.MustCompile(`msg=access who=("(?:[^"\\]|\\.)*"|\S+) what=("(?:[^"\\]|\\.)*"|\S+) allowed=(\w+) why=("(?:[^"\\]|\\.)*"|\S+)\n`)

// audit is all of the audit: of each decision who, what, whether it was allowed, and why.
func (w *world) audit() []string {
	var all []string
	for _, found := range auditLine.FindAllStringSubmatch(w.log.String(), -1) {
		for i, text := range found {
			if plain, err := strconv.Unquote(text); err == nil {
				found[i] = plain
			}
		}
		all = append(all, strings.Join(found[1:], " | "))
	}
	return all
}

// wantAudit compares the whole audit. An empty text is no decision.
func (w *world) wantAudit(want ...string) {
	w.Helper()
	want = slices.DeleteFunc(want, func(line string) bool { return line == "" })
	if got := w.audit(); !slices.Equal(got, want) {
		w.Errorf("the audit has\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// idOf is a token's ID as the audit has it.
func (w *world) idOf(secret string) string {
	w.Helper()
	id, err := access.ParseToken(secret)
	if err != nil {
		w.Fatal(err)
	}
	return id.Short()
}

func (w *world) tokens() []access.Token {
	tokens, _, err := w.store.Tokens(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	return tokens
}

func (w *world) rule(text access.Rule, claims string, scopes ...string) {
	w.Helper()
	for one := range strings.FieldsSeq(claims) {
		claim, err := access.ParseClaim(one)
		if err != nil {
			w.Fatal(err)
		}
		text.Claims = append(text.Claims, claim)
	}
	var err error
	if text.Scopes, err = access.ParseScopes(scopes); err != nil {
		w.Fatal(err)
	}
	if text.Lifetime == 0 {
		text.Lifetime = access.Duration(time.Hour)
	}
	if err := text.Validate(); err != nil {
		w.Fatal(err)
	}
	if err := w.store.AddRule(w.Context(), text); err != nil {
		w.Fatal(err)
	}
}

// alice is who logs in unless a test says otherwise.
var alice = access.Claims{"sub": "00u1", "email": "alice@acme.example", "email_verified": true, "groups": []any{"staff", "infra"}}

func (w *world) staff() {
	w.Helper()
	w.staffBy("groups=staff", 720*time.Hour)
}

func (w *world) staffBy(claims string, lifetime time.Duration) {
	w.Helper()
	w.rule(access.Rule{Name: "staff", Use: access.ForPeople, Lifetime: access.Duration(lifetime)}, claims, "read providers:acme/*", "read modules:*")
}

// people is a provider of identities, which knows the next person.
type people struct {
	claims                 access.Claims
	authError, err         error
	state, nonce, verifier string
	asked                  int
}

const providerCode = "a-code-of-the-provider"

func (p *people) AuthURL(_ context.Context, state, nonce, verifier string) (string, error) {
	p.state, p.nonce, p.verifier = state, nonce, verifier
	return "https://" + providerName + "/authorize?" + url.Values{"state": {state}, "nonce": {nonce}}.Encode(), p.authError
}

func (p *people) Exchange(_ context.Context, code, verifier, nonce string) (access.Claims, error) {
	p.asked++
	if code != providerCode || verifier != p.verifier || nonce != p.nonce {
		return nil, errors.New("the login is another one")
	}
	return p.claims, p.err
}

// reply is what a browser or a client got.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) location() *url.URL {
	u, err := url.Parse(r.header.Get("Location"))
	if err != nil {
		panic(err)
	}
	return u
}

func (w *world) do(r *http.Request) reply {
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	answer := reply{recorder.Code, recorder.Header(), recorder.Body.String()}
	if length := answer.header.Get("Content-Length"); r.Method != http.MethodHead && answer.header.Get("Content-Type") != "" && length != strconv.Itoa(len(answer.body)) {
		w.Errorf("%s: %d bytes are said to be %q", r.URL.Path, len(answer.body), length)
	}
	if answer.status != http.StatusOK || answer.header.Get("Content-Type") != "application/json" {
		_, _ = io.WriteString(w.answers, answer.body)
	}
	return answer
}

// browser is one with a cookie, maybe.
type browser struct {
	*world
	cookie string
}

func (b *browser) send(r *http.Request) reply {
	if b.cookie != "" {
		r.AddCookie(&http.Cookie{Name: cookieName, Value: b.cookie})
	}
	answer := b.do(r)
	for _, cookie := range (&http.Response{Header: answer.header}).Cookies() {
		b.cookie = cookie.Value
		b.secret(cookie.Value)
	}
	return answer
}

func (b *browser) get(path string, query url.Values) reply {
	return b.send(httptest.NewRequest("GET", "https://"+host+path+"?"+query.Encode(), nil))
}

func (b *browser) post(form url.Values, headers ...string) reply {
	r := newForm("/v1/login/consent", form.Encode())
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return b.send(r)
}

func newForm(path, body string) *http.Request {
	r := httptest.NewRequest("POST", "https://"+host+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// The CLIs' verifier has a dot, and a UUID as their state.
const (
	cliVerifier = "0b5d7a4e-6c57-47ac-a4c2-7bb5a2b2a7ab.123456789"
	cliState    = "f0a5c7e2-86a9-4c1e-b3a8-2f3a5d3c1b90"
	cliRedirect = "http://localhost:10003/login"
)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// asked is the query with which the CLIs open a browser.
func asked(changes ...string) url.Values {
	return with(url.Values{
		"client_id": {"terraform-cli"}, "response_type": {"code"}, "redirect_uri": {cliRedirect}, "state": {cliState},
		"code_challenge": {challengeOf(cliVerifier)}, "code_challenge_method": {"S256"},
	}, changes...)
}

// with changes parameters, and removes those with an empty value.
func with(values url.Values, changes ...string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		values.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			values.Del(changes[i])
		}
	}
	return values
}

var ticketField = regexp.MustCompile(`name="ticket" value="([A-Z2-7]{26})"`)

// begin begins to log in, and says what the provider would send back.
func (b *browser) begin() url.Values {
	b.Helper()
	answer := b.get("/v1/login", asked())
	if answer.status != http.StatusFound || b.people.state == "" || answer.location().Query().Get("state") != b.people.state {
		b.Fatalf("login: %+v", answer)
	}
	b.secret(b.people.state, b.people.nonce, b.people.verifier, providerCode, cliVerifier, cliState)
	return url.Values{"code": {providerCode}, "state": {b.people.state}}
}

// arrive goes on to the page that asks for consent, and says what its form sends.
func (b *browser) arrive() (allow url.Values, page reply) {
	b.Helper()
	page = b.get("/v1/login/callback", b.begin())
	found := ticketField.FindStringSubmatch(page.body)
	if page.status != http.StatusOK || found == nil {
		b.Fatalf("callback: %d %s", page.status, page.body)
	}
	b.onForms = append(b.onForms, found[1])
	return url.Values{"ticket": {found[1]}, "decision": {"allow"}}, page
}

// redemption goes on to what the client then sends for a token.
func (b *browser) redemption() url.Values {
	b.Helper()
	allow, _ := b.arrive()
	answer := b.post(allow, "Origin", "https://"+host, "Sec-Fetch-Site", "same-origin")
	code := answer.location().Query().Get("code")
	if want := cliRedirect + "?" + (url.Values{"code": {code}, "state": {cliState}}).Encode(); answer.status != http.StatusSeeOther || answer.header.Get("Location") != want || code == "" {
		b.Fatalf("consent: %+v", answer)
	}
	b.secret(code)
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {"terraform-cli"}, "code": {code},
		"code_verifier": {cliVerifier}, "redirect_uri": {cliRedirect},
	}
}

// tokenReply is either answer of the token endpoint.
type tokenReply struct {
	AccessToken     string   `json:"access_token"`
	IssuedTokenType string   `json:"issued_token_type"`
	TokenType       string   `json:"token_type"`
	ExpiresIn       int64    `json:"expires_in"`
	Error           string   `json:"error"`
	Description     string   `json:"error_description"`
	Errors          []string `json:"errors"`
}

// wantToken sends a form to the token endpoint. An error is answered in both
// shapes.
func (w *world) wantToken(r *http.Request, status int, code string) tokenReply {
	w.Helper()
	answer := w.do(r)
	var got tokenReply
	if err := json.Unmarshal([]byte(answer.body), &got); err != nil {
		w.Fatalf("%d %s: %v", answer.status, answer.body, err)
	}
	good := answer.status == status && got.Error == code && (got.AccessToken != "") == (status == http.StatusOK) &&
		(status == http.StatusOK || len(got.Errors) == 1 && got.Description != "") &&
		(answer.header.Get("Retry-After") != "") == (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests)
	if !good || answer.header.Get("Cache-Control") != "no-store" || answer.header.Get("X-Content-Type-Options") != "nosniff" || answer.header.Get("Content-Type") != "application/json" {
		w.Errorf("got %d %+v %v; want %d %s", answer.status, got, answer.header, status, code)
	}
	w.secret(got.AccessToken)
	return got
}

var (
	errUnavailable = errors.Join(identity.ErrUnavailable)
	errInvalid     = errors.Join(identity.ErrInvalid)
	errTooSoon     = errors.Join(identity.ErrTooSoon)
)
