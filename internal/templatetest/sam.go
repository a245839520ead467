package templatetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Load reads a deployment from a SAM template. An error says what it does not understand, or which
// parameter it refuses.
func Load(file string, v Values) (*Deployment, error) {
	t, err := readTemplate(file, v)
	if err != nil {
		return nil, err
	}
	byType, err := t.resources()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &reader{values: t.values, resources: map[string][]resource{}}
	for kind, declared := range byType {
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			r.resources[kind] = append(r.resources[kind], t.resource(kind, name, declared[name]))
		}
	}
	d, err := r.deployment()
	outputs, outputsErr := t.outputs()
	if err := errors.Join(err, outputsErr); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d.Outputs = outputs
	return d, nil
}

// resource returns a declared resource with its properties. A function without one has that of
// Globals.
func (t *template) resource(kind, name string, declared tree) resource {
	if kind == "AWS::Serverless::Function" {
		if !declared.at("Metadata", "SkipBuild").or(false).flag() {
			declared.failf("sam build would build it, and has no way to")
		}
		fields, _ := declared.at("Properties").value.(map[string]any)
		for property, value := range t.functionDefaults() {
			if _, ok := fields[property]; !ok {
				fields[property] = value
			}
		}
	}
	return resource{declared.at("Properties"), name, kept(declared)}
}

func (t *template) functionDefaults() map[string]any {
	defaults, _ := newTree("Globals", t.section("Globals")).at("Function").value.(map[string]any)
	return defaults
}

// kept says whether a resource stays when its stack is deleted, or replaces it.
func kept(declared tree) bool {
	return declared.at("DeletionPolicy").or("").text() == "Retain" && declared.at("UpdateReplacePolicy").or("").text() == "Retain"
}

func (t *template) outputs() (map[string]string, error) {
	outputs := map[string]string{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(t.section("Outputs"))) {
		output := newTree(name, t.section("Outputs")[name])
		exists, err := t.exists(output)
		errs = append(errs, err)
		if !exists {
			continue
		}
		value, err := t.resolve(output.at("Value").value)
		errs = append(errs, err)
		outputs[name] = scalar(value)
	}
	return outputs, errors.Join(errs...)
}

// Kept returns the properties of every resource that stays when the stack of a CloudFormation
// template is deleted, by its name in the template.
func Kept(file string, v Values) (map[string]map[string]any, error) {
	t, err := readTemplate(file, v)
	if err != nil {
		return nil, err
	}
	byType, err := t.resources()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	properties := map[string]map[string]any{}
	for _, resources := range byType {
		for name, r := range resources {
			if kept(r) {
				properties[name], _ = r.at("Properties").value.(map[string]any)
			}
		}
	}
	return properties, nil
}
