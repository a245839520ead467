package protocol

import (
	"context"
	"slices"
	"strings"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/browse"
	"github.com/larder-registry/larder/pkg/contents"
	"github.com/larder-registry/larder/pkg/pages"
	"github.com/larder-registry/larder/pkg/registry"
)

// moduleDocument describes a version of a module: a superset of what the public registry says.
type moduleDocument struct {
	listedModule
	Root        partDocument        `json:"root"`
	Submodules  []partDocument      `json:"submodules"`
	Examples    []partDocument      `json:"examples"`
	Providers   []string            `json:"providers"`
	Versions    []string            `json:"versions"`
	Deprecation *deprecatedDocument `json:"deprecation"`
	Larder      moduleExtras        `json:"larder"`
}

// deprecatedDocument is null for a version that is not deprecated.
type deprecatedDocument struct {
	Reason string `json:"reason"`
}

func newDeprecation(s registry.Standing) *deprecatedDocument {
	if s.State != registry.Deprecated {
		return nil
	}
	return &deprecatedDocument{s.Message}
}

// moduleExtras is what Larder says of a module version beyond the public registry's API.
type moduleExtras struct {
	standing
	H1         string   `json:"h1"`
	SHA256     string   `json:"sha256"`
	Size       int64    `json:"size"`
	Format     string   `json:"format"`
	Documented bool     `json:"documented"`
	Problems   []string `json:"problems"`
	// DeprecatedVersions are those of the versions that can be chosen.
	DeprecatedVersions []string `json:"deprecated_versions"`
}

// maxDetails is the longest document of a module or a provider, in bytes: an answer of a Lambda
// function has 6 MB at most, and JSON as it is written there.
const maxDetails = 4 << 20

func (h *handler) moduleDetails(ctx context.Context, caller access.Caller, request Request) (response, error) {
	a := request.Module
	found, err := h.Browser.FindModule(ctx, caller, a, request.Version)
	if err != nil {
		return response{}, missingModule(err, request)
	}
	stored := found.Stored()
	if d, ok := h.kept.get(request, stored).(*document); ok {
		return detailed(d), nil
	}
	m, err := found.Load(ctx)
	if err != nil {
		return response{}, missingModule(err, request)
	}
	d := newModuleDetails(m, request)
	if m.Known { // else its documentation may be read soon
		h.kept.putDetails(request, stored, d)
	}
	return detailed(d), nil
}

// newModuleDetails is a version as it was asked for.
func newModuleDetails(m browse.Module, request Request) *document {
	if request.Markdown {
		return newMarkdown(pages.Module{Host: request.Host, Module: m}.Markdown())
	}
	return newDocument(moduleBody(m))
}

// detailed answers with a document that is there in two kinds.
func detailed(d *document) response {
	answer := whole(d)
	answer.header[0] = field{"Vary", varyAccept}
	return answer
}

// missingModule says that a version is not there, or where no version was named, the module.
func missingModule(err error, request Request) error {
	if request.Version == (registry.Version{}) {
		return orMissing(err, "there is no module %s", request.Module)
	}
	return orMissing(err, "module %s has no version %s", request.Module, request.Version)
}

// moduleDownloads has no numbers yet: nobody counts downloads.
func (h *handler) moduleDownloads(ctx context.Context, caller access.Caller, request Request) (response, error) {
	found, err := h.Reader.Listing(ctx, caller, request.Module)
	d, err := made(h.kept, request, found, err, func(registry.Listing) (*document, error) {
		return newDocument(encode(downloadsDocument{downloadsData{
			Type: "module-downloads-summary", ID: request.Module.String(),
		}})), nil
	})
	if err != nil {
		return response{}, orMissing(err, "there is no module %s", request.Module)
	}
	return whole(d), nil
}

// downloadsDocument counts the downloads of a module.
type downloadsDocument struct {
	Data downloadsData `json:"data"`
}

type downloadsData struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	Attributes struct {
		Week  int `json:"week"`
		Month int `json:"month"`
		Year  int `json:"year"`
		Total int `json:"total"`
	} `json:"attributes"`
}

// moduleBody is the document of a version. If it would be too long, READMEs are left out, those
// of examples first, and at last all of the examples and submodules but their names. A problem
// says so.
func moduleBody(m browse.Module) []byte {
	document := newModuleDocument(m)
	body := encode(document)
	for _, step := range shortenings {
		if len(body) <= maxDetails {
			break
		}
		step.shorten(&document)
		document.Larder.Problems = append(document.Larder.Problems, step.says)
		body = encode(document)
	}
	return body
}

// shortenings are how a long document becomes shorter, one after the other.
var shortenings = []struct {
	says    string
	shorten func(*moduleDocument)
}{
	{"The READMEs of the examples are left out here: the answer would be too long.", func(d *moduleDocument) { withoutReadmes(d.Examples) }},
	{"The READMEs of the submodules are left out here: the answer would be too long.", func(d *moduleDocument) { withoutReadmes(d.Submodules) }},
	{"The examples have only their names here: the answer would be too long.", func(d *moduleDocument) { onlyNames(d.Examples) }},
	{"The submodules have only their names here: the answer would be too long.", func(d *moduleDocument) { onlyNames(d.Submodules) }},
	{"The module itself is left out here: the answer would be too long.", func(d *moduleDocument) { d.Root = newPart(contents.Part{Empty: true}) }},
}

func withoutReadmes(parts []partDocument) {
	for i := range parts {
		parts[i].Readme = ""
	}
}

func onlyNames(parts []partDocument) {
	for i, p := range parts {
		parts[i] = newPart(contents.Part{Path: p.Path, Name: p.Name, Empty: p.Empty})
	}
}

func newModuleDocument(m browse.Module) moduleDocument {
	a, state := m.State.Address, m.State
	return moduleDocument{
		listedModule: newListedModule(a, state.Version, state.Archive.Source, m.Description(), m.Published()),
		Root:         newPart(m.Contents.Root),
		Submodules:   newParts(m.Contents.Submodules),
		Examples:     newParts(m.Contents.Examples),
		Providers:    []string{a.System},
		Versions:     offered(m.Listing),
		Deprecation:  newDeprecation(state.Standing),
		Larder: moduleExtras{
			standing: newStanding(state.Standing), H1: state.Archive.H1, SHA256: state.Archive.SHA256,
			Size: state.Archive.Size, Format: state.Archive.Format, Documented: m.Known,
			Problems: append([]string{}, m.Contents.Problems...), DeprecatedVersions: deprecated(m.Listing),
		},
	}
}

// partDocument is the root of a module, a submodule or an example.
type partDocument struct {
	Path                 string               `json:"path"`
	Name                 string               `json:"name"`
	Readme               string               `json:"readme"`
	Empty                bool                 `json:"empty"`
	Inputs               []inputDocument      `json:"inputs"`
	Outputs              []outputDocument     `json:"outputs"`
	Dependencies         []dependency         `json:"dependencies"`
	ProviderDependencies []providerDependency `json:"provider_dependencies"`
	Resources            []resourceDocument   `json:"resources"`
	Larder               partExtras           `json:"larder"`
}

// partExtras is what is declared beside managed resources, which alone are the resources of the
// public registry's API.
type partExtras struct {
	DataSources        []resourceDocument `json:"data_sources"`
	EphemeralResources []resourceDocument `json:"ephemeral_resources"`
	Actions            []resourceDocument `json:"actions"`
	Versions           []string           `json:"versions"` // constraints on Terraform or OpenTofu
}

// inputDocument is an input variable. Its default is a string with JSON in it: clients read
// nothing else.
type inputDocument struct {
	Name        string       `json:"name"`
	Type        string       `json:"type"`
	Description string       `json:"description"`
	Default     string       `json:"default"`
	Required    bool         `json:"required"`
	Larder      *inputExtras `json:"larder,omitempty"`
}

// inputExtras is left out if an input has nothing of it.
type inputExtras struct {
	Sensitive   bool                 `json:"sensitive,omitempty"`
	Ephemeral   bool                 `json:"ephemeral,omitempty"`
	NotNullable bool                 `json:"not_nullable,omitempty"`
	Deprecated  string               `json:"deprecated,omitempty"`
	Validations []validationDocument `json:"validations,omitempty"`
}

type validationDocument struct {
	Condition string `json:"condition"`
	Message   string `json:"message"`
}

type outputDocument struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Larder      *outputExtras `json:"larder,omitempty"`
}

// outputExtras is left out if an output has nothing of it.
type outputExtras struct {
	Sensitive  bool   `json:"sensitive,omitempty"`
	Ephemeral  bool   `json:"ephemeral,omitempty"`
	Deprecated string `json:"deprecated,omitempty"`
}

// dependency is a call of another module.
type dependency struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Version string `json:"version"`
}

type providerDependency struct {
	Name      string                   `json:"name"`
	Namespace string                   `json:"namespace"`
	Source    string                   `json:"source"`
	Version   string                   `json:"version"`
	Larder    *providerDependencyExtra `json:"larder,omitempty"`
}

type providerDependencyExtra struct {
	Aliases []string `json:"aliases"`
}

type resourceDocument struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func newParts(parts []contents.Part) []partDocument {
	return each(parts, newPart)
}

func newPart(p contents.Part) partDocument {
	return partDocument{
		Path: p.Path, Name: p.Name, Readme: p.Readme, Empty: p.Empty,
		Inputs: each(p.Inputs, newInput), Outputs: each(p.Outputs, newOutput),
		Dependencies:         each(p.Calls, func(c contents.Call) dependency { return dependency(c) }),
		ProviderDependencies: each(p.Providers, newProviderDependency),
		Resources:            ofMode(p.Resources, contents.Managed),
		Larder: partExtras{
			DataSources: ofMode(p.Resources, contents.Data), EphemeralResources: ofMode(p.Resources, contents.Ephemeral),
			Actions: ofMode(p.Resources, contents.Action), Versions: append([]string{}, p.Versions...),
		},
	}
}

func newInput(in contents.Input) inputDocument {
	d := inputDocument{Name: in.Name, Type: in.Type, Description: in.Description, Default: in.Default, Required: in.Required}
	if in.Sensitive || in.Ephemeral || in.NotNullable || in.Deprecated != "" || len(in.Validations) > 0 {
		d.Larder = &inputExtras{in.Sensitive, in.Ephemeral, in.NotNullable, in.Deprecated,
			each(in.Validations, func(v contents.Validation) validationDocument { return validationDocument(v) })}
	}
	return d
}

func newOutput(out contents.Output) outputDocument {
	d := outputDocument{Name: out.Name, Description: out.Description}
	if out.Sensitive || out.Ephemeral || out.Deprecated != "" {
		d.Larder = &outputExtras{out.Sensitive, out.Ephemeral, out.Deprecated}
	}
	return d
}

// newProviderDependency has the namespace of the provider's source, which is
// [hostname/]namespace/type.
func newProviderDependency(r contents.Requirement) providerDependency {
	d := providerDependency{Name: r.Name, Source: r.Source, Version: strings.Join(r.Versions, ", ")}
	if parts := strings.Split(r.Source, "/"); len(parts) >= 2 {
		d.Namespace = parts[len(parts)-2]
	}
	if len(r.Aliases) > 0 {
		d.Larder = &providerDependencyExtra{slices.Clone(r.Aliases)}
	}
	return d
}

// ofMode is the resources of a mode.
func ofMode(resources []contents.Resource, mode contents.ResourceMode) []resourceDocument {
	list := []resourceDocument{}
	for _, r := range resources {
		if r.Mode == mode {
			list = append(list, resourceDocument{r.Name, r.Type})
		}
	}
	return list
}

// each is what becomes of the elements of a list. It is not nil: clients read a null otherwise.
func each[T, U any](list []T, of func(T) U) []U {
	to := make([]U, len(list))
	for i, element := range list {
		to[i] = of(element)
	}
	return to
}
