package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/larder-registry/larder/tools/awsstub/schema"
)

// bindings are the classes of one file.
type bindings struct {
	data    bool              // of a data source
	kept    string            // the class that stands for the resource itself
	classes map[string]string // the bodies, by name
}

var (
	class     = regexp.MustCompile(`(?ms)^class (\w+) extends cdktf\.(\w+) \{(.*?)^\}`)
	getter    = regexp.MustCompile(`(?m)^    get (\w+)\(\) \{\n        return (.*);$`)
	attribute = regexp.MustCompile(`this\.get(\w+)Attribute\('(\w+)'\)`)
	inner     = regexp.MustCompile(`// (\w+) - computed: (true|false), optional: (true|false), required: (true|false)\n        this\._\w+ = new (\w+?)(List|OutputReference)\(this, "\w+"(?:, (true|false))?\)`)
)

// bindingsOf reads a file.
func bindingsOf(source string, data bool) bindings {
	b := bindings{data: data, classes: map[string]string{}}
	for _, found := range class.FindAllStringSubmatch(source, -1) {
		b.classes[found[1]] = found[3]
		if found[2] == "TerraformResource" || found[2] == "TerraformDataSource" {
			b.kept = found[1]
		}
	}
	return b
}

// main is the schema of the resource or data source.
func (b bindings) main() (schema.Block, error) {
	if b.kept == "" {
		return schema.Block{}, fmt.Errorf("no class is a resource or a data source")
	}
	return b.block(b.kept)
}

// types are those of attributes, by the getter that returns them.
var types = map[string]any{
	"String": "string", "Number": "number", "Boolean": "bool",
	"StringMap": []any{"map", "string"}, "List": []any{"list", "string"}, "NumberList": []any{"list", "number"},
}

// block is the block that a class describes.
func (b bindings) block(name string) (schema.Block, error) {
	body, ok := b.classes[name]
	if !ok {
		return schema.Block{}, fmt.Errorf("there is no class %s", name)
	}
	found := schema.Block{Attributes: map[string]schema.Attribute{}, Blocks: map[string]schema.Nested{}}
	for _, get := range getter.FindAllStringSubmatch(body, -1) {
		value := attribute.FindStringSubmatch(get[2])
		if value == nil {
			continue // a block, or what the class itself needs
		}
		a := schema.Attribute{Type: types[value[1]]}
		if a.Type == nil {
			return schema.Block{}, fmt.Errorf("%s.%s: get%sAttribute is not known here", name, value[2], value[1])
		}
		if list, ok := a.Type.([]any); ok && strings.Contains(get[2], "Fn.tolist(") {
			a.Type = []any{"set", list[1]}
		}
		b.say(&a, value[2], strings.Contains(body, "    set "+get[1]+"("), strings.Contains(body, "    reset"+upperFirst(get[1])+"("))
		found.Attributes[value[2]] = a
	}
	for _, in := range inner.FindAllStringSubmatch(body, -1) {
		if err := b.within(found, in); err != nil {
			return schema.Block{}, fmt.Errorf("%s: %w", in[1], err)
		}
	}
	return found, nil
}

// say says who gives an attribute its value: a class has a setter if it may be set, and a reset if it is optional.
func (b bindings) say(a *schema.Attribute, name string, set, reset bool) {
	switch {
	case !set:
		a.Computed = true
	case !reset:
		a.Required = true
	default:
		a.Optional = true
		a.Computed = b.data || slices.Contains(computed, name)
	}
}

// computed are attributes that may be set, and are computed otherwise. All attributes of data sources are.
var computed = []string{"arn", "bucket", "id", "name", "region", "tags_all"}

// within adds a member of a class whose type is another class: a block, or a computed attribute that is a list of
// objects.
func (b bindings) within(found schema.Block, in []string) error {
	name, many := in[1], in[6] == "List"
	content, err := b.block(in[5] + "OutputReference")
	if err != nil {
		return err
	}
	nesting := "list"
	if in[7] == "true" {
		nesting = "set"
	}
	if in[2] == "true" {
		found.Attributes[name] = schema.Attribute{Type: []any{nesting, object(content)}, Computed: true}
		return nil
	}
	n := schema.Nested{Nesting: nesting, Block: content}
	if name == "timeouts" {
		n.Nesting = "single"
	} else if !many {
		n.Max = 1
	}
	if in[4] == "true" {
		n.Min = 1
	}
	found.Blocks[name] = n
	return nil
}

// object is the type of an attribute with the members of a block.
func object(b schema.Block) any {
	fields := map[string]any{}
	for name, a := range b.Attributes {
		fields[name] = a.Type
	}
	return []any{"object", fields}
}

func upperFirst(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
