package templatetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Cycle finds resources of a SAM template that wait for each other, through Ref, GetAtt, Sub and
// DependsOn, with all conditions true. It returns the names in the cycle, or nil.
func Cycle(file string, v Values) ([]string, error) {
	t, err := readTemplate(file, v)
	if err != nil {
		return nil, err
	}
	resources := t.section("Resources")
	edges := map[string][]string{}
	for name, declaration := range resources {
		r := newTree(name, declaration)
		found := references(r.at("Properties").value)
		switch dependsOn := r.at("DependsOn").value.(type) {
		case string:
			found = append(found, dependsOn)
		case []any:
			found = append(found, r.at("DependsOn").texts()...)
		}
		for _, reference := range found {
			if resources[reference] != nil {
				edges[name] = append(edges[name], reference)
			} else if t.parameters[reference] == "" && !strings.HasPrefix(reference, "AWS::") && t.section("Parameters")[reference] == nil {
				return nil, fmt.Errorf("%s refers to %s, which is not there", name, reference)
			}
		}
	}
	return findCycle(edges), nil
}

// references returns the names that a value refers to.
func references(value any) []string {
	var names []string
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			names = append(names, references(element)...)
		}
	case map[string]any:
		name, argument, ok := intrinsic(v)
		switch {
		case ok && name == "Ref":
			return []string{fmt.Sprint(argument)}
		case ok && name == "Fn::GetAtt":
			return references(map[string]any{"Ref": argument.([]any)[0]})
		case ok && name == "Fn::Sub":
			text, own, _ := substitution(argument) // where it is wrong, the template does not load
			for _, match := range variable.FindAllStringSubmatch(text, -1) {
				if resource, _, _ := strings.Cut(match[1], "."); own[match[1]] == nil {
					names = append(names, resource)
				}
			}
			return append(names, references(own)...)
		case ok && name == "Fn::If":
			return references(argument.([]any)[1:])
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			names = append(names, references(v[key])...)
		}
	}
	return names
}

// findCycle walks a graph depth first.
func findCycle(edges map[string][]string) []string {
	done := map[string]bool{}
	var path, cycle []string
	var visit func(name string) bool
	visit = func(name string) bool {
		if at := slices.Index(path, name); at >= 0 {
			cycle = append(slices.Clone(path[at:]), name)
			return true
		}
		if done[name] {
			return false
		}
		path = append(path, name)
		found := slices.ContainsFunc(edges[name], visit)
		path, done[name] = path[:len(path)-1], true
		return found
	}
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		if visit(name) {
			break
		}
	}
	return cycle
}
