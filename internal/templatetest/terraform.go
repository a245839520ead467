package templatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// LoadTerraform reads a deployment from a Terraform module. The variables are the template's
// parameters in snake case. An error says what it does not understand, which variable it refuses,
// or which values depend on themselves.
func LoadTerraform(dir string, v Values) (*Deployment, error) {
	m, err := readModule(dir, v)
	if err != nil {
		return nil, err
	}
	if err := m.evaluate(); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	r := &reader{values: m.values, terraform: true, resources: map[string][]resource{}}
	for _, address := range slices.Sorted(maps.Keys(m.bodies)) {
		kind, _, _ := strings.Cut(address, ".")
		body := m.bodies[address]
		body.terraform = true
		r.resources[kind] = append(r.resources[kind], resource{body, address, protected(body)})
	}
	d, err := r.deployment()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	d.Outputs = m.outputs()
	return d, nil
}

// protected says whether Terraform refuses to destroy a resource.
func protected(body tree) bool { return body.at("lifecycle", "prevent_destroy").or(false).flag() }

// keyOf returns the key in the address of an instance, such as aws_x.y["key"].
func keyOf(address string) string {
	_, rest, _ := strings.Cut(address, `["`)
	return strings.TrimSuffix(rest, `"]`)
}

// outputs returns the texts that are not null, by the template's names. All outputs of
// CloudFormation are texts.
func (m *module) outputs() map[string]string {
	outputs := map[string]string{}
	for address := range m.blocks {
		name, ok := strings.CutPrefix(address, "output.")
		if value := m.known[address]; ok && !value.IsNull() && value.Type() == cty.String {
			outputs[camelCase(name)] = value.AsString()
		}
	}
	return outputs
}

// camelCase undoes snakeCase.
func camelCase(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
