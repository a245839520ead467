package protocol

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/pages"
)

// markdownSuffix is at the end of the path of a page in Markdown. A version can end so, as
// 1.0.0-a.md does: then its page is at 1.0.0-a.md.md, and its JSON document nowhere.
const markdownSuffix = ".md"

// hasMarkdown says whether a route has its document in Markdown, too.
func (r Route) hasMarkdown() bool {
	return r == ModuleDetails || r == ProviderDetails || r == ProviderPage
}

// orMarkdown reads the arguments of a path whose last segment may end in .md.
func orMarkdown(count int, parse func(arguments) (Request, error)) func(arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		last := &args[count-1]
		name, isMarkdown := strings.CutSuffix(*last, markdownSuffix)
		if isMarkdown && name != "" {
			*last = name
		}
		r, err := parse(args)
		r.Markdown = isMarkdown && name != "" && err == nil
		return r, err
	}
}

// asMarkdown is the request for a page, if the headers ask for one. What is made for it depends
// on the host, which is in the snippets to copy.
func (h *handler) asMarkdown(request Request, r *http.Request) Request {
	request.Markdown = request.Markdown || request.Route.hasMarkdown() && prefersMarkdown(r.Header["Accept"])
	if request.Markdown {
		request.Host = h.shownHost(r.Host)
	}
	return request
}

// shownHost is the host of a request, as it is in the source addresses of who sends it.
func (h *handler) shownHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ":443")
	if plainHost().MatchString(host) {
		return host
	}
	if h.Hostname != "" {
		return h.Hostname
	}
	return "registry.example.com"
}

// prefersMarkdown says whether an Accept names Markdown, and JSON not before it.
func prefersMarkdown(accept []string) bool {
	if len(accept) == 0 { // as the CLIs ask
		return false
	}
	markdown, document := 0.0, 0.0
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, parameters, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		quality := 1.0
		if given, ok := parameters["q"]; ok {
			if quality, err = strconv.ParseFloat(given, 64); err != nil {
				quality = 0
			}
		}
		switch kind {
		case "text/markdown":
			markdown = max(markdown, quality)
		case "application/json":
			document = max(document, quality)
		}
	}
	return markdown > 0 && markdown >= document
}

// newMarkdown is a page as a document.
func newMarkdown(markdown string) *document {
	d := newDocument([]byte(markdown))
	d.kind = markdownType
	return d
}

// llms is the guide for assistants. It is for everybody, and names nothing that is published.
func (h *handler) llms(r *http.Request) response {
	d := newDocument([]byte(pages.LLMs(h.shownHost(r.Host))))
	d.kind = plainType
	return response{status: http.StatusOK, cache: public, document: d}
}

// Assistant answers the messages of assistants.
type Assistant interface {
	// Answer answers the message that is the body of a request, for a caller who asks the
	// registry by this host. The body of the answer is JSON, or nil.
	//
	// Errors: one that is a [Refuser], [catalog.ErrUnauthorized], context.DeadlineExceeded.
	Answer(r *http.Request, caller access.Caller, host string) (status int, body []byte, err error)
}

// Refuser is an error of another handler, with what is answered.
type Refuser interface {
	error

	// Refusal is a status from 400 to 499, and why, in words for who asked.
	Refusal() (status int, message string)
}

// assist answers a message of an assistant.
func (h *handler) assist(r *http.Request, caller access.Caller) (response, error) {
	status, body, err := h.Assistant.Answer(r, caller, h.shownHost(r.Host))
	if err != nil {
		return response{}, err
	}
	return response{status: status, cache: noStore, body: body}, nil
}
