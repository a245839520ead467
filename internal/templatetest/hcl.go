package templatetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A module is a Terraform module that is evaluated like a plan, with the answers of AWS filled in.
// Everything is evaluated once, at the first reference.
type module struct {
	values  Values
	given   map[string]string           // variables, by name
	blocks  map[string]*hclsyntax.Block // by address: var.x, data.t.x, t.x, output.x
	locals  map[string]hclsyntax.Expression
	known   map[string]cty.Value // by address
	pending []string             // the addresses that are being evaluated, to find cycles
	bodies  map[string]tree      // of every resource instance, by address with its key
}

// readModule parses every .tf file of a folder.
func readModule(dir string, v Values) (*module, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.tf"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there is no .tf file in %s (%w)", dir, err)
	}
	m := &module{
		values: v.complete(), given: map[string]string{}, blocks: map[string]*hclsyntax.Block{},
		locals: map[string]hclsyntax.Expression{}, known: map[string]cty.Value{}, bodies: map[string]tree{},
	}
	for name, value := range v.Parameters {
		m.given[snakeCase(name)] = value
	}
	for _, file := range files {
		if err := m.readFile(file); err != nil {
			return nil, err
		}
	}
	for name := range m.given {
		if m.blocks["var."+name] == nil {
			return nil, fmt.Errorf("%s has no variable %s", dir, name)
		}
	}
	return m, nil
}

// snakeCase writes a name in camel case, as in CloudFormation, in snake case, as in Terraform.
func snakeCase(name string) string {
	var b strings.Builder
	for n, c := range name {
		if c >= 'A' && c <= 'Z' && n > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(c)
	}
	return strings.ToLower(b.String())
}

func (m *module) readFile(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	parsed, diagnostics := hclparse.NewParser().ParseHCL(source, path)
	if diagnostics.HasErrors() {
		return diagnostics
	}
	for _, block := range parsed.Body.(*hclsyntax.Body).Blocks {
		switch block.Type {
		case "variable":
			m.blocks["var."+block.Labels[0]] = block
		case "output":
			m.blocks["output."+block.Labels[0]] = block
		case "resource":
			m.blocks[strings.Join(block.Labels, ".")] = block
		case "data":
			m.blocks["data."+strings.Join(block.Labels, ".")] = block
		case "locals":
			for name, attribute := range block.Body.Attributes {
				m.locals[name] = attribute.Expr
			}
		case "terraform":
		default:
			return fmt.Errorf("%s: the block %s is not known here", path, block.Type)
		}
	}
	return nil
}

// evaluate evaluates everything and reports the first error.
func (m *module) evaluate() error {
	for _, address := range slices.Sorted(maps.Keys(m.blocks)) {
		if _, err := m.value(address); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of an address.
func (m *module) value(address string) (cty.Value, error) {
	if value, ok := m.known[address]; ok {
		return value, nil
	}
	if slices.Contains(m.pending, address) {
		return cty.NilVal, fmt.Errorf("a cycle: %s", strings.Join(append(m.pending, address), " -> "))
	}
	m.pending = append(m.pending, address)
	value, err := m.find(address)
	m.pending = m.pending[:len(m.pending)-1]
	if err != nil {
		return cty.NilVal, fmt.Errorf("%s: %w", address, err)
	}
	m.known[address] = value
	return value, nil
}

func (m *module) find(address string) (cty.Value, error) {
	kind, name, _ := strings.Cut(address, ".")
	block := m.blocks[address]
	switch {
	case kind == "local" && m.locals[name] != nil:
		return m.expression(m.locals[name], nil)
	case block == nil:
		return cty.NilVal, errors.New("there is no such thing")
	case kind == "var":
		return m.variable(name, block)
	case kind == "output":
		return m.expression(block.Body.Attributes["value"].Expr, nil)
	default:
		return m.resource(address, block)
	}
}

// variable returns a variable's value, which must pass its validations.
func (m *module) variable(name string, block *hclsyntax.Block) (cty.Value, error) {
	value := cty.StringVal(m.given[name])
	if _, given := m.given[name]; !given {
		declared, ok := block.Body.Attributes["default"]
		if !ok {
			return cty.NilVal, errors.New("it has no default and is not given")
		}
		var err error
		if value, err = m.expression(declared.Expr, nil); err != nil {
			return cty.NilVal, err
		}
	}
	value, err := typed(block.Body.Attributes["type"].Expr, value)
	if err != nil {
		return cty.NilVal, err
	}
	scope := map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{name: value})}
	for _, inner := range block.Body.Blocks {
		if err := m.check(inner, scope); err != nil {
			return cty.NilVal, err
		}
	}
	return value, nil
}

// typed converts a value to a variable's type. A list is given as in CloudFormation, with commas.
func typed(kind hclsyntax.Expression, value cty.Value) (cty.Value, error) {
	if call, ok := kind.(*hclsyntax.FunctionCallExpr); ok && call.Name == "list" && value.Type() == cty.String {
		var elements []cty.Value
		if text := value.AsString(); text != "" {
			for element := range strings.SplitSeq(text, ",") {
				elements = append(elements, cty.StringVal(element))
			}
		}
		return cty.TupleVal(elements), nil
	}
	switch hcl.ExprAsKeyword(kind) {
	case "number":
		return convert.Convert(value, cty.Number)
	case "bool":
		return convert.Convert(value, cty.Bool)
	}
	return value, nil
}

// check checks a validation or a precondition.
func (m *module) check(block *hclsyntax.Block, scope map[string]cty.Value) error {
	holds, err := m.expression(block.Body.Attributes["condition"].Expr, scope)
	if err != nil {
		return err
	}
	if holds.True() {
		return nil
	}
	message, err := m.expression(block.Body.Attributes["error_message"].Expr, scope)
	if err != nil {
		return err
	}
	return errors.New(message.AsString())
}

// resource returns the value of a resource or data source: one object, or a collection of objects
// with count or for_each.
func (m *module) resource(address string, block *hclsyntax.Block) (cty.Value, error) {
	if attribute, ok := block.Body.Attributes["count"]; ok {
		count, err := m.expression(attribute.Expr, nil)
		if err != nil {
			return cty.NilVal, err
		}
		if count.Equals(cty.NumberIntVal(0)).True() {
			return cty.EmptyTupleVal, nil
		}
		instance, err := m.instance(address, block, nil)
		return cty.TupleVal([]cty.Value{instance}), err
	}
	attribute, ok := block.Body.Attributes["for_each"]
	if !ok {
		return m.instance(address, block, nil)
	}
	each, err := m.expression(attribute.Expr, nil)
	if err != nil {
		return cty.NilVal, err
	}
	instances := map[string]cty.Value{}
	for it := each.ElementIterator(); it.Next(); {
		key, value := it.Element()
		scope := map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		name := fmt.Sprintf("%s[%q]", address, key.AsString())
		if each.Type().IsSetType() {
			name = fmt.Sprintf("%s[%q]", address, value.AsString())
			scope["each"] = cty.ObjectVal(map[string]cty.Value{"key": value, "value": value})
		}
		instance, err := m.instance(name, block, scope)
		if err != nil {
			return cty.NilVal, err
		}
		instances[scope["each"].GetAttr("key").AsString()] = instance
	}
	return cty.ObjectVal(instances), nil
}

// instance returns one instance of a resource: its configuration and what AWS adds.
func (m *module) instance(address string, block *hclsyntax.Block, scope map[string]cty.Value) (cty.Value, error) {
	if err := m.preconditions(block, scope); err != nil {
		return cty.NilVal, err
	}
	body, err := m.body(block.Body, scope)
	if err != nil {
		return cty.NilVal, err
	}
	object := cty.ObjectVal(body)
	encoded, err := ctyjson.SimpleJSONValue{Value: object}.MarshalJSON()
	if err != nil {
		return cty.NilVal, err
	}
	var decoded any
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		return cty.NilVal, err
	}
	settings := newTree(address, decoded)
	if block.Type == "resource" {
		m.bodies[address] = settings
	}
	answered, err := m.answered(block.Labels[0], address, settings)
	if err != nil {
		return cty.NilVal, err
	}
	maps.Copy(body, answered)
	return cty.ObjectVal(body), errors.Join(settings.err())
}

// metaArguments are for Terraform, not for a resource; references of depends_on are still
// evaluated, to find cycles.
var metaArguments = []string{"count", "for_each", "depends_on"}

// preconditions checks the preconditions of a resource before anything else of it is evaluated.
func (m *module) preconditions(block *hclsyntax.Block, scope map[string]cty.Value) error {
	for _, lifecycle := range block.Body.Blocks {
		for _, inner := range lifecycle.Body.Blocks {
			if inner.Type != "precondition" {
				continue
			}
			if err := m.check(inner, scope); err != nil {
				return err
			}
		}
	}
	return nil
}

// body evaluates the attributes of a block, and the blocks in it as lists.
func (m *module) body(body *hclsyntax.Body, scope map[string]cty.Value) (map[string]cty.Value, error) {
	fields := map[string]cty.Value{}
	for name, attribute := range body.Attributes {
		value, err := m.expression(attribute.Expr, scope)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if !slices.Contains(metaArguments, name) {
			fields[name] = value
		}
	}
	inner := map[string][]cty.Value{}
	for _, block := range body.Blocks {
		if err := m.block(block, scope, inner); err != nil {
			return nil, fmt.Errorf("%s: %w", block.Type, err)
		}
	}
	for name, list := range inner {
		fields[name] = cty.TupleVal(list)
	}
	return fields, nil
}

// block evaluates a block into the list of its type.
func (m *module) block(block *hclsyntax.Block, scope map[string]cty.Value, into map[string][]cty.Value) error {
	if block.Type == "precondition" {
		return nil // it has been checked
	}
	if block.Type != "dynamic" {
		fields, err := m.body(block.Body, scope)
		into[block.Type] = append(into[block.Type], cty.ObjectVal(fields))
		return err
	}
	name := block.Labels[0]
	each, err := m.expression(block.Body.Attributes["for_each"].Expr, scope)
	if err != nil {
		return err
	}
	for it := each.ElementIterator(); it.Next(); {
		key, value := it.Element()
		inner := map[string]cty.Value{name: cty.ObjectVal(map[string]cty.Value{"key": key, "value": value})}
		maps.Copy(inner, scope)
		fields, err := m.body(block.Body.Blocks[0].Body, inner)
		if err != nil {
			return err
		}
		into[name] = append(into[name], cty.ObjectVal(fields))
	}
	return nil
}

// expression evaluates an expression after its references. The scope has the values that only it
// knows, such as each.
func (m *module) expression(e hclsyntax.Expression, scope map[string]cty.Value) (cty.Value, error) {
	found := map[string]map[string]cty.Value{"path": {"module": cty.StringVal("."), "root": cty.StringVal(".")}}
	for _, traversal := range e.Variables() {
		root := traversal.RootName()
		if _, local := scope[root]; local || root == "path" {
			continue
		}
		names := []string{root}
		for _, step := range traversal[1:] {
			if attribute, ok := step.(hcl.TraverseAttr); ok && len(names) < 3 {
				names = append(names, attribute.Name)
			}
		}
		if len(names) < 2 || root == "data" && len(names) < 3 {
			return cty.NilVal, fmt.Errorf("%s is no reference", strings.Join(names, "."))
		}
		if err := m.refer(found, names); err != nil {
			return cty.NilVal, err
		}
	}
	context := &hcl.EvalContext{Variables: maps.Clone(scope), Functions: functions}
	if context.Variables == nil {
		context.Variables = map[string]cty.Value{}
	}
	for root, fields := range found {
		context.Variables[root] = cty.ObjectVal(fields)
	}
	value, diagnostics := e.Value(context)
	if diagnostics.HasErrors() {
		return cty.NilVal, diagnostics
	}
	return value, nil
}

// refer evaluates the address of the names, and adds its value to found.
func (m *module) refer(found map[string]map[string]cty.Value, names []string) error {
	root, name := names[0], names[1]
	if found[root] == nil {
		found[root] = map[string]cty.Value{}
	}
	if root != "data" {
		value, err := m.value(root + "." + name)
		found[root][name] = value
		return err
	}
	value, err := m.value(strings.Join(names, "."))
	if err != nil {
		return err
	}
	ofType := map[string]cty.Value{names[2]: value}
	if others, ok := found[root][name]; ok {
		maps.Copy(ofType, others.AsValueMap())
	}
	found[root][name] = cty.ObjectVal(ofType)
	return nil
}

// functions are the functions of Terraform that infra/ uses.
var functions = map[string]function.Function{
	"alltrue":          allTrueFunc,
	"can":              tryfunc.CanFunc,
	"coalesce":         stdlib.CoalesceFunc,
	"compact":          stdlib.CompactFunc,
	"concat":           stdlib.ConcatFunc,
	"contains":         stdlib.ContainsFunc,
	"fileexists":       ofFile(cty.True),
	"filebase64sha256": ofFile(cty.StringVal("")),
	"floor":            stdlib.FloorFunc,
	"jsonencode":       stdlib.JSONEncodeFunc,
	"keys":             stdlib.KeysFunc,
	"length":           lengthFunc,
	"lookup":           stdlib.LookupFunc,
	"merge":            stdlib.MergeFunc,
	"one":              oneFunc,
	"regex":            stdlib.RegexFunc,
	"toset":            stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"trimprefix":       stdlib.TrimPrefixFunc,
	"trimsuffix":       stdlib.TrimSuffixFunc,
	"try":              tryfunc.TryFunc,
	"values":           stdlib.ValuesFunc,
}

// ofFile makes a function of Terraform that reads a file: as if `make build` had made it.
func ofFile(answer cty.Value) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(answer.Type()),
		Impl:   func([]cty.Value, cty.Type) (cty.Value, error) { return answer, nil },
	})
}

// lengthFunc is Terraform's length of a list, a map or an object.
var lengthFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "collection", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.NumberIntVal(int64(args[0].LengthInt())), nil
	},
})

// allTrueFunc is Terraform's alltrue.
var allTrueFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type:   function.StaticReturnType(cty.Bool),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		return cty.BoolVal(!slices.ContainsFunc(args[0].AsValueSlice(), cty.Value.False)), nil
	},
})

// oneFunc is Terraform's one: the only element of a list, or null.
var oneFunc = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
	Type: func(args []cty.Value) (cty.Type, error) {
		if args[0].LengthInt() == 0 {
			return cty.DynamicPseudoType, nil
		}
		return args[0].Index(cty.NumberIntVal(0)).Type(), nil
	},
	Impl: func(args []cty.Value, want cty.Type) (cty.Value, error) {
		if args[0].LengthInt() == 0 {
			return cty.NullVal(want), nil
		}
		return args[0].Index(cty.NumberIntVal(0)), nil
	},
})

// answered returns the attributes of a resource or data source that AWS fills in and infra/ uses.
func (m *module) answered(kind, address string, settings tree) (map[string]cty.Value, error) {
	v := m.values
	name := func(attribute string) string { return settings.at(attribute).text() }
	texts := func(pairs ...string) map[string]cty.Value {
		fields := map[string]cty.Value{}
		for n := 0; n < len(pairs); n += 2 {
			fields[pairs[n]] = cty.StringVal(pairs[n+1])
		}
		return fields
	}
	switch kind {
	case "aws_caller_identity":
		return texts("account_id", v.Account), nil
	case "aws_partition":
		return texts("partition", partition), nil
	case "aws_region":
		return texts("region", v.Region), nil
	case "aws_s3_bucket":
		return texts("id", name("bucket"), "arn", bucketARN(name("bucket"))), nil
	case "aws_dynamodb_table":
		return texts("arn", v.arn("dynamodb", "table/"+name("name"))), nil
	case "aws_kms_key":
		return texts("key_id", v.KeyID, "arn", v.arn("kms", "key/"+v.KeyID)), nil
	case "aws_sqs_queue":
		return texts("arn", v.arn("sqs", name("name")), "url", v.queueURL(name("name"))), nil
	case "aws_sns_topic":
		return texts("arn", v.arn("sns", name("name"))), nil
	case "aws_lambda_function":
		return texts("arn", v.arn("lambda", "function:"+name("function_name"))), nil
	case "aws_iam_role":
		return texts("arn", v.iamARN("role/"+name("name"))), nil
	case "aws_iam_policy":
		return texts("arn", v.iamARN("policy/"+name("name"))), nil
	case "aws_cloudwatch_log_group":
		return texts("arn", v.arn("logs", "log-group:"+name("name"))), nil
	case "aws_apigatewayv2_api":
		return texts("id", apiID, "api_endpoint", "https://"+v.apiHost(), "execution_arn", v.arn("execute-api", apiID)), nil
	case "aws_apigatewayv2_integration":
		return texts("id", address), nil
	case "aws_apigatewayv2_stage":
		return texts("id", name("name")), nil
	case "aws_apigatewayv2_domain_name":
		target := cty.ObjectVal(texts("target_domain_name", domainTarget, "hosted_zone_id", domainZone))
		return map[string]cty.Value{
			"id": cty.StringVal(name("domain_name")), "domain_name_configuration": cty.TupleVal([]cty.Value{target}),
		}, nil
	}
	return nil, nil
}
