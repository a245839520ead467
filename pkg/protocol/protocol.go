// Package protocol answers the clients of a registry over HTTP: service
// discovery, the module registry protocol, the provider registry protocol and
// the provider network mirror protocol; the public registry's API, by which editors and other
// tools list, search and read; and where the login protocol has its
// endpoints, which are answered by another handler.
//
// [Parse] first reads the method and the path of a request, so that a path that cannot
// be an address never reaches a catalog. Any other request is one question to a
// [catalog.Reader], for its caller, and so one read of the catalog. Lists, searches and details
// are questions to a [browse.Browser]: one read for the former, two for the latter, and perhaps
// one of the bucket for the documentation. An answer is made once
// for the bytes that were read, and kept. Presigned URLs of archives are made each time: the
// archives' bytes never pass through here.
//
// Every answer with a body is JSON, but for pages in Markdown; an error is {"errors":["…"]}.
package protocol

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/catalog"
)

// Presigner makes URLs that read one object of the bucket for a while, without any
// further credentials. It sends no request, since an answer may need several URLs.
type Presigner interface {
	// PresignGet is the absolute URL of an object, with its credentials in
	// the query. The URL stays good for some minutes.
	PresignGet(ctx context.Context, key string) (string, error)
}

// Config is what a handler works with. Without what some routes need, these routes are
// not found.
type Config struct {
	// Reader is needed by every route but discovery.
	Reader *catalog.Reader

	// Presigner is needed by the routes of downloads.
	Presigner Presigner

	// Browser is needed by the routes of lists, searches and details.
	Browser *browse.Browser

	// Assistant is needed by the route of messages of assistants.
	Assistant Assistant

	// Hostname is the registry's own, in lower case and in punycode, as the clients
	// send it. Under it the mirror has the registry's own providers. Empty: the
	// mirror does not have them.
	Hostname string

	// Origins is asked on the routes of the mirror for what is not in the
	// catalog. Nil: the mirror has only what is in the catalog.
	Origins Origins

	// Open lets everybody read, whatever token they send. Else a caller may
	// read what the scopes of a token match. Discovery is for everybody, and
	// does not look at tokens.
	Open bool

	// Login says that people can log in. Discovery and refusals say so.
	Login bool

	// SignIn answers the routes of login and of tokens, by their paths. Nil:
	// these are not found. Without Login the routes of login are not found.
	SignIn http.Handler

	// Logger gets one line per request, with the address in its RemoteAddr, and
	// one more for an internal error. They never have queries, headers or
	// presigned URLs. Required.
	Logger *slog.Logger
}

type handler struct {
	Config
	discovery *document
	kept      kept
}

// New is the handler of the protocols.
func New(config Config) http.Handler {
	return &handler{config, newDiscovery(config.Login), newKept(keptRoom)}
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	status, written := h.serve(w, r)
	h.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("method", bounded(r.Method)),
		slog.String("path", bounded(r.URL.EscapedPath())),
		slog.Int("status", status),
		slog.Int("bytes", written),
		slog.String("client", client(r.RemoteAddr)),
		slog.Duration("duration", time.Since(start)))
}

// serve answers, and returns the status and the length of the body.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) (status, written int) {
	request, err := Parse(r.Method, r.URL.EscapedPath())
	if err == nil && !h.has(request.Route) {
		err = nothingAt(r.URL.EscapedPath())
	}
	if err == nil && request.Route.signsIn() {
		counted := &countingWriter{ResponseWriter: w, status: http.StatusOK}
		h.SignIn.ServeHTTP(counted, r)
		return counted.status, counted.written
	}
	var answer response
	if err == nil {
		answer, err = h.answer(r, request)
	}
	if err != nil {
		answer = h.failure(r, err)
	}
	return answer.write(w, r)
}

func (h *handler) answer(r *http.Request, request Request) (response, error) {
	if request.Route == Discovery { // clients ask it before they know where to send a token
		return response{status: http.StatusOK, cache: public, document: h.discovery}, nil
	}
	if request.Route == Guide {
		return h.llms(r), nil
	}
	caller := access.Anyone
	if !h.Open {
		caller = access.Authenticate(r.Header.Values("Authorization"))
	}
	switch request.Route {
	case ModuleVersions:
		return h.moduleVersions(r.Context(), caller, request)
	case ModuleDownload:
		return h.moduleDownload(r.Context(), caller, request, usesGoGetter(r.Header))
	case ModuleNewest:
		return h.moduleNewest(r.Context(), caller, request)
	case ProviderVersions:
		return h.providerVersions(r.Context(), caller, request)
	case ProviderDownload:
		return h.providerDownload(r.Context(), caller, request)
	case MirrorVersions:
		return h.mirrorVersions(r.Context(), caller, request)
	case MirrorVersion:
		return h.mirrorVersion(r.Context(), caller, request)
	case Message:
		return h.assist(r, caller)
	default:
		return h.browse(r, caller, h.asMarkdown(request, r))
	}
}

// browse answers the routes of the public registry's API.
func (h *handler) browse(r *http.Request, caller access.Caller, request Request) (response, error) {
	switch request.Route {
	case ModuleList, ModuleSearch, ModulesOfNamespace, ModuleSystems, ProviderList, ProvidersOfNamespace:
		return h.list(r.Context(), caller, request, r.URL.RawQuery)
	case ModuleDetails:
		return h.moduleDetails(r.Context(), caller, request)
	case ModuleDownloads:
		return h.moduleDownloads(r.Context(), caller, request)
	case ProviderDetails:
		return h.providerDetails(r.Context(), caller, request)
	case ProviderPages:
		return h.providerPages(r.Context(), caller, request)
	case ProviderPage:
		return h.providerPage(r.Context(), caller, request)
	default:
		return response{}, fmt.Errorf("route %d has no answer", request.Route)
	}
}

// decoded is what a reader has read; with an error the zero T.
func decoded[T any](found catalog.Snapshot[*T], err error) (value T, _ error) {
	if err == nil {
		err = found.Decode(&value)
	}
	if err != nil {
		return *new(T), err
	}
	return value, nil
}

// has says whether the handler has what a route needs.
func (h *handler) has(route Route) bool {
	switch route {
	case Discovery, Guide:
		return true
	case Token:
		return h.SignIn != nil
	case Login, LoginCallback, LoginConsent:
		return h.SignIn != nil && h.Login
	case ModuleDownload, ProviderDownload, MirrorVersion:
		return h.Reader != nil && h.Presigner != nil
	case Message:
		return h.Reader != nil && h.Assistant != nil
	case ModuleVersions, ModuleNewest, ProviderVersions, MirrorVersions:
		return h.Reader != nil
	default:
		return h.Reader != nil && h.Browser != nil
	}
}

// failure answers an error, and logs it if it is not the client's.
func (h *handler) failure(r *http.Request, err error) response {
	if errors.Is(err, catalog.ErrUnauthorized) {
		err = h.unauthorized(r.Host, err)
	}
	answer := errorResponse(err)
	clientGone := errors.Is(r.Context().Err(), context.Canceled)
	if answer.status >= http.StatusInternalServerError && !clientGone {
		h.Logger.LogAttrs(r.Context(), slog.LevelError, "request failed",
			slog.String("method", bounded(r.Method)),
			slog.String("path", bounded(r.URL.EscapedPath())),
			slog.Any("error", err))
	}
	return answer
}

// client is a remote address without its port, which a gateway does not give.
func client(remote string) string {
	if host, _, err := net.SplitHostPort(remote); err == nil {
		return host
	}
	return bounded(remote)
}

// bounded cuts what a client sent to a length for a log.
func bounded(s string) string {
	const most = 512
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}
