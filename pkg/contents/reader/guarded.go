package reader

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// guarded is the body of a file or a block as terraform-config-inspect sees it. What the
// library cannot take is not there:
//
//   - Blocks at the root of a file that it has in its schema and panics over: those of stacks.
//   - The defaults of inputs. It panics over some numbers, and writes others with millions of
//     digits. This package reads them by itself.
//   - Expressions that are costly to evaluate.
type guarded struct {
	hcl.Body
	file       []byte
	inside     string // the type of the block; "" is the file
	complaints *complaints
}

// rootBlocks are the blocks of a file that the library reads.
var rootBlocks = []string{"terraform", "variable", "output", "provider", "resource", "data", "module"}

// Content implements [hcl.Body].
func (g guarded) Content(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Diagnostics) {
	content, diagnostics := g.Body.Content(schema)
	return g.guard(content), diagnostics
}

// PartialContent implements [hcl.Body].
func (g guarded) PartialContent(schema *hcl.BodySchema) (*hcl.BodyContent, hcl.Body, hcl.Diagnostics) {
	content, rest, diagnostics := g.Body.PartialContent(schema)
	return g.guard(content), guarded{rest, g.file, g.inside, g.complaints}, diagnostics
}

// JustAttributes implements [hcl.Body].
func (g guarded) JustAttributes() (hcl.Attributes, hcl.Diagnostics) {
	attributes, diagnostics := g.Body.JustAttributes()
	return g.attributes(attributes), diagnostics
}

func (g guarded) guard(content *hcl.BodyContent) *hcl.BodyContent {
	if content == nil {
		return nil
	}
	shown := &hcl.BodyContent{Attributes: g.attributes(content.Attributes), MissingItemRange: content.MissingItemRange}
	for _, block := range content.Blocks {
		if g.inside == "" && !slices.Contains(rootBlocks, block.Type) {
			continue
		}
		inner := *block
		inner.Body = guarded{block.Body, g.file, block.Type, g.complaints}
		shown.Blocks = append(shown.Blocks, &inner)
	}
	return shown
}

func (g guarded) attributes(all hcl.Attributes) hcl.Attributes {
	shown := hcl.Attributes{}
	for name, attribute := range all {
		switch {
		case g.inside == "variable" && name == "default":
		case natureOf(attribute.Expr, g.file) == costly:
			g.complaints.add(attribute.Range.Start.Line, fmt.Sprintf("The value of %s is no constant, and is left out.", name))
		default:
			shown[name] = attribute
		}
	}
	return shown
}
