// Package schema is what the AWS provider's schema says of the resources and data sources that infra/ uses.
package schema

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Address is the provider's address.
const Address = "registry.terraform.io/hashicorp/aws"

// A File is a schema as `terraform providers schema -json` prints it, with the version of the provider.
type File struct {
	Version   string               `json:"version"`
	Format    string               `json:"format_version"`
	Providers map[string]*Provider `json:"provider_schemas"`
}

// A Provider is what one provider has.
type Provider struct {
	Provider  Schema            `json:"provider"`
	Resources map[string]Schema `json:"resource_schemas"`
	Data      map[string]Schema `json:"data_source_schemas"`
}

// A Schema is that of one resource or data source, or of the provider's own block.
type Schema struct {
	Version int   `json:"version"`
	Block   Block `json:"block"`
}

// A Block is what may be between braces.
type Block struct {
	Attributes map[string]Attribute `json:"attributes,omitempty"`
	Blocks     map[string]Nested    `json:"block_types,omitempty"`
}

// An Attribute is one argument or one value that the provider computes.
type Attribute struct {
	Type     any  `json:"type"` // as cty writes types in JSON
	Required bool `json:"required,omitempty"`
	Optional bool `json:"optional,omitempty"`
	Computed bool `json:"computed,omitempty"`
}

// A Nested block is a block in another.
type Nested struct {
	Nesting string `json:"nesting_mode"`
	Block   Block  `json:"block"`
	Min     int    `json:"min_items,omitempty"`
	Max     int    `json:"max_items,omitempty"`
}

//go:embed schema.json
var file []byte

// Read returns the schema that is committed.
func Read() (*Provider, error) {
	var f File
	if err := json.Unmarshal(file, &f); err != nil {
		return nil, fmt.Errorf("schema.json: %w", err)
	}
	p := f.Providers[Address]
	if p == nil {
		return nil, fmt.Errorf("schema.json has no provider %s", Address)
	}
	return p, nil
}

// Protocol is a schema in the words of the protocol that providers speak.
func (s Schema) Protocol() (*tfprotov5.Schema, error) {
	b, err := s.Block.protocol()
	return &tfprotov5.Schema{Version: int64(s.Version), Block: b}, err
}

var nestings = map[string]tfprotov5.SchemaNestedBlockNestingMode{
	"single": tfprotov5.SchemaNestedBlockNestingModeSingle,
	"list":   tfprotov5.SchemaNestedBlockNestingModeList,
	"set":    tfprotov5.SchemaNestedBlockNestingModeSet,
}

func (b Block) protocol() (*tfprotov5.SchemaBlock, error) {
	var errs []error
	out := &tfprotov5.SchemaBlock{}
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		a := b.Attributes[name]
		kind, err := a.kind()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		out.Attributes = append(out.Attributes, &tfprotov5.SchemaAttribute{
			Name: name, Type: kind, Required: a.Required, Optional: a.Optional, Computed: a.Computed,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(b.Blocks)) {
		n := b.Blocks[name]
		block, err := n.Block.protocol()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if _, ok := nestings[n.Nesting]; !ok {
			errs = append(errs, fmt.Errorf("%s: the nesting %q is not known here", name, n.Nesting))
		}
		out.BlockTypes = append(out.BlockTypes, &tfprotov5.SchemaNestedBlock{
			TypeName: name, Block: block, Nesting: nestings[n.Nesting], MinItems: int64(n.Min), MaxItems: int64(n.Max),
		})
	}
	return out, errors.Join(errs...)
}

// kind is the attribute's type.
func (a Attribute) kind() (tftypes.Type, error) {
	text, err := json.Marshal(a.Type)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 providers are not to call it, for they are given types in other words; these come as they are printed
	return tftypes.ParseJSONType(text)
}
