package protocol

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/registry"
)

// Route is a kind of request.
type Route int

// The routes, each with its statuses beside 400 and 405, and 401 for those that
// read the catalog. HEAD is answered wherever GET is.
const (
	// Discovery says where the services are. It is for everybody.
	//
	//	GET /.well-known/terraform.json
	//	200
	//
	// https://developer.hashicorp.com/terraform/internals/remote-service-discovery#discovery-process
	Discovery Route = iota + 1

	// ModuleVersions lists the versions of a module.
	//
	//	GET /v1/modules/{namespace}/{name}/{system}/versions
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/internals/module-registry-protocol#list-available-versions-for-a-specific-module
	ModuleVersions

	// ModuleDownload says where the archive of a module version is.
	//
	//	GET /v1/modules/{namespace}/{name}/{system}/{version}/download
	//	204 with X-Terraform-Get, 404
	//
	// https://developer.hashicorp.com/terraform/internals/module-registry-protocol#download-source-code-for-a-specific-module-version
	ModuleDownload

	// ModuleNewest redirects to the download of a module's newest version.
	//
	//	GET /v1/modules/{namespace}/{name}/{system}/download
	//	302 with Location, 404
	//
	// https://developer.hashicorp.com/terraform/registry/api-docs#download-the-latest-version-of-a-module
	ModuleNewest

	// ProviderVersions lists the versions of a provider.
	//
	//	GET /v1/providers/{namespace}/{type}/versions
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/internals/provider-registry-protocol#list-available-versions
	ProviderVersions

	// ProviderDownload says where a provider's package for a platform is, with
	// the hash, the signature and the keys to check it.
	//
	//	GET /v1/providers/{namespace}/{type}/{version}/download/{os}/{arch}
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/internals/provider-registry-protocol#find-a-provider-package
	ProviderDownload

	// MirrorVersions lists the versions of a mirrored provider.
	//
	//	GET /v1/mirror/{hostname}/{namespace}/{type}/index.json
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/internals/provider-network-mirror-protocol#list-available-versions
	MirrorVersions

	// MirrorVersion says where the packages of one of them are, with their hashes.
	//
	//	GET /v1/mirror/{hostname}/{namespace}/{type}/{version}.json
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/internals/provider-network-mirror-protocol#list-available-installation-packages
	MirrorVersion

	// Guide says to assistants what the registry is, and how to ask it. It is for everybody.
	//
	//	GET /llms.txt
	//	200
	//
	// https://llmstxt.org/
	Guide

	// Message is a message of an assistant, in the Model Context Protocol.
	//
	//	POST /mcp
	//	200, 202, 403, 404, 413, 415
	//
	// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
	Message

	// Token gives a token for a code of login, or for the identity of a
	// pipeline.
	//
	//	POST /v1/token
	//	200, 413, 503
	//
	// https://developer.hashicorp.com/terraform/internals/login-protocol and RFC 8693
	Token

	// Login begins to log a person in, for a client on the same computer.
	//
	//	GET /v1/login
	//	302, 503
	//
	// https://developer.hashicorp.com/terraform/internals/login-protocol
	Login

	// LoginCallback is where the provider of identities sends the person back to.
	//
	//	GET /v1/login/callback
	//	200, 403, 503
	LoginCallback

	// LoginConsent is where the person allows the client to have a token.
	//
	//	POST /v1/login/consent
	//	200, 303, 413, 503
	LoginConsent

	// ModuleList lists modules, each by its newest version. Like all lists it is in parts:
	// offset and limit say which, and meta of the answer which is next.
	//
	//	GET /v1/modules
	//	200
	//
	// https://developer.hashicorp.com/terraform/registry/api-docs#list-modules
	ModuleList

	// ModuleSearch lists the modules that fit to q, the best first. The namespace search is
	// an ordinary one on all other routes; its own list is a search with ?namespace=search.
	//
	//	GET /v1/modules/search
	//	200
	//
	// https://developer.hashicorp.com/terraform/registry/api-docs#search-modules
	ModuleSearch

	// ModulesOfNamespace lists the modules of a namespace.
	//
	//	GET /v1/modules/{namespace}
	//	200
	ModulesOfNamespace

	// ModuleSystems lists the modules of one name, each for another system.
	//
	//	GET /v1/modules/{namespace}/{name}
	//	200
	//
	// https://developer.hashicorp.com/terraform/registry/api-docs#list-latest-version-of-module-for-all-providers
	ModuleSystems

	// ModuleDetails describes a module version, or the newest one of a module.
	//
	//	GET /v1/modules/{namespace}/{name}/{system}
	//	GET /v1/modules/{namespace}/{name}/{system}/{version}
	//	200, 404
	//
	// https://developer.hashicorp.com/terraform/registry/api-docs#get-a-specific-module
	ModuleDetails

	// ModuleDownloads counts the downloads of a module.
	//
	//	GET /v1/modules/{namespace}/{name}/{system}/downloads/summary
	//	200, 404
	ModuleDownloads

	// ProviderList lists providers, each by its newest version. With q it is a search.
	//
	//	GET /v1/providers
	//	200
	ProviderList

	// ProvidersOfNamespace lists the providers of a namespace.
	//
	//	GET /v1/providers/{namespace}
	//	200
	ProvidersOfNamespace

	// ProviderDetails describes a provider version, or the newest one of a provider. It is
	// not documented; the public registry has it, and clients ask for it.
	//
	//	GET /v1/providers/{namespace}/{type}
	//	GET /v1/providers/{namespace}/{type}/{version}
	//	200, 404
	ProviderDetails

	// ProviderPages is the index of a provider version's documentation.
	//
	//	GET /v1/providers/{namespace}/{type}/{version}/docs
	//	200, 404
	ProviderPages

	// ProviderPage is one page of it.
	//
	//	GET /v1/providers/{namespace}/{type}/{version}/docs/{category}/{slug}
	//	200, 404
	ProviderPage
)

// signsIn says whether a route is of login or of tokens.
func (r Route) signsIn() bool {
	return r == Token || r == Login || r == LoginCallback || r == LoginConsent
}

// Request is what a client asks for.
type Request struct {
	Route    Route
	Module   registry.ModuleAddress   // on the routes of modules
	Provider registry.ProviderAddress // on the routes of providers, and on those of the mirror with a hostname
	Version  registry.Version         // on the routes of one version; zero for the newest
	Platform registry.Platform        // on [ProviderDownload]

	// On [ProviderPage].
	Category contents.Category
	Slug     string

	// Markdown asks for the document as a page, on [ModuleDetails], [ProviderDetails] and
	// [ProviderPage]. Then Host is that of the registry.
	Markdown bool
	Host     string
}

// maxPath is the longest path that is read, in bytes. The longest address has some 400,
// and three times as many if every letter is percent-encoded.
const maxPath = 2048

const (
	discoveryPath = "/.well-known/terraform.json"
	modulesRoot   = "/v1/modules"
	modulesPath   = modulesRoot + "/"
	providersRoot = "/v1/providers"
	providersPath = providersRoot + "/"
	mirrorPath    = "/v1/mirror/"
	guidePath     = "/llms.txt"
	messagePath   = "/mcp"
)

// The paths of the routes of login and of tokens.
const (
	TokenPath         = "/v1/token"
	LoginPath         = "/v1/login"
	LoginCallbackPath = "/v1/login/callback"
	LoginConsentPath  = "/v1/login/consent"
)

var routes = []route{
	newRoute(discoveryPath, plain(Discovery)),
	newRoute(modulesPath+"{namespace}/{name}/{system}/versions", parseModuleOf(ModuleVersions)),
	newRoute(modulesPath+"{namespace}/{name}/{system}/download", parseModuleOf(ModuleNewest)),
	newRoute(modulesPath+"{namespace}/{name}/{system}/{version}", orMarkdown(4, parseModuleVersion(ModuleDetails))),
	newRoute(modulesPath+"{namespace}/{name}/{system}/{version}/download", parseModuleVersion(ModuleDownload)),
	newRoute(providersPath+"{namespace}/{type}/versions", parseProviderOf(ProviderVersions)),
	newRoute(providersPath+"{namespace}/{type}/{version}", orMarkdown(3, parseProviderVersion(ProviderDetails))),
	newRoute(providersPath+"{namespace}/{type}/{version}/download/{os}/{arch}", parseProviderDownload),
	newRoute(mirrorPath+"{hostname}/{namespace}/{type}/index.json", parseMirrorVersions),
	newRoute(mirrorPath+"{hostname}/{namespace}/{type}/{version}.json", parseMirrorVersion),
	newRoute(modulesRoot, plain(ModuleList)),
	newRoute(modulesPath+"search", plain(ModuleSearch)),
	newRoute(modulesPath+"{namespace}", parseModulesOf(ModulesOfNamespace)),
	newRoute(modulesPath+"{namespace}/{name}", parseModulesOf(ModuleSystems)),
	newRoute(modulesPath+"{namespace}/{name}/{system}", orMarkdown(3, parseModuleOf(ModuleDetails))),
	newRoute(modulesPath+"{namespace}/{name}/{system}/downloads/summary", parseModuleOf(ModuleDownloads)),
	newRoute(providersRoot, plain(ProviderList)),
	newRoute(providersPath+"{namespace}", parseProvidersOf),
	newRoute(providersPath+"{namespace}/{type}", orMarkdown(2, parseProviderOf(ProviderDetails))),
	newRoute(providersPath+"{namespace}/{type}/{version}/docs", parseProviderVersion(ProviderPages)),
	newRoute(providersPath+"{namespace}/{type}/{version}/docs/{category}/{slug}", orMarkdown(5, parseProviderPage)),
	newRoute(guidePath, plain(Guide)),
	newRoute(messagePath, plain(Message)).posted(),
	newRoute(TokenPath, plain(Token)).posted(),
	newRoute(LoginPath, plain(Login)),
	newRoute(LoginCallbackPath, plain(LoginCallback)),
	newRoute(LoginConsentPath, plain(LoginConsent)).posted(),
}

// Parse reads a request from its method and its path as it was sent, still
// percent-encoded. The path is not cleaned: a trailing slash makes another path.
//
// Errors: [ErrMalformed] for a path that cannot be an address, whatever is published;
// [registry.ErrNotFound] for a path without a route; [ErrMethod].
func Parse(method, escapedPath string) (Request, error) {
	if len(escapedPath) > maxPath {
		return Request{}, refuse(registry.ErrNotFound, "the path is longer than any address here")
	}
	var some [maxSegments]string
	segments, err := splitPath(escapedPath, some[:0])
	if err != nil {
		return Request{}, err
	}
	for i := range routes {
		route := &routes[i]
		args, ok := route.match(segments)
		if !ok {
			continue
		}
		if !slices.Contains(route.methods, method) {
			return Request{}, &methodError{route.methods}
		}
		return route.parse(args)
	}
	return Request{}, nothingAt(escapedPath)
}

func nothingAt(escapedPath string) error {
	return refuse(registry.ErrNotFound, "there is nothing at %s", escapedPath)
}

// splitPath appends the segments of a path, each of them unescaped once, including the one
// before the first slash.
func splitPath(escapedPath string, to []string) ([]string, error) {
	for escaped := range strings.SplitSeq(escapedPath, "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil || !wellFormed(segment) {
			return nil, refuse(ErrMalformed, "%q cannot be part of an address", escaped)
		}
		to = append(to, segment)
	}
	return to, nil
}

// wellFormed says whether a segment can be a name. It cannot if it could lead elsewhere, or
// if people could misread it.
func wellFormed(segment string) bool {
	return utf8.ValidString(segment) && segment != "." && segment != ".." &&
		!strings.ContainsFunc(segment, func(c rune) bool { return c == '/' || c == '\\' || unicode.IsControl(c) })
}

// The most segments and arguments of a route.
const (
	maxSegments  = 9
	maxArguments = 5
)

// arguments are those of a path. They are handed on as a value: so to parse a path makes no
// garbage.
type arguments [maxArguments]string

// route is a path with places for arguments, and the function that parses these.
type route struct {
	segments []string // "" before the first slash; an argument begins with a brace; parse checks how it ends
	parse    func(args arguments) (Request, error)
	methods  []string
}

func newRoute(path string, parse func(args arguments) (Request, error)) route {
	return route{strings.Split(path, "/"), parse, []string{http.MethodGet, http.MethodHead}}
}

// posted is the route for POST alone.
func (r route) posted() route {
	r.methods = []string{http.MethodPost}
	return r
}

// match is the arguments in a path, none of them empty.
func (r *route) match(segments []string) (args arguments, ok bool) {
	if len(segments) != len(r.segments) {
		return args, false
	}
	found := 0
	for i, want := range r.segments {
		switch {
		case !strings.HasPrefix(want, "{"):
			if segments[i] != want {
				return args, false
			}
		case segments[i] == "":
			return args, false
		default:
			args[found] = segments[i]
			found++
		}
	}
	return args, true
}

// plain is a route without arguments.
func plain(r Route) func(arguments) (Request, error) {
	return func(arguments) (Request, error) { return Request{Route: r}, nil }
}

// parseModuleOf is for the routes of a module.
func parseModuleOf(route Route) func(args arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		a, err := parseModule(args[0], args[1], args[2])
		if err != nil {
			return Request{}, err
		}
		return Request{Route: route, Module: a}, nil
	}
}

// parseModulesOf is for lists of the modules of a namespace, or of one name. The rest of the
// address is not asked for.
func parseModulesOf(route Route) func(args arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		const anything = "anything"
		a, err := registry.ParseModuleAddress(args[0], cmp.Or(args[1], anything), anything)
		if err != nil {
			return Request{}, refuse(registry.ErrNotFound, "%q cannot be the start of a module address <namespace>/<name>/<system>", strings.TrimSuffix(args[0]+"/"+args[1], "/"))
		}
		a.System = ""
		if args[1] == "" {
			a.Name = ""
		}
		return Request{Route: route, Module: a}, nil
	}
}

// parseModuleVersion is for the routes of one version of a module.
func parseModuleVersion(route Route) func(args arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		a, err := parseModule(args[0], args[1], args[2])
		if err != nil {
			return Request{}, err
		}
		v, err := registry.LookupVersion(args[3])
		if err != nil {
			return Request{}, refuse(registry.ErrNotFound, "module %s has no version %q", a, args[3])
		}
		return Request{Route: route, Module: a, Version: v}, nil
	}
}

// parseProviderOf is for the routes of a provider.
func parseProviderOf(route Route) func(args arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		a, err := parseProvider(args[0], args[1])
		if err != nil {
			return Request{}, err
		}
		return Request{Route: route, Provider: a}, nil
	}
}

// parseProvidersOf is for the list of the providers of a namespace.
func parseProvidersOf(args arguments) (Request, error) {
	a, err := registry.ParseProviderAddress(args[0], "any")
	if err != nil {
		return Request{}, refuse(registry.ErrNotFound, "%q is not the namespace of a provider, in lower case", args[0])
	}
	a.Type = ""
	return Request{Route: ProvidersOfNamespace, Provider: a}, nil
}

// parseProviderVersion is for the routes of one version of a provider.
func parseProviderVersion(route Route) func(args arguments) (Request, error) {
	return func(args arguments) (Request, error) {
		a, err := parseProvider(args[0], args[1])
		if err != nil {
			return Request{}, err
		}
		v, err := registry.LookupVersion(args[2])
		if err != nil {
			return Request{}, refuse(registry.ErrNotFound, "provider %s has no version %q", a, args[2])
		}
		return Request{Route: route, Provider: a, Version: v}, nil
	}
}

// parseProviderPage is for one page of one version.
func parseProviderPage(args arguments) (Request, error) {
	r, err := parseProviderVersion(ProviderPage)(args)
	if err != nil {
		return Request{}, err
	}
	r.Category, r.Slug = contents.Category(args[3]), args[4]
	return r, nil
}

func parseProviderDownload(args arguments) (Request, error) {
	a, err := parseProvider(args[0], args[1])
	if err != nil {
		return Request{}, err
	}
	v, err := registry.LookupVersion(args[2])
	if err != nil {
		return Request{}, refuse(registry.ErrNotFound, "provider %s has no version %q", a, args[2])
	}
	platform, err := registry.ParsePlatform(args[3], args[4])
	if err != nil {
		return Request{}, refuse(registry.ErrNotFound, "%q is not a platform such as linux_amd64, in lower case", args[3]+"_"+args[4])
	}
	return Request{Route: ProviderDownload, Provider: a, Version: v, Platform: platform}, nil
}

func parseMirrorVersions(args arguments) (Request, error) {
	a, err := parseMirrored(args[0], args[1], args[2])
	if err != nil {
		return Request{}, err
	}
	return Request{Route: MirrorVersions, Provider: a}, nil
}

func parseMirrorVersion(args arguments) (Request, error) {
	a, err := parseMirrored(args[0], args[1], args[2])
	if err != nil {
		return Request{}, err
	}
	text, ok := strings.CutSuffix(args[3], ".json")
	v, err := registry.LookupVersion(text)
	if !ok || err != nil {
		return Request{}, refuse(registry.ErrNotFound, "there is no version %q of %s", args[3], a)
	}
	return Request{Route: MirrorVersion, Provider: a, Version: v}, nil
}

func parseMirrored(hostname, namespace, typ string) (registry.ProviderAddress, error) {
	a, err := registry.ParseMirroredAddress(hostname, namespace, typ)
	if err != nil {
		return a, refuse(registry.ErrNotFound, "%q is not the address <hostname>/<namespace>/<type> of a provider that can be mirrored", hostname+"/"+namespace+"/"+typ)
	}
	return a, nil
}

func parseModule(namespace, name, system string) (registry.ModuleAddress, error) {
	a, err := registry.ParseModuleAddress(namespace, name, system)
	if err != nil {
		return a, refuse(registry.ErrNotFound, "%q is not a module address <namespace>/<name>/<system>", namespace+"/"+name+"/"+system)
	}
	return a, nil
}

func parseProvider(namespace, typ string) (registry.ProviderAddress, error) {
	a, err := registry.ParseProviderAddress(namespace, typ)
	if err != nil {
		return a, refuse(registry.ErrNotFound, "%q is not a provider address <namespace>/<type>, in lower case", namespace+"/"+typ)
	}
	return a, nil
}
