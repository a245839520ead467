package protocol

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// listMeta says which part of a list an answer is.
type listMeta struct {
	Limit   int    `json:"limit"`
	Current int    `json:"current_offset"`
	Next    *int   `json:"next_offset,omitempty"` // none: this is the last part
	NextURL string `json:"next_url,omitempty"`
}

type moduleList struct {
	Meta    listMeta      `json:"meta"`
	Modules []moduleEntry `json:"modules"`
	Larder  listExtras    `json:"larder"`
}

type providerList struct {
	Meta      listMeta        `json:"meta"`
	Providers []providerEntry `json:"providers"`
	Larder    listExtras      `json:"larder"`
}

// listExtras is what Larder says of a list beyond the public registry's API.
type listExtras struct {
	Total int `json:"total"` // how many there are that the caller may read
}

// listedModule is a module as lists and details have it. The field names are those of the
// public registry, where a module's system is its provider.
type listedModule struct {
	ID          string `json:"id"`
	Owner       string `json:"owner"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Provider    string `json:"provider"`
	Description string `json:"description"`

	// Source is there even if it is empty: clients rely on the field.
	Source    string `json:"source"`
	Tag       string `json:"tag"`
	Published string `json:"published_at,omitempty"` // left out if it is not known: clients read it as a time
	Downloads int    `json:"downloads"`
	Verified  bool   `json:"verified"`
}

// moduleEntry is a module in a list.
type moduleEntry struct {
	listedModule
	Larder entryExtras `json:"larder"`
}

func newListedModule(a registry.ModuleAddress, v registry.Version, source, description string, published time.Time) listedModule {
	return listedModule{
		ID: a.String() + "/" + v.String(), Owner: a.Namespace, Namespace: a.Namespace, Name: a.Name, Provider: a.System,
		Version: v.String(), Source: source, Description: description, Published: timestamp(published),
	}
}

// listedProvider is a provider as lists and details have it. Its name is its type.
type listedProvider struct {
	ID          string `json:"id"`
	Owner       string `json:"owner"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Source      string `json:"source"`
	Tag         string `json:"tag"`
	Published   string `json:"published_at,omitempty"`
	Downloads   int    `json:"downloads"`
}

// providerEntry is a provider in a list.
type providerEntry struct {
	listedProvider
	Larder entryExtras `json:"larder"`
}

func newListedProvider(a registry.ProviderAddress, v registry.Version, source, description string, published time.Time) listedProvider {
	return listedProvider{
		ID: a.String() + "/" + v.String(), Owner: a.Namespace, Namespace: a.Namespace, Name: a.Type,
		Version: v.String(), Source: source, Description: description, Published: timestamp(published),
	}
}

// timestamp is a time as the API has it, or "" if it is not known.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// entryExtras is what Larder says of an entry of a list.
type entryExtras struct {
	standing
	Versions int `json:"versions"` // how many can be chosen
}

// standing is what became of a version: it is listed, deprecated or withdrawn, and its
// publisher may have said why.
type standing struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

func newStanding(s registry.Standing) standing {
	return standing{cmp.Or(string(s.State), "listed"), s.Message}
}

// list answers the routes of lists. Their answers depend on the caller and are not kept.
func (h *handler) list(ctx context.Context, caller access.Caller, request Request, query string) (response, error) {
	p, err := parseParameters(query)
	if err != nil {
		return response{}, err
	}
	if request.Route == ModuleSearch && p.text == "" {
		return response{}, refuse(ErrMalformed, "q is missing: write what to look for, as in %ssearch?q=network", modulesPath)
	}
	page, err := h.Browser.List(ctx, caller, p.query(request.listed()))
	if err != nil {
		return response{}, err
	}
	if p.verified { // the public registry verifies some publishers; nobody does that here
		page = directory.Page{}
	}
	meta := listMeta{Limit: p.limit, Current: p.offset}
	if next := p.offset + p.limit; next < page.Total && next <= maxOffset {
		meta.Next, meta.NextURL = &next, request.listPath()+"?"+p.next()
	}
	return whole(newDocument(encode(listBody(request, meta, page)))), nil
}

// listed is what a list's path asks for.
func (r Request) listed() directory.Query {
	if r.isOfProviders() {
		return directory.Query{Folder: registry.Providers, Namespace: r.Provider.Namespace}
	}
	return directory.Query{Folder: registry.Modules, Namespace: r.Module.Namespace, Name: r.Module.Name}
}

func (r Request) isOfProviders() bool {
	return r.Route == ProviderList || r.Route == ProvidersOfNamespace
}

// listPath is the path of a list.
func (r Request) listPath() string {
	switch r.Route {
	case ModuleSearch:
		return modulesPath + "search"
	case ModulesOfNamespace:
		return modulesPath + r.Module.Namespace
	case ModuleSystems:
		return modulesPath + r.Module.Namespace + "/" + r.Module.Name
	case ProviderList:
		return providersPath[:len(providersPath)-1]
	case ProvidersOfNamespace:
		return providersPath + r.Provider.Namespace
	default:
		return modulesPath[:len(modulesPath)-1]
	}
}

// listBody has no null for an empty list.
func listBody(request Request, meta listMeta, page directory.Page) any {
	extras := listExtras{page.Total}
	modules, providers := make([]moduleEntry, 0, len(page.Entries)), make([]providerEntry, 0, len(page.Entries))
	for _, e := range page.Entries {
		more := entryExtras{newStanding(e.Standing), e.Versions}
		switch a := e.Address.(type) {
		case registry.ModuleAddress:
			modules = append(modules, moduleEntry{newListedModule(a, e.Newest, e.Source, e.Description, e.Published), more})
		case registry.ProviderAddress:
			providers = append(providers, providerEntry{newListedProvider(a, e.Newest, e.Source, e.Description, e.Published), more})
		}
	}
	if request.isOfProviders() {
		return providerList{meta, providers, extras}
	}
	return moduleList{meta, modules, extras}
}

// whole answers with a document that has no presigned URL.
func whole(d *document) response {
	return response{status: http.StatusOK, cache: revalidate, document: d}
}
