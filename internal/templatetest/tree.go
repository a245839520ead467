package templatetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// tree is a place in a resource's settings, which are maps, lists and scalars. It collects
// errors, so that a reader need not check for one after every step: a place that is read must
// exist.
type tree struct {
	value     any
	path      string
	errs      *[]error
	terraform bool // it is Terraform's, and else CloudFormation's
}

func newTree(path string, value any) tree { return tree{value: value, path: path, errs: new([]error)} }

// err returns all errors in the settings.
func (t tree) err() error { return errors.Join(*t.errs...) }

func (t tree) failf(format string, args ...any) {
	*t.errs = append(*t.errs, fmt.Errorf("%s: "+format, append([]any{t.path}, args...)...))
}

// at goes down by names, through lists of one element, such as Terraform's blocks.
func (t tree) at(names ...string) tree {
	for _, name := range names {
		if list, ok := t.value.([]any); ok && len(list) == 1 {
			t.value = list[0]
		}
		fields, _ := t.value.(map[string]any)
		t.value, t.path = fields[name], t.path+"."+name
	}
	return t
}

// in goes down by the names of a place in CloudFormation, or in Terraform, with dots between
// them. A language without that place has nothing there.
func (t tree) in(cloudFormation, terraform string) tree {
	names := cloudFormation
	if t.terraform {
		names = terraform
	}
	if names == "" {
		return t.with(nil)
	}
	return t.at(strings.Split(names, ".")...)
}

// with returns the place with another value.
func (t tree) with(value any) tree {
	t.value = value
	return t
}

// or returns the place, or with another value if there is nothing.
func (t tree) or(value any) tree {
	if !t.there() {
		return t.with(value)
	}
	return t
}

func (t tree) there() bool { return t.value != nil }

// text reads a scalar.
func (t tree) text() string {
	switch t.value.(type) {
	case string, bool, int, float64:
		return scalar(t.value)
	}
	t.failf("there is %v, and not one value", t.value)
	return ""
}

func (t tree) number() int {
	text := t.text()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.failf("%q is not a whole number", text)
	}
	return n
}

func (t tree) flag() bool { return t.text() == "true" }

// list returns the elements of a list.
func (t tree) list() []tree {
	values, ok := t.value.([]any)
	if !ok {
		t.failf("there is %v, and not a list", t.value)
	}
	elements := make([]tree, len(values))
	for n, value := range values {
		elements[n] = t.with(value)
		elements[n].path = fmt.Sprintf("%s[%d]", t.path, n)
	}
	return elements
}

// texts reads a list of scalars.
func (t tree) texts() []string {
	texts := []string{}
	for _, element := range t.list() {
		texts = append(texts, element.text())
	}
	return texts
}

// oneOrMore reads a list of scalars, or one scalar.
func (t tree) oneOrMore() []string {
	if _, ok := t.value.([]any); ok {
		return t.texts()
	}
	return []string{t.text()}
}

// table reads a map of scalars.
func (t tree) table() map[string]string {
	fields, ok := t.value.(map[string]any)
	if !ok {
		t.failf("there is %v, and not a map", t.value)
	}
	texts := map[string]string{}
	for name := range fields {
		texts[name] = t.at(name).text()
	}
	return texts
}

func (t tree) policy() Policy {
	p, err := parsePolicy(t.value)
	if err != nil {
		t.failf("%w", err)
	}
	return p
}

// json reads a JSON text.
func (t tree) json() any {
	var value any
	if err := json.Unmarshal([]byte(t.text()), &value); err != nil {
		t.failf("it is no JSON: %w", err)
	}
	return value
}

// document reads what is a JSON text in Terraform, and settings in CloudFormation.
func (t tree) document() tree {
	if t.terraform && t.there() {
		return t.with(t.json())
	}
	return t
}
