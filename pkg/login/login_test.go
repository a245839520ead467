package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// TestWhoIsSentHere: nobody goes on to the provider but with what the CLIs send,
// and nobody is redirected to anywhere else.
func TestWhoIsSentHere(t *testing.T) {
	w := newWorld(t)
	twice := asked()
	twice.Add("state", "another")
	for name, query := range map[string]url.Values{
		"nothing":                   {},
		"no client":                 asked("client_id", ""),
		"another client":            asked("client_id", "evil"),
		"client in upper case":      asked("client_id", "TERRAFORM-CLI"),
		"no response type":          asked("response_type", ""),
		"an implicit flow":          asked("response_type", "token"),
		"no redirect":               asked("redirect_uri", ""),
		"a host that begins so":     asked("redirect_uri", "http://localhost.evil:10003/login"),
		"a host without a port":     asked("redirect_uri", "http://localhost.evil/"),
		"https":                     asked("redirect_uri", "https://localhost:10003/login"),
		"an address":                asked("redirect_uri", "http://127.0.0.1:10003/login"),
		"an IPv6 address":           asked("redirect_uri", "http://[::1]:10003/login"),
		"no port":                   asked("redirect_uri", "http://localhost/login"),
		"a port alone":              asked("redirect_uri", "10003/login"),
		"no path":                   asked("redirect_uri", "http://localhost:10003"),
		"a port that is none":       asked("redirect_uri", "http://localhost:99999999999999999999/login"),
		"the port before the first": asked("redirect_uri", "http://localhost:9999/login"),
		"the port after the last":   asked("redirect_uri", "http://localhost:10011/login"),
		"a port with a zero":        asked("redirect_uri", "http://localhost:010003/login"),
		"a port with a sign":        asked("redirect_uri", "http://localhost:+10003/login"),
		"a port that is a user":     asked("redirect_uri", "http://localhost:10003@evil/login"),
		"a user":                    asked("redirect_uri", "http://evil@localhost:10003/login"),
		"another path":              asked("redirect_uri", "http://localhost:10003/"),
		"a longer path":             asked("redirect_uri", "http://localhost:10003/login/"),
		"a path that leads back":    asked("redirect_uri", "http://localhost:10003/../login"),
		"a query":                   asked("redirect_uri", "http://localhost:10003/login?a=b"),
		"a query that ends so":      asked("redirect_uri", "http://localhost:10003/?/login"),
		"a fragment":                asked("redirect_uri", "http://localhost:10003/login#a"),
		"a scheme in upper case":    asked("redirect_uri", "HTTP://localhost:10003/login"),
		"a host in upper case":      asked("redirect_uri", "http://LOCALHOST:10003/login"),
		"a path in upper case":      asked("redirect_uri", "http://localhost:10003/LOGIN"),
		"a new line":                asked("redirect_uri", "http://localhost:10003/login\n"),
		"a script":                  asked("redirect_uri", "javascript:alert(1)//login"),
		"no state":                  asked("state", ""),
		"a long state":              asked("state", strings.Repeat("s", 513)),
		"a state of other letters":  asked("state", "zustände"),
		"a state of two lines":      asked("state", "a\r\nb"),
		"a state with a DEL":        asked("state", "a\x7fb"),
		"no PKCE":                   asked("code_challenge", "", "code_challenge_method", ""),
		"no challenge":              asked("code_challenge", ""),
		"plain PKCE":                asked("code_challenge", cliVerifier, "code_challenge_method", "plain"),
		"plain PKCE by default":     asked("code_challenge_method", ""),
		"a short challenge":         asked("code_challenge", challengeOf("x")[:42]),
		"a long challenge":          asked("code_challenge", challengeOf("x")+"A"),
		"a challenge with padding":  asked("code_challenge", challengeOf("x")+"="),
		"a challenge in base64":     asked("code_challenge", strings.Repeat("+", 42)+"A"),
		"a challenge of more bits":  asked("code_challenge", challengeOf("x")[:42]+"B"),
		"a challenge with a line":   asked("code_challenge", challengeOf("x")[:20]+"\n"+challengeOf("x")[20:]),
		"a parameter twice":         twice,
	} {
		b := &browser{world: w}
		if answer := b.get("/v1/login", query); answer.status != http.StatusBadRequest || answer.header.Get("Location") != "" || b.cookie != "" || !strings.Contains(answer.body, "<kbd>Ctrl</kbd>-<kbd>C</kbd>") {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	if w.people.state != "" {
		t.Error("the provider was asked")
	}
	if answer := (&browser{world: w}).get("/v1/login", twice); !strings.Contains(answer.body, "more than once") {
		t.Errorf("a parameter twice: %s", answer.body)
	}
	for name, query := range map[string]url.Values{
		"the first port": asked("redirect_uri", "http://localhost:10000/login"), "the last port": asked("redirect_uri", "http://localhost:10010/login"),
		"the longest state": asked("state", strings.Repeat("s", 512)), "all letters in the state": asked("state", " ~"),
	} {
		if answer := (&browser{world: w}).get("/v1/login", query); answer.status != http.StatusFound {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

func TestBegin(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Config)
		people people
		status int
		log    string // all that is logged
	}{
		"nobody logs in here":       {func(c *Config) { c.Provider = nil }, people{}, 404, ""},
		"the provider is down":      {func(*Config) {}, people{authError: errUnavailable}, 503, `level=WARN msg="an issuer cannot be asked" method=GET path=/v1/login error="the issuer cannot be asked"`},
		"too many log in":           {func(c *Config) { c.Store = full{c.Store} }, people{}, 503, `level=WARN msg="no more tickets can be kept" method=GET path=/v1/login error="too many people are logging in at the same time"`},
		"the store is broken":       {func(c *Config) { c.Store = broken{c.Store} }, people{}, 500, `level=ERROR msg="request failed" method=GET path=/v1/login error="the disk is on fire"`},
		"the registry is at a port": {func(c *Config) { c.Host = "127.0.0.1:8443" }, people{}, 302, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.change)
			*w.people = test.people
			answer := (&browser{world: w}).get("/v1/login", asked())
			if answer.status != test.status || (answer.header.Get("Retry-After") != "") != (test.status == 503) || strings.Contains(answer.body, "fire") ||
				(answer.header.Get("Strict-Transport-Security") == "") != (name == "the registry is at a port") {
				t.Errorf("%+v", answer)
			}
			if _, line, _ := strings.Cut(strings.TrimSpace(w.log.String()), " "); line != test.log {
				t.Errorf("the log has %s", line)
			}
		})
	}
}

// TestGoneClient: errors after a client has gone are not logged.
func TestGoneClient(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Store = broken{c.Store} })
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	answer := w.do(httptest.NewRequest("GET", "https://"+host+"/v1/login?"+asked().Encode(), nil).WithContext(gone))
	if answer.status != http.StatusInternalServerError || w.log.String() != "" {
		t.Errorf("%d %s", answer.status, w.log)
	}
}

// TestHead: a program that checks a link neither begins nor ends a login.
func TestHead(t *testing.T) {
	w := newWorld(t)
	w.staff()
	w.people.claims = alice
	head := &browser{world: w}
	answer := head.send(httptest.NewRequest("HEAD", "https://"+host+"/v1/login?"+asked().Encode(), nil))
	if answer.status != http.StatusFound || answer.location().Host != providerName || answer.header.Get("Set-Cookie") == "" {
		t.Errorf("%+v", answer)
	}
	if got := head.get("/v1/login/callback", url.Values{"code": {providerCode}, "state": {w.people.state}}); got.status != http.StatusBadRequest {
		t.Errorf("a login that was only looked at goes on: %d", got.status)
	}
	b := &browser{world: w}
	back := b.begin()
	if answer := b.send(httptest.NewRequest("HEAD", "https://"+host+"/v1/login/callback?"+back.Encode(), nil)); answer.status != http.StatusOK || answer.body != "" || answer.header.Get("Content-Length") == "0" {
		t.Errorf("%+v", answer)
	}
	if got := b.get("/v1/login/callback", back); got.status != http.StatusOK {
		t.Errorf("after a look: %d", got.status)
	}
}

// TestLogin goes all the way, and the token that comes of it is what was allowed.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	w.staff()
	w.rule(access.Rule{Name: "infra", Use: access.ForPeople, Lifetime: access.Duration(48 * time.Hour)}, "groups=infra email=alice@acme.example", "read mirror:*", "read modules:*")
	w.rule(access.Rule{Name: "others", Use: access.ForPeople}, "groups=finance", "read *")
	w.rule(access.Rule{Name: "ci", Use: access.ForPipelines, Issuer: "https://id.example.com", Audience: "x"}, "sub=00u1", "read *")
	w.people.claims = alice
	b := &browser{world: w}

	cookie := b.get("/v1/login", asked()).header.Get("Set-Cookie")
	if !regexp.MustCompile(`^__Host-larder-login=[A-Z2-7]{26}; Path=/; Max-Age=1200; HttpOnly; Secure; SameSite=Lax$`).MatchString(cookie) {
		t.Errorf("cookie: %s", cookie)
	}
	form := b.redemption()
	got := w.wantToken(newForm("/v1/token", form.Encode()), 200, "")
	id, err := access.ParseToken(got.AccessToken)
	if err != nil || got.TokenType != "Bearer" || got.ExpiresIn != 48*3600 || got.IssuedTokenType != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	token, err := w.store.Token(t.Context(), id)
	if err != nil || token.Name != "terraform login" || token.Owner != "alice@acme.example (00u1)" || token.Origin != access.ByLogin ||
		token.Scopes.String() != "read mirror:*, read modules:*, read providers:acme/*" || token.Expires.Sub(token.Created) != 48*time.Hour {
		t.Errorf("%+v, %v", token, err)
	}
	const given = "person alice@acme.example (00u1) of id.example.com | %s for read mirror:*, read modules:*, read providers:acme/* | true | by rule infra, staff"
	w.wantAudit(fmt.Sprintf(given, "log in"), fmt.Sprintf(given, "token")+", token "+id.Short())
}

// TestConsentPage: the page says everything, and can do nothing but be answered.
func TestConsentPage(t *testing.T) {
	w := newWorld(t)
	w.staff()
	w.people.claims = access.Claims{"sub": "7", "groups": "staff", "name": `<b>Eve</b>" onclick=x`}
	_, got := (&browser{world: w}).arrive()
	for _, want := range []string{host, "&lt;b&gt;Eve&lt;/b&gt;", "read providers:acme/*", "read modules:*", "30 days, until", "Allow", "Cancel", `lang="en"`, `action="/v1/login/consent"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("there is no %s in %s", want, got.body)
		}
	}
	if strings.Contains(got.body, "<script") || strings.Contains(got.body, "<b>") {
		t.Error(got.body)
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(got.body)
	sum := sha256.Sum256([]byte(style[1]))
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; form-action 'self' http://localhost:10003; frame-ancestors 'none'; base-uri 'none'",
		"X-Frame-Options":            "DENY",
		"Referrer-Policy":            "strict-origin",
		"X-Content-Type-Options":     "nosniff",
		"Cross-Origin-Opener-Policy": "same-origin",
		"Cache-Control":              "no-store",
		"Strict-Transport-Security":  "max-age=31536000",
		"Content-Type":               "text/html; charset=utf-8",
	} {
		if got.header.Get(header) != want {
			t.Errorf("%s: %s", header, got.header.Get(header))
		}
	}
	other := (&browser{world: w}).get("/v1/login", nil)
	if policy := other.header.Get("Content-Security-Policy"); strings.Contains(policy, "localhost") || other.header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%v", other.header)
	}
}

func TestLasting(t *testing.T) {
	for lifetime, want := range map[time.Duration]string{
		time.Minute:       "1 minutes from",
		90 * time.Second:  "2 minutes from",
		time.Hour:         "60 minutes from",
		2 * time.Hour:     "2 hours from",
		24 * time.Hour:    "24 hours from",
		150 * time.Minute: "150 minutes from",
		48 * time.Hour:    "2 days, until",
		60 * time.Hour:    "60 hours from",
	} {
		if got := describeLifetime(lifetime); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s, want %s", lifetime, got, want)
		}
	}
}

// TestCallback is who comes back from the provider, and gets no further.
func TestCallback(t *testing.T) {
	claims := func(changes ...any) access.Claims {
		all := access.Claims{"sub": "00u1", "email": "alice@acme.example", "groups": "none"}
		for i := 0; i < len(changes); i += 2 {
			all[changes[i].(string)] = changes[i+1]
		}
		return all
	}
	for name, test := range map[string]struct {
		people people
		change func(b *browser, back url.Values)
		status int
		page   string // has this
		why    string // of the decision, if there is one; of who, if not nobody, before a colon
		asked  int
	}{
		"no state":        {people{claims: alice}, func(_ *browser, v url.Values) { v.Del("state") }, 400, "over", "", 0},
		"another state":   {people{claims: alice}, func(_ *browser, v url.Values) { v.Set("state", "x") }, 400, "over", "", 0},
		"two states":      {people{claims: alice}, func(_ *browser, v url.Values) { v.Add("state", "x") }, 400, "more than once", "", 0},
		"another browser": {people{claims: alice}, func(b *browser, _ url.Values) { b.cookie = "X" + b.cookie[1:] + "Y" }, 400, "another browser", "", 0},
		"no cookie":       {people{claims: alice}, func(b *browser, _ url.Values) { b.cookie = "" }, 400, "another browser", "", 0},
		"a replay":        {people{claims: alice}, func(b *browser, v url.Values) { b.get("/v1/login/callback", v) }, 400, "over", "", 1},
		"the person said no": {people{}, func(_ *browser, v url.Values) {
			with(v, "code", "", "error", "access_denied", "error_description", "<b>No\n way")
		}, 403, "You, or id.example.com, said no", `id.example.com answered with the error "access_denied"`, 0},
		"what the provider says": {people{}, func(_ *browser, v url.Values) {
			with(v, "code", "", "error", "x", "error_description", strings.Repeat("<b>\n", 500))
		}, 403, "&lt;b&gt; &lt;b&gt;", `id.example.com answered with the error "x"`, 0},
		"an error and a code": {people{claims: alice}, func(_ *browser, v url.Values) { v.Set("error", "x") }, 403, "(x)", `id.example.com answered with the error "x"`, 0},
		"neither":             {people{claims: alice}, func(_ *browser, v url.Values) { v.Del("code") }, 403, "not logged in", `id.example.com answered with the error "no code"`, 0},
		"an error of nobody's login": {people{}, func(b *browser, v url.Values) {
			b.cookie = ""
			with(v, "code", "", "error", "x", "error_description", "call 555-1234")
		}, 400, "another browser", "", 0},
		"the provider is down":      {people{err: errUnavailable}, nil, 503, "cannot be asked", "the issuer cannot be asked", 1},
		"the provider was asked":    {people{err: errTooSoon}, nil, 429, "may not be asked again yet", "the issuer may not be asked again yet", 1},
		"the identity is wrong":     {people{err: errInvalid}, nil, 403, "not good", "the identity token is not good", 1},
		"something breaks":          {people{err: errors.New("secret fire")}, nil, 500, "went wrong", "who it is could not be found out", 1},
		"no rule fits":              {people{claims: claims("email_verified", true)}, nil, 403, "alice@acme.example (00u1)", "person alice@acme.example (00u1) of id.example.com: no rule for people fits", 1},
		"an unverified email":       {people{claims: claims("email_verified", false, "email", "boss@acme.example")}, nil, 403, "you are 00u1.", "person 00u1 of id.example.com: no rule for people fits", 1},
		"an email, verified or not": {people{claims: claims("email", "boss@acme.example")}, nil, 403, "you are 00u1.", "person 00u1 of id.example.com: no rule for people fits", 1},
		"verified, but not so":      {people{claims: claims("email", "boss@acme.example", "email_verified", "yes")}, nil, 403, "you are 00u1.", "person 00u1 of id.example.com: no rule for people fits", 1},
		"unverified as a username":  {people{claims: claims("email", "boss@acme.example", "email_verified", false, "preferred_username", "Boss@acme.example")}, nil, 403, "you are 00u1.", "person 00u1 of id.example.com: no rule for people fits", 1},
		"a username":                {people{claims: claims("preferred_username", "al\x1b\nice", "name", "Alice")}, nil, 403, "you are alice (00u1).", "person alice (00u1) of id.example.com: no rule for people fits", 1},
		"a name":                    {people{claims: claims("name", "Alice")}, nil, 403, "you are Alice (00u1).", "person Alice (00u1) of id.example.com: no rule for people fits", 1},
		"nobody":                    {people{claims: claims("sub", "", "groups", "staff")}, nil, 403, "whose it is (sub)", errNoSubject.text, 1},
		"a long name":               {people{claims: claims("name", strings.Repeat("A", 1000), "sub", strings.Repeat("s", 255))}, nil, 403, "AAA… (sss", "person " + strings.Repeat("A", 96) + "… (" + strings.Repeat("s", 99) + "…) of id.example.com: no rule for people fits", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.staff()
			w.rule(access.Rule{Name: "boss", Use: access.ForPeople}, "email=boss@acme.example", "read *")
			w.rule(access.Rule{Name: "boss-too", Use: access.ForPeople}, "preferred_username=Boss@acme.example", "read *")
			*w.people = test.people
			b := &browser{world: w}
			back := b.begin()
			if test.change != nil {
				test.change(b, back)
			}
			got := b.get("/v1/login/callback", back)
			if got.status != test.status || !strings.Contains(got.body, test.page) || !strings.Contains(got.body, "<kbd>Ctrl</kbd>") || strings.Contains(got.body, "<b>") ||
				strings.Contains(got.body, "fire") || strings.Contains(got.body, "555") || len(got.body) > 8<<10 {
				t.Errorf("%d %s", got.status, got.body)
			}
			if w.people.asked != test.asked {
				t.Errorf("asked %d times", w.people.asked)
			}
			who, why, known := strings.Cut(test.why, ": ")
			if !known {
				who, why = "nobody", test.why
			}
			if test.why != "" {
				why = who + " | log in | false | " + why
			}
			w.wantAudit(why)
			if strings.Contains(got.body, "It says") != (name == "what the provider says" || name == "the person said no") {
				t.Errorf("%s", got.body)
			}
		})
	}
}

// TestWhatCounts: an email that is verified is one that rules can name, and of
// other claims nothing is lost because nobody says whether an email is.
func TestWhatCounts(t *testing.T) {
	for name, test := range map[string]struct {
		claims access.Claims
		rule   string
	}{
		"verified":              {access.Claims{"email": "boss@acme.example", "email_verified": true}, "email=boss@acme.example"},
		"verified, as text":     {access.Claims{"email": "boss@acme.example", "email_verified": "true"}, "email=boss@acme.example"},
		"the email as username": {access.Claims{"email": "boss@acme.example", "preferred_username": "boss@acme.example"}, "preferred_username=boss@acme.example"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.rule(access.Rule{Name: "boss", Use: access.ForPeople}, test.rule, "read *")
			w.people.claims = test.claims
			w.people.claims["sub"] = "1"
			if _, page := (&browser{world: w}).arrive(); !strings.Contains(page.body, "boss@acme.example (1)") || !strings.Contains(page.body, "60 minutes from when") {
				t.Errorf("%s", page.body)
			}
		})
	}
}

// TestTooMuch: rules that give more than a token, or a ticket, can have give
// nothing.
func TestTooMuch(t *testing.T) {
	for name, test := range map[string]struct{ rules, scopes, length int }{
		"many scopes": {2, 30, 10},
		"long scopes": {1, 50, 350},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range test.rules {
				var scopes []string
				for n := range test.scopes {
					scopes = append(scopes, fmt.Sprintf("read providers:%s%d-%d/*", strings.Repeat("a", test.length), i, n))
				}
				w.rule(access.Rule{Name: fmt.Sprint("rule-", i), Use: access.ForPeople}, "groups=staff", scopes...)
			}
			w.people.claims = alice
			b := &browser{world: w}
			if got := b.get("/v1/login/callback", b.begin()); got.status != http.StatusBadRequest || !strings.Contains(got.body, "fewer, wider") {
				t.Errorf("%d %s", got.status, got.body)
			}
			w.wantAudit("person alice@acme.example (00u1) of id.example.com | log in | false | " + errTooMuch.text)
		})
	}
}

func TestConsent(t *testing.T) {
	same := []string{"Origin", "https://" + host}
	for name, test := range map[string]struct {
		change  func(b *browser, form url.Values)
		headers []string
		status  int
		page    string
		after   int // the status if the right one comes then
	}{
		"cancelled":         {func(_ *browser, v url.Values) { v.Set("decision", "cancel") }, same, 200, "Nothing was given", 400},
		"not decided":       {func(_ *browser, v url.Values) { v.Del("decision") }, same, 200, "Nothing was given", 400},
		"decided twice":     {func(_ *browser, v url.Values) { v.Add("decision", "cancel") }, same, 400, "more than once", 303},
		"no ticket":         {func(_ *browser, v url.Values) { v.Del("ticket") }, same, 400, "over", 303},
		"another browser":   {func(b *browser, _ url.Values) { b.cookie = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" }, same, 400, "another browser", 400},
		"a replay":          {func(b *browser, v url.Values) { b.post(v) }, same, 400, "over", 400},
		"another site":      {nil, []string{"Origin", "https://evil.example"}, 400, "not sent from a page", 303},
		"another scheme":    {nil, []string{"Origin", "http://" + host}, 400, "not sent from a page", 303},
		"another port":      {nil, []string{"Origin", "https://" + host + ":8443"}, 400, "not sent from a page", 303},
		"no site":           {nil, []string{"Origin", "null"}, 400, "not sent from a page", 303},
		"a neighbour":       {nil, []string{"Sec-Fetch-Site", "same-site"}, 400, "not sent from a page", 303},
		"another type":      {nil, []string{"Content-Type", "text/plain"}, 400, "must be a form", 303},
		"a form with files": {nil, []string{"Content-Type", "multipart/form-data; boundary=x"}, 400, "must be a form", 303},
		"too large":         {func(_ *browser, v url.Values) { v.Set("x", strings.Repeat("x", 64<<10)) }, same, 413, "64 KiB", 303},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.staff()
			w.people.claims = alice
			b := &browser{world: w}
			form, _ := b.arrive()
			ticket, cookie := form.Get("ticket"), b.cookie
			if test.change != nil {
				test.change(b, form)
			}
			got := b.post(form, test.headers...)
			if got.status != test.status || got.header.Get("Location") != "" || !strings.Contains(got.body, test.page) || !strings.Contains(got.body, "<kbd>Ctrl</kbd>") {
				t.Errorf("%d %s", got.status, got.body)
			}
			const person = "person alice@acme.example (00u1) of id.example.com | log in for read providers:acme/*, read modules:* | "
			audit := []string{}
			switch {
			case test.status == 200:
				audit = append(audit, person+"false | the person did not allow it")
				if !strings.Contains(got.body, "You did not allow the access, so there is none.<") {
					t.Errorf("%s", got.body)
				}
			case name == "a replay": // of one that is good
				audit = append(audit, person+"true | by rule staff")
			}
			w.wantAudit(audit...)
			b.cookie = cookie
			if after := b.post(url.Values{"ticket": {ticket}, "decision": {"allow"}}, same...); after.status != test.after {
				t.Errorf("then: %d %s", after.status, after.body)
			}
		})
	}
}

// TestWrongCode: a wrong request with a code uses it up.
func TestWrongCode(t *testing.T) {
	type change = func(url.Values) *http.Request
	form := func(changes ...string) change {
		return func(v url.Values) *http.Request { return newForm("/v1/token", with(v, changes...).Encode()) }
	}
	for name, test := range map[string]struct {
		send   change
		status int
		code   string
		after  int // the status if all is right then
		says   string
	}{
		"another verifier":       {form("code_verifier", strings.Replace(cliVerifier, "1", "2", 1)), 400, "invalid_grant", 400, "code_verifier is not"},
		"no verifier":            {form("code_verifier", ""), 400, "invalid_request", 400, ""},
		"the challenge":          {form("code_verifier", challengeOf(cliVerifier)), 400, "invalid_grant", 400, ""},
		"a short verifier":       {form("code_verifier", cliVerifier[:42]), 400, "invalid_request", 400, "code_verifier is missing"},
		"a long verifier":        {form("code_verifier", strings.Repeat("a", 129)), 400, "invalid_request", 400, ""},
		"a foreign verifier":     {form("code_verifier", strings.Replace(cliVerifier, ".", "=", 1)), 400, "invalid_request", 400, ""},
		"another redirect":       {form("redirect_uri", "http://localhost:10004/login"), 400, "invalid_grant", 400, "redirect_uri is not"},
		"no redirect":            {form("redirect_uri", ""), 400, "invalid_grant", 400, ""},
		"another client":         {form("client_id", "evil"), 400, "invalid_grant", 400, "client_id is not"},
		"no client":              {form("client_id", ""), 400, "invalid_grant", 400, ""},
		"another code":           {form("code", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 400, "invalid_grant", 200, ""},
		"no code":                {form("code", ""), 400, "invalid_request", 200, "there is no code"},
		"no grant":               {form("grant_type", ""), 400, "invalid_request", 200, "there is no grant_type"},
		"a password":             {form("grant_type", "password", "username", "a", "password", "b"), 400, "unsupported_grant_type", 200, ""},
		"a refresh":              {form("grant_type", "refresh_token", "refresh_token", "a"), 400, "unsupported_grant_type", 200, ""},
		"too large":              {form("x", strings.Repeat("x", 64<<10)), 413, "invalid_request", 200, "64 KiB"},
		"two codes":              {func(v url.Values) *http.Request { v.Add("code", "x"); return newForm("/v1/token", v.Encode()) }, 400, "invalid_request", 200, "more than once"},
		"half a code":            {func(v url.Values) *http.Request { return newForm("/v1/token", v.Encode()+"&x=%") }, 400, "invalid_request", 200, "cannot be read"},
		"all in the query":       {func(v url.Values) *http.Request { return newForm("/v1/token?"+v.Encode(), "") }, 400, "invalid_request", 200, "in the query"},
		"something in the query": {func(v url.Values) *http.Request { return newForm("/v1/token?access_token=x", v.Encode()) }, 400, "invalid_request", 200, "in the query"},
		"JSON": {func(v url.Values) *http.Request {
			r := newForm("/v1/token", v.Encode())
			r.Header.Set("Content-Type", "application/json")
			return r
		}, 400, "invalid_request", 200, "must be a form"},
		"a question mark alone": {func(v url.Values) *http.Request { return newForm("/v1/token?", v.Encode()) }, 400, "invalid_request", 200, "in the query"},
		"a type that is none": {func(v url.Values) *http.Request {
			r := newForm("/v1/token", v.Encode())
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded; =")
			return r
		}, 400, "invalid_request", 200, "must be a form"},
		"cut off on its way": {func(v url.Values) *http.Request {
			r := newForm("/v1/token", "")
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(v.Encode()), iotest.ErrReader(io.ErrUnexpectedEOF)))
			return r
		}, 400, "invalid_request", 200, "did not arrive whole"},
		"no type": {func(v url.Values) *http.Request {
			r := newForm("/v1/token", v.Encode())
			r.Header.Del("Content-Type")
			return r
		}, 400, "invalid_request", 200, "must be a form"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.staff()
			w.people.claims = alice
			right := (&browser{world: w}).redemption()
			encoded := right.Encode()
			before := len(w.audit())
			got := w.wantToken(test.send(right), test.status, test.code)
			if test.says != "" && (len(got.Errors) != 1 || !strings.Contains(got.Errors[0], test.says)) {
				t.Errorf("%q; want %q", got.Errors, test.says)
			}
			if len(w.tokens()) != 0 {
				t.Errorf("there is a token: %v", w.tokens())
			}
			code := ""
			if test.after != 200 {
				code = "invalid_grant"
			}
			var want []string // of a request that brings a code
			switch {
			case name == "another code":
				want = []string{"nobody | token for a code | false | there is no such code, or it was used, or is too old"}
			case test.after != 200:
				want = []string{"person alice@acme.example (00u1) of id.example.com | token for read providers:acme/*, read modules:* | false | " + got.Errors[0]}
			}
			if audit := w.audit()[before:]; !slices.Equal(audit, want) {
				t.Errorf("the audit has %q and not %q", audit, want)
			}
			w.wantToken(newForm("/v1/token", encoded), test.after, code)
		})
	}
}

// TestTimes: every step is good for its time, and then for nothing.
func TestTimes(t *testing.T) {
	for name, test := range map[string]struct {
		wait   time.Duration
		status int
		code   string
	}{
		"in time":  {time.Minute - time.Millisecond, 200, ""},
		"too late": {time.Minute, 400, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.staff()
				w.people.claims = alice
				form := (&browser{world: w}).redemption()
				time.Sleep(test.wait)
				w.wantToken(newForm("/v1/token", form.Encode()), test.status, test.code)
			})
		})
	}
	t.Run("pages", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.staff()
			w.people.claims = alice
			b := &browser{world: w}
			back := b.begin()
			time.Sleep(10 * time.Minute)
			if got := b.get("/v1/login/callback", back); got.status != 400 {
				t.Errorf("callback: %d", got.status)
			}
			form, _ := b.arrive()
			time.Sleep(10 * time.Minute)
			if got := b.post(form); got.status != 400 {
				t.Errorf("consent: %d", got.status)
			}
		})
	})
}

// TestRuleRemovedMeanwhile: a removed or changed rule gives nothing any more, also to people
// who are just logging in.
func TestRuleRemovedMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		status int
		code   string
	}{
		"removed":             {func(w *world) { w.remove("staff") }, 400, "invalid_grant"},
		"put in again":        {func(w *world) { w.remove("staff"); w.staff() }, 200, ""},
		"for fewer":           {func(w *world) { w.remove("staff"); w.staffBy("groups=boss", 720*time.Hour) }, 400, "invalid_grant"},
		"for a shorter time":  {func(w *world) { w.remove("staff"); w.staffBy("groups=staff", time.Hour) }, 400, "invalid_grant"},
		"one that never gave": {func(w *world) { w.remove("boss") }, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.staff()
			w.rule(access.Rule{Name: "boss", Use: access.ForPeople}, "groups=boss", "read *")
			w.people.claims = alice
			form := (&browser{world: w}).redemption()
			test.change(w)
			got := w.wantToken(newForm("/v1/token", form.Encode()), test.status, test.code)
			const person = "person alice@acme.example (00u1) of id.example.com | "
			want := []string{person + "log in for read providers:acme/*, read modules:* | true | by rule staff"}
			if test.status == 200 {
				want = append(want, person+"token for read providers:acme/*, read modules:* | true | by rule staff, token "+w.idOf(got.AccessToken))
			} else {
				want = append(want, person+"token for read providers:acme/*, read modules:* | false | a rule that gave the access was removed or changed meanwhile: log in again")
			}
			w.wantAudit(want...)
			if (len(w.tokens()) == 1) != (test.status == 200) {
				t.Errorf("%d tokens", len(w.tokens()))
			}
		})
	}
}

// TestOneCodeOneToken: only one of several requests with the same code gets a token.
func TestOneCodeOneToken(t *testing.T) {
	w := newWorld(t)
	w.staff()
	w.people.claims = alice
	form := (&browser{world: w}).redemption().Encode()
	var wg sync.WaitGroup
	statuses := make([]int, 50)
	for i := range statuses {
		wg.Go(func() {
			recorder := httptest.NewRecorder()
			w.handler.ServeHTTP(recorder, newForm("/v1/token", form))
			statuses[i] = recorder.Code
		})
	}
	wg.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	if count[200] != 1 || count[400] != 49 || len(w.tokens()) != 1 {
		t.Errorf("%v, %d tokens", count, len(w.tokens()))
	}
}

// FuzzClientPort: whatever is taken for a client is one, to every reader of URLs.
func FuzzClientPort(f *testing.F) {
	for _, uri := range []string{cliRedirect, "http://localhost:10010/login", "http://localhost:10003@evil/login", "http://localhost:010000/login"} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		port, ok := clientPort(uri)
		if !ok {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "http" || u.Hostname() != "localhost" || u.User != nil || u.Path != "/login" || u.RawQuery != "" || u.Fragment != "" ||
			(login{Port: port}).redirectURI() != uri || port < 10000 || port > 10010 {
			t.Errorf("%q", uri)
		}
	})
}
