package reader

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// nature is what may be done with an expression.
type nature int

const (
	// costly expressions are not evaluated: a few characters can take any time or memory.
	costly nature = iota
	// reference is an expression with references or calls of functions. To evaluate it is an
	// error at once.
	reference
	// constant is a literal, or a collection of them. Its value takes little more room than
	// its text.
	constant
)

// natureOf says what may be done with an expression of a file.
func natureOf(e hcl.Expression, file []byte) nature {
	if node, ok := e.(hclsyntax.Expression); ok {
		found := constant
		hclsyntax.VisitAll(node, func(n hclsyntax.Node) hcl.Diagnostics { //nolint:errcheck // returns what the function does
			found = min(found, natureOfNode(n))
			return nil
		})
		return found
	}
	return natureOfJSON(e, e.Range().SliceBytes(file))
}

func natureOfNode(n hclsyntax.Node) nature {
	switch n := n.(type) {
	case *hclsyntax.LiteralValueExpr:
		if n.Val.Type() == cty.Number && !n.Val.IsNull() && !isShort(n.Val) {
			return costly
		}
		return constant
	case *hclsyntax.TemplateExpr, *hclsyntax.TemplateWrapExpr, *hclsyntax.ParenthesesExpr, *hclsyntax.UnaryOpExpr,
		*hclsyntax.ObjectConsExpr, *hclsyntax.ObjectConsKeyExpr, *hclsyntax.TupleConsExpr:
		return constant
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.FunctionCallExpr:
		return reference
	default:
		return costly
	}
}

// maxExponent is the largest exponent of a number, to the base 2. The number 1e999999999 is
// short, and a text of it is not.
const maxExponent = 4096

func isShort(number cty.Value) bool {
	exponent := number.AsBigFloat().MantExp(nil)
	return -maxExponent < exponent && exponent < maxExponent
}

// natureOfJSON looks for templates in JSON, and for long numbers.
func natureOfJSON(e hcl.Expression, text []byte) nature {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return constant
		}
		if err != nil {
			return costly
		}
		switch token := token.(type) {
		case json.Number:
			if !isShortJSON(string(token)) {
				return costly
			}
		case string:
			if strings.Contains(token, "${") || strings.Contains(token, "%{") {
				return natureOfTemplate(token)
			}
		}
	}
}

func natureOfTemplate(text string) nature {
	template, diagnostics := hclsyntax.ParseTemplate([]byte(text), "", hcl.InitialPos)
	if diagnostics.HasErrors() {
		return reference // to evaluate it is an error
	}
	return min(reference, natureOf(template, nil))
}

func isShortJSON(number string) bool {
	_, exponent, found := strings.Cut(strings.ToLower(number), "e")
	if !found {
		return len(number) < maxExponent
	}
	n, err := strconv.Atoi(exponent)
	return err == nil && -maxExponent/4 < n && n < maxExponent/4 && len(number) < maxExponent
}

// written is an expression as it is written.
func written(e hcl.Expression, file []byte) string {
	return string(e.Range().SliceBytes(file))
}

// asJSON returns the value of an expression as JSON. An expression that is no constant is as
// it is written.
func asJSON(e hcl.Expression, file []byte) string {
	text := written(e, file)
	if _, native := e.(hclsyntax.Expression); native {
		if natureOf(e, file) != constant {
			return text
		}
		value, diagnostics := e.Value(nil)
		if diagnostics.HasErrors() || !value.IsWhollyKnown() {
			return text
		}
		data, err := ctyjson.SimpleJSONValue{Value: value}.MarshalJSON()
		if err != nil {
			return text
		}
		return canonical(string(data))
	}
	return canonical(text)
}

// canonical writes JSON without spaces, with its keys in order and as few escapes as can be.
// What is no JSON stays as it is.
func canonical(text string) string {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return text
	}
	var data strings.Builder
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return text
	}
	return strings.TrimSuffix(data.String(), "\n")
}

// asText returns a constant string as its text, and everything else as it is written.
func asText(e hcl.Expression, file []byte) string {
	if value, ok := constantOf(e, file); ok && value.Type() == cty.String {
		return value.AsString()
	}
	return written(e, file)
}

// asBool returns the value of a constant, and otherwise, else.
func asBool(e hcl.Expression, file []byte, otherwise bool) bool {
	if value, ok := constantOf(e, file); ok && value.Type() == cty.Bool {
		return value.True()
	}
	return otherwise
}

// constantOf returns the value of a constant that is not null.
func constantOf(e hcl.Expression, file []byte) (cty.Value, bool) {
	if natureOf(e, file) != constant {
		return cty.NilVal, false
	}
	value, diagnostics := e.Value(nil)
	return value, !diagnostics.HasErrors() && value.IsWhollyKnown() && !value.IsNull()
}

// maxDepth is how many brackets may be open at the same place. Parsers call themselves for
// each.
const maxDepth = 500

// isDeep reports whether more brackets are open at some place. It also counts those in texts
// and comments: there, few are left open.
func isDeep(file []byte) bool {
	depth := 0
	for _, c := range file {
		switch c {
		case '(', '[', '{':
			if depth++; depth > maxDepth {
				return true
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return false
}
