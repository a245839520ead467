package contents

// A saving makes a document smaller.
type saving struct {
	what  string // is left out; the beginning of a sentence
	apply func()
}

// savings are what a module does without, in turn. What is left after the last of them is
// far smaller than [MaxDocument].
func (m *Module) savings() []saving {
	return []saving{
		{"The READMEs of the examples", func() { each(m.Examples, func(p *Part) { p.Readme = "" }) }},
		{"The READMEs of the submodules", func() { each(m.Submodules, func(p *Part) { p.Readme = "" }) }},
		{"The descriptions of inputs and outputs", func() { m.each((*Part).dropDescriptions) }},
		{"The defaults and validations of inputs", func() { m.each((*Part).dropDefaults) }},
		{"The examples and submodules", func() { m.Examples, m.Submodules = nil, nil }},
		{"All things but the README", func() { m.Root = Part{Readme: m.Root.Readme, Empty: m.Root.Empty} }},
	}
}

// each calls do for all parts.
func (m *Module) each(do func(*Part)) {
	do(&m.Root)
	each(m.Submodules, do)
	each(m.Examples, do)
}

func each[T any](list []T, do func(*T)) {
	for i := range list {
		do(&list[i])
	}
}

func (p *Part) dropDescriptions() {
	each(p.Inputs, func(i *Input) { i.Description = "" })
	each(p.Outputs, func(o *Output) { o.Description = "" })
}

func (p *Part) dropDefaults() {
	each(p.Inputs, func(i *Input) { i.Default, i.Validations = "", nil })
}

// savings are what the index of a provider does without, in turn.
func (p *Provider) savings() []saving {
	return []saving{
		{"The descriptions of the pages", func() { each(p.Pages, func(page *Page) { page.Description = "" }) }},
		{"The titles of the pages", func() { each(p.Pages, func(page *Page) { page.Title, page.Subcategory = "", "" }) }},
		{"The pages", func() { p.Pages = nil }},
	}
}
