package reader

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/larder-registry/larder/pkg/contents"
)

// What the library does not read.
var (
	restSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "variable", LabelNames: []string{"name"}},
		{Type: "output", LabelNames: []string{"name"}},
		{Type: "ephemeral", LabelNames: []string{"type", "name"}},
		{Type: "action", LabelNames: []string{"type", "name"}},
	}}
	inputSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "default"}, {Name: "ephemeral"}, {Name: "nullable"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "validation"}},
	}
	validationSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "condition"}, {Name: "error_message"}}}
	outputSchema     = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "ephemeral"}}}
	resourceSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "provider"}}}
)

// loadRest reads what the library does not. It gets no diagnostics that the library did not
// get, for it reads parts of the same blocks.
func (c *configuration) loadRest(file *hcl.File) {
	content, _, _ := file.Body.PartialContent(restSchema)
	for _, block := range content.Blocks {
		switch block.Type {
		case "variable":
			c.loadInput(block, file.Bytes)
		case "output":
			c.loadOutput(block, file.Bytes)
		case "ephemeral":
			c.loadResource(contents.Ephemeral, block)
		case "action":
			c.loadResource(contents.Action, block)
		}
	}
}

// loadInput reads a block of an input. A second block is one that overrides the first.
func (c *configuration) loadInput(block *hcl.Block, file []byte) {
	in := c.inputs[block.Labels[0]]
	if in == nil {
		in = &contents.Input{Required: true}
		c.inputs[block.Labels[0]] = in
	}
	content, _, _ := block.Body.PartialContent(inputSchema)
	if a := content.Attributes["default"]; a != nil {
		in.Default, in.Required = asJSON(a.Expr, file), false
	}
	if a := content.Attributes["ephemeral"]; a != nil {
		in.Ephemeral = asBool(a.Expr, file, false)
	}
	if a := content.Attributes["nullable"]; a != nil {
		in.NotNullable = !asBool(a.Expr, file, true)
	}
	var validations []contents.Validation
	for _, validation := range content.Blocks {
		parts, _, _ := validation.Body.PartialContent(validationSchema)
		var v contents.Validation
		if a := parts.Attributes["condition"]; a != nil {
			v.Condition = written(a.Expr, file)
		}
		if a := parts.Attributes["error_message"]; a != nil {
			v.Message = asText(a.Expr, file)
		}
		validations = append(validations, v)
	}
	if len(validations) > 0 {
		in.Validations = validations
	}
}

func (c *configuration) loadOutput(block *hcl.Block, file []byte) {
	out := c.outputs[block.Labels[0]]
	if out == nil {
		out = &contents.Output{}
		c.outputs[block.Labels[0]] = out
	}
	content, _, _ := block.Body.PartialContent(outputSchema)
	if a := content.Attributes["ephemeral"]; a != nil {
		out.Ephemeral = asBool(a.Expr, file, false)
	}
}

func (c *configuration) loadResource(mode contents.ResourceMode, block *hcl.Block) {
	r := contents.Resource{Mode: mode, Type: block.Labels[0], Name: block.Labels[1]}
	c.resources[r] = true
	provider, _, _ := strings.Cut(r.Type, "_")
	content, _, _ := block.Body.PartialContent(resourceSchema)
	if a := content.Attributes["provider"]; a != nil {
		if traversal, diagnostics := hcl.AbsTraversalForExpr(a.Expr); !diagnostics.HasErrors() {
			provider = traversal.RootName()
		}
	}
	c.implied[provider] = true
}
