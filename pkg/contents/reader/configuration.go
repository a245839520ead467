package reader

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"github.com/hashicorp/terraform-config-inspect/tfconfig"

	"github.com/larder-registry/larder/pkg/contents"
)

// A configuration is what the files of one folder say.
type configuration struct {
	dir       string // in the archive
	problem   func(string)
	module    *tfconfig.Module
	inputs    map[string]*contents.Input  // what the library does not read of them
	outputs   map[string]*contents.Output // likewise
	resources map[contents.Resource]bool  // of modes that the library does not know
	implied   map[string]bool             // names of the providers of these resources
}

func newConfiguration(dir string, problem func(string)) *configuration {
	return &configuration{
		dir: dir, problem: problem, module: tfconfig.NewModule(dir),
		inputs: map[string]*contents.Input{}, outputs: map[string]*contents.Output{},
		resources: map[contents.Resource]bool{}, implied: map[string]bool{},
	}
}

// load reads one file. Whatever goes wrong in it, the next one is still read.
func (c *configuration) load(base string, data []byte) {
	complaints := newComplaints(c.dir, base, c.problem)
	defer complaints.end()
	defer func() {
		if recover() != nil {
			complaints.add(0, "The reader broke off in this file: something in it is beyond it.")
		}
	}()
	if isDeep(data) {
		complaints.add(0, "The file is nested too deeply, and is not read.")
		return
	}
	var file *hcl.File
	var diagnostics hcl.Diagnostics
	if strings.HasSuffix(base, ".json") {
		file, diagnostics = hcljson.Parse(data, base)
	} else {
		file, diagnostics = hclsyntax.ParseConfig(data, base, hcl.InitialPos)
	}
	complaints.addAll(diagnostics)
	if file == nil || file.Body == nil {
		return
	}
	before := c.overridden(base)
	body := guarded{file.Body, file.Bytes, "", complaints}
	complaints.addAll(tfconfig.LoadModuleFromFile(&hcl.File{Body: body, Bytes: file.Bytes}, c.module))
	c.merge(before)
	c.loadRest(file)
}

// overridden returns what a file that overrides others may change, and nil for other files.
// The library puts the new block in the place of the old one; the clients merge them.
func (c *configuration) overridden(base string) *tfconfig.Module {
	if !isOverride(base) {
		return nil
	}
	before := tfconfig.NewModule(c.dir)
	before.Variables, before.Outputs, before.ModuleCalls = maps.Clone(c.module.Variables), maps.Clone(c.module.Outputs), maps.Clone(c.module.ModuleCalls)
	return before
}

// merge gives what was overridden the arguments that it had before and has no more.
func (c *configuration) merge(before *tfconfig.Module) {
	if before == nil {
		return
	}
	for name, old := range before.Variables {
		if now := c.module.Variables[name]; now != old {
			now.Type, now.Description = cmp.Or(now.Type, old.Type), cmp.Or(now.Description, old.Description)
			now.Deprecated, now.Sensitive = cmp.Or(now.Deprecated, old.Deprecated), now.Sensitive || old.Sensitive
		}
	}
	for name, old := range before.Outputs {
		if now := c.module.Outputs[name]; now != old {
			now.Description, now.Deprecated = cmp.Or(now.Description, old.Description), cmp.Or(now.Deprecated, old.Deprecated)
			now.Sensitive = now.Sensitive || old.Sensitive
		}
	}
	for name, old := range before.ModuleCalls {
		if now := c.module.ModuleCalls[name]; now != old {
			now.Source, now.Version = cmp.Or(now.Source, old.Source), cmp.Or(now.Version, old.Version)
		}
	}
}

// fill puts what was read into a part.
func (c *configuration) fill(p *contents.Part) {
	t := texts{c.dir, c.problem}
	for _, name := range sorted(t, "inputs", c.module.Variables) {
		p.Inputs = append(p.Inputs, c.input(t, name))
	}
	for _, name := range sorted(t, "outputs", c.module.Outputs) {
		p.Outputs = append(p.Outputs, c.output(t, name))
	}
	for _, name := range sorted(t, "module calls", c.module.ModuleCalls) {
		call := c.module.ModuleCalls[name]
		where := fmt.Sprintf("the module call %q", name)
		p.Calls = append(p.Calls, contents.Call{
			Name: t.cut(call.Name, "name", where), Source: t.cut(call.Source, "source", where), Version: t.cut(call.Version, "version", where),
		})
	}
	p.Resources = c.allResources(t)
	p.Providers = c.providers(t)
	for _, version := range t.bound("version constraints", c.module.RequiredCore) {
		p.Versions = append(p.Versions, t.cut(version, "required_version", "the configuration"))
	}
}

func (c *configuration) input(t texts, name string) contents.Input {
	v, where := c.module.Variables[name], fmt.Sprintf("the input %q", name)
	var in contents.Input
	if more := c.inputs[name]; more != nil {
		in = *more
	} else {
		in.Required = true
	}
	in.Name = t.cut(name, "name", where)
	in.Type = t.cut(cmp.Or(v.Type, "any"), "type", where)
	in.Description = t.cut(v.Description, "description", where)
	in.Deprecated = t.cut(v.Deprecated, "deprecation", where)
	in.Sensitive = v.Sensitive
	in.Default = t.whole(in.Default, "default", where)
	in.Validations = t.validations(in.Validations, where)
	return in
}

func (c *configuration) output(t texts, name string) contents.Output {
	o, where := c.module.Outputs[name], fmt.Sprintf("the output %q", name)
	var out contents.Output
	if more := c.outputs[name]; more != nil {
		out = *more
	}
	out.Name = t.cut(name, "name", where)
	out.Description = t.cut(o.Description, "description", where)
	out.Deprecated = t.cut(o.Deprecated, "deprecation", where)
	out.Sensitive = o.Sensitive
	return out
}

// allResources are the resources of all modes, by type and name.
func (c *configuration) allResources(t texts) []contents.Resource {
	all := c.resources
	for _, r := range c.module.ManagedResources {
		all[contents.Resource{Mode: contents.Managed, Type: r.Type, Name: r.Name}] = true
	}
	for _, r := range c.module.DataResources {
		all[contents.Resource{Mode: contents.Data, Type: r.Type, Name: r.Name}] = true
	}
	list := slices.SortedFunc(maps.Keys(all), func(a, b contents.Resource) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name), strings.Compare(string(a.Mode), string(b.Mode)))
	})
	list = bound(t, "resources", list)
	for i, r := range list {
		where := fmt.Sprintf("the resource %q", r.Type+"."+r.Name)
		list[i].Type, list[i].Name = t.cut(r.Type, "type", where), t.cut(r.Name, "name", where)
	}
	return list
}

// builtIn is the provider that needs no source: it is a part of the clients.
const builtIn = "terraform"

// providers are the providers that are required, or that resources imply.
func (c *configuration) providers(t texts) (list []contents.Requirement) {
	required := maps.Clone(c.module.RequiredProviders)
	imply := func(name string) {
		if required[name] == nil && name != builtIn {
			required[name] = &tfconfig.ProviderRequirement{}
		}
	}
	for _, r := range c.module.ManagedResources {
		imply(r.Provider.Name)
	}
	for _, r := range c.module.DataResources {
		imply(r.Provider.Name)
	}
	for name := range c.implied {
		imply(name)
	}
	for _, name := range sorted(t, "providers", required) {
		list = append(list, requirement(t, name, required[name]))
	}
	return list
}

func requirement(t texts, name string, r *tfconfig.ProviderRequirement) contents.Requirement {
	where := fmt.Sprintf("the provider %q", name)
	p := contents.Requirement{Name: t.cut(name, "name", where), Source: t.cut(r.Source, "source", where)}
	for _, version := range t.bound("version constraints", r.VersionConstraints) {
		if version = t.cut(version, "version", where); !slices.Contains(p.Versions, version) {
			p.Versions = append(p.Versions, version)
		}
	}
	for _, ref := range bound(t, "aliases", r.ConfigurationAliases) {
		p.Aliases = append(p.Aliases, t.cut(ref.Name+"."+ref.Alias, "alias", where))
	}
	return p
}
