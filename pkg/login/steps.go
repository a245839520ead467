package login

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/access"
)

// begin sends a person, who comes from a client, on to the provider. For HEAD it keeps
// no ticket, so that nobody can come back.
func (h *handler) begin(r *http.Request) (answer, error) {
	l, err := readAuthorization(r.URL.RawQuery)
	if err != nil {
		return answer{}, err
	}
	if err := h.admit(r); err != nil {
		return answer{}, err
	}
	l.Nonce, l.Verifier = rand.Text(), rand.Text()+rand.Text() // RFC 7636 wants 43 characters or more
	cookie, browser := newCookie()
	l.Browser = browser
	state, id := access.NewTicket(forLogin)
	location, err := h.Provider.AuthURL(r.Context(), state, l.Nonce, l.Verifier)
	if err != nil {
		return answer{}, err
	}
	if r.Method != http.MethodHead {
		if err := h.keep(r.Context(), id, l, loginTime); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusFound, location: location, cookie: cookie}, nil
}

// callback asks the person, who comes back from the provider, to allow the client what
// the rules give. For HEAD it does nothing: a program that checks the link does not use it
// up.
func (h *handler) callback(r *http.Request) (answer, error) {
	if r.Method == http.MethodHead {
		return answer{status: http.StatusOK, page: page{Title: "Log in"}}, nil
	}
	f, err := readFields(r.URL.RawQuery)
	if err != nil {
		return answer{}, err
	}
	l, err := h.resume(r, forLogin, f["state"])
	if err != nil {
		return answer{}, err
	}
	if f["error"] != "" || f["code"] == "" {
		return h.refusedByProvider(r, f), nil
	}
	claims, err := h.Provider.Exchange(r.Context(), f["code"], l.Verifier, l.Nonce)
	if err != nil {
		h.decide(r.Context(), "nobody", "log in", false, auditReason(err))
		return answer{}, err
	}
	return h.welcome(r, l, trusted(claims))
}

// resume takes the ticket of a step that began in this browser.
func (h *handler) resume(r *http.Request, purpose, secret string) (login, error) {
	l, err := h.take(r.Context(), purpose, secret)
	switch {
	case errors.Is(err, access.ErrNotFound):
		return login{}, refuse(http.StatusBadRequest, invalidGrant,
			"this login is over, or was never begun: each page is good once, for ten minutes, so run the command again")
	case err != nil:
		return login{}, err
	case !l.isFrom(r):
		return login{}, errOtherBrowser
	}
	return l, nil
}

// refusedByProvider shows the provider's error. Only the browser that began the login
// sees it, so that nobody can make a link that shows a text of their own here.
func (h *handler) refusedByProvider(r *http.Request, f fields) answer {
	code := bounded(cmp.Or(f["error"], "no code"))
	h.decide(r.Context(), "nobody", "log in", false, fmt.Sprintf("%s answered with the error %q", h.ProviderName, code))
	p := page{Title: "You are not logged in", Interrupt: true}
	if code == "access_denied" {
		p.Text = append(p.Text, fmt.Sprintf("You, or %s, said no.", h.ProviderName))
	} else {
		p.Text = append(p.Text, fmt.Sprintf("%s answered with an error (%s).", h.ProviderName, code))
	}
	if description := bounded(f["error_description"]); description != "" {
		p.Text = append(p.Text, fmt.Sprintf("It says: %s", description))
	}
	return answer{status: http.StatusForbidden, page: p}
}

// bounded is a foreign text in one line, cut to a length for a page or a log.
func bounded(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if utf8.RuneCountInString(text) > most {
		return string([]rune(text)[:most]) + "…"
	}
	return text
}

// welcome asks a person for consent, if rules fit.
func (h *handler) welcome(r *http.Request, l login, claims access.Claims) (answer, error) {
	if l.Owner = owner(claims); l.Owner == "" {
		h.decide(r.Context(), "nobody", "log in", false, errNoSubject.text)
		return answer{}, errNoSubject
	}
	rules, err := h.rules(r.Context(), isForPeople)
	if err != nil {
		return answer{}, err
	}
	given := access.Granted(rules, claims)
	if len(given.Rules) == 0 {
		h.decide(r.Context(), h.who(l), "log in", false, "no rule for people fits")
		return h.stranger(l), nil
	}
	l.Rules, l.Scopes, l.Lifetime = given.Rules, given.Scopes, access.Duration(given.Lifetime)
	if l.RulesHash, err = hashRules(rules, given.Rules); err != nil {
		return answer{}, err
	}
	secret, id := access.NewTicket(forConsent)
	err = h.keep(r.Context(), id, l, loginTime)
	if errors.Is(err, errTooMuch) {
		h.decide(r.Context(), h.who(l), "log in", false, errTooMuch.text)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, page: page{
		Title:   "Allow access?",
		Consent: &consent{Owner: l.Owner, Scopes: l.Scopes, Lasts: describeLifetime(given.Lifetime), Ticket: secret, client: l.origin()},
	}}, nil
}

func (h *handler) stranger(l login) answer {
	return answer{status: http.StatusForbidden, page: page{
		Title: "You have no access here",
		Text: []string{
			fmt.Sprintf("%s says that you are %s. No rule of this registry gives that person access.", h.ProviderName, l.Owner),
			fmt.Sprintf("Ask those who run %s for a rule for people that fits you, and tell them this name. An email address counts only if %s says that it is verified.", h.Host, h.ProviderName),
		},
		Interrupt: true,
	}}
}

// consent sends a person who allows it back to the client, with a code.
func (h *handler) consent(r *http.Request) (answer, error) {
	if !h.isOwnForm(r) {
		return answer{}, refuse(http.StatusBadRequest, invalidRequest, "this was not sent from a page of the registry")
	}
	f, err := readForm(r)
	if err != nil {
		return answer{}, err
	}
	l, err := h.resume(r, forConsent, f["ticket"])
	if err != nil {
		return answer{}, err
	}
	what := "log in for " + l.Scopes.String()
	if f["decision"] != "allow" {
		h.decide(r.Context(), h.who(l), what, false, "the person did not allow it")
		return answer{status: http.StatusOK, page: page{
			Title: "Nothing was given", Text: []string{"You did not allow the access, so there is none."}, Interrupt: true,
		}}, nil
	}
	code, id := access.NewTicket(forCode)
	if err := h.keep(r.Context(), id, l, codeTime); err != nil {
		return answer{}, err
	}
	h.decide(r.Context(), h.who(l), what, true, byRules(l.Rules))
	back := url.Values{"code": {code}, "state": {l.State}}
	return answer{status: http.StatusSeeOther, location: l.redirectURI() + "?" + back.Encode()}, nil
}

// isOwnForm says whether a form comes from the registry's own page, as far as the browser
// says. For browsers that do not say it, there are the cookie and the ticket.
func (h *handler) isOwnForm(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if origin != "https://"+h.Host {
			return false
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin"
}

// describeLifetime says how long a token will be good, rounded up to minutes.
func describeLifetime(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day && d%day == 0:
		return fmt.Sprintf("%d days, until %s", d/day, time.Now().Add(d).UTC().Format("2 January 2006"))
	case d >= 2*time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%d hours from when you allow it", d/time.Hour)
	default:
		return fmt.Sprintf("%d minutes from when you allow it", (d+time.Minute-1)/time.Minute)
	}
}
