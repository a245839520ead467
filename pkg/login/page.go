package login

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/protocol"
)

// answer is what a browser gets.
type answer struct {
	status   int
	location string // of a redirect, which has no page
	cookie   *http.Cookie
	page     page
	again    time.Duration // as in a refusal
}

// page is a page for a person.
type page struct {
	Title     string
	Text      []string // paragraphs
	Consent   *consent
	Interrupt bool // says how to end the client, which waits
}

// consent is what a person is asked to allow.
type consent struct {
	Owner  string
	Scopes access.Scopes
	Lasts  string
	Ticket string

	client string // the origin that the form leads to in the end
}

// failure is the page of an error.
func failure(r *refusal) answer {
	return answer{status: r.status, again: r.again, page: page{Title: "This did not work", Text: []string{sentence(r.text)}, Interrupt: true}}
}

// sentence is an error's text as a sentence for a page.
func sentence(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:] + "."
}

var (
	//go:embed page.html
	pageText string

	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageText))

	// The one style that browsers apply.
	styleSource = func() string {
		sum := sha256.Sum256([]byte(pageStyle))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}()
)

func (p page) render(host string) ([]byte, error) {
	var body bytes.Buffer
	err := pageTemplate.Execute(&body, struct {
		page
		Host   string
		Action string
		Style  template.CSS
	}{p, host, protocol.LoginConsentPath, template.CSS(pageStyle)})
	return body.Bytes(), err
}

// soon is when to try again. The clients wait for that long.
const soon = 5 * time.Second

// write sends an answer, to HEAD without its page.
func (h *handler) write(w http.ResponseWriter, r *http.Request, a answer) {
	secure(w.Header(), a.page)
	if !strings.Contains(h.Host, ":") { // it would apply to all ports of the host
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	if a.cookie != nil {
		http.SetCookie(w, a.cookie)
	}
	if a.location != "" {
		w.Header().Set("Location", a.location)
		w.WriteHeader(a.status)
		return
	}
	body, err := a.page.render(h.Host)
	if err != nil {
		h.log(r, slog.LevelError, "a page cannot be written", err)
		a.status, body = http.StatusInternalServerError, nil
	}
	setRetryAfter(w.Header(), a.status, a.again)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only when the browser has gone
	}
}

// secure limits a page to what it needs. Its address has codes in it, which no other site
// may see. With no-referrer, browsers send a form with the origin null; so the page with
// the form lets them send the origin.
//
// https://fetch.spec.whatwg.org/#append-a-request-origin-header
func secure(header http.Header, p page) {
	formAction, referrer := "'self'", "no-referrer"
	if p.Consent != nil {
		formAction += " " + p.Consent.client // browsers also look at where the answer to a form redirects to
		referrer = "strict-origin"
	}
	header.Set("Content-Security-Policy", fmt.Sprintf(
		"default-src 'none'; style-src %s; form-action %s; frame-ancestors 'none'; base-uri 'none'", styleSource, formAction))
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", referrer)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
}
