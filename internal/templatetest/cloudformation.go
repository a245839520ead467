package templatetest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A template is a CloudFormation template. Its intrinsic functions have their long form: a map of
// one entry, such as "Ref" or "Fn::Sub".
type template struct {
	values     Values
	parameters map[string]string
	document   map[string]any
}

// readTemplate reads a template and the parameters that it is used with.
func readTemplate(path string, v Values) (*template, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	value, err := decode(&root)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	document, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("read %s: it is no template", path)
	}
	t := &template{values: v.complete(), document: document}
	if t.parameters, err = t.readParameters(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := t.checkRules(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// decode turns YAML into maps, lists and scalars. A tag of CloudFormation, such as !Sub, becomes
// its long form.
func decode(node *yaml.Node) (any, error) {
	if node.Kind == yaml.DocumentNode {
		return decode(node.Content[0])
	}
	value, err := decodeUntagged(node)
	if err != nil || !strings.HasPrefix(node.Tag, "!") || strings.HasPrefix(node.Tag, "!!") {
		return value, err
	}
	name := strings.TrimPrefix(node.Tag, "!")
	if name == "GetAtt" {
		resource, attribute, _ := strings.Cut(fmt.Sprint(value), ".")
		value = []any{resource, attribute}
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return map[string]any{name: value}, nil
}

func decodeUntagged(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.MappingNode:
		fields := map[string]any{}
		for n := 0; n+1 < len(node.Content); n += 2 {
			value, err := decode(node.Content[n+1])
			if err != nil {
				return nil, err
			}
			fields[node.Content[n].Value] = value
		}
		return fields, nil
	case yaml.SequenceNode:
		list := []any{}
		for _, element := range node.Content {
			value, err := decode(element)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.ScalarNode:
		return node.Value, nil
	default:
		return nil, fmt.Errorf("line %d: neither a map nor a list nor a scalar", node.Line)
	}
}

// section is one of the template's top-level maps.
func (t *template) section(name string) map[string]any {
	fields, _ := t.document[name].(map[string]any)
	return fields
}

func (t *template) readParameters() (map[string]string, error) {
	declared := t.section("Parameters")
	for name := range t.values.Parameters {
		if declared[name] == nil {
			return nil, fmt.Errorf("there is no parameter %s", name)
		}
	}
	parameters := map[string]string{}
	for name, declaration := range declared {
		p := newTree(name, declaration)
		value, given := t.values.Parameters[name]
		if !given {
			value = p.at("Default").text()
		}
		if err := errors.Join(p.err(), checkParameter(p, value)); err != nil {
			return nil, err
		}
		parameters[name] = value
	}
	return parameters, nil
}

// checkParameter checks a value with its declaration, as CloudFormation does.
func checkParameter(p tree, value string) error {
	if pattern := p.at("AllowedPattern"); pattern.there() {
		if matched, err := regexp.MatchString("^(?:"+pattern.text()+")$", value); err != nil || !matched {
			return fmt.Errorf("%s: %q does not match %s", p.path, value, pattern.text())
		}
	}
	if allowed := p.at("AllowedValues"); allowed.there() && !slices.Contains(allowed.texts(), value) {
		return fmt.Errorf("%s: %q is none of %v", p.path, value, allowed.texts())
	}
	if p.at("Type").text() != "Number" {
		return p.err()
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < number(scalar(p.at("MinValue").value)) || p.at("MaxValue").there() && n > number(p.at("MaxValue").text()) {
		return fmt.Errorf("%s: %q is not a number in its limits", p.path, value)
	}
	return p.err()
}

func (t *template) checkRules() error {
	for name, rule := range t.section("Rules") {
		r := newTree(name, rule)
		applies, err := t.condition(r.at("RuleCondition").value)
		if err != nil {
			return err
		}
		if !applies {
			continue
		}
		for _, assertion := range r.at("Assertions").list() {
			holds, err := t.condition(assertion.at("Assert").value)
			if err != nil {
				return err
			}
			if !holds {
				return errors.New(assertion.at("AssertDescription").text())
			}
		}
	}
	return nil
}

// removed is the value of AWS::NoValue.
type removed struct{}

// resolve replaces the intrinsic functions in a value.
func (t *template) resolve(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		if name, argument, ok := intrinsic(v); ok {
			return t.call(name, argument)
		}
		return t.resolveMap(v)
	case []any:
		return t.resolveList(v)
	default:
		return value, nil
	}
}

func (t *template) resolveMap(fields map[string]any) (any, error) {
	resolved := map[string]any{}
	for name, value := range fields {
		r, err := t.resolve(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if r != (any)(removed{}) {
			resolved[name] = r
		}
	}
	return resolved, nil
}

func (t *template) resolveList(list []any) (any, error) {
	resolved := []any{}
	for _, value := range list {
		r, err := t.resolve(value)
		if err != nil {
			return nil, err
		}
		if r != (any)(removed{}) {
			resolved = append(resolved, r)
		}
	}
	return resolved, nil
}

// intrinsic says whether a map is an intrinsic function.
func intrinsic(fields map[string]any) (name string, argument any, ok bool) {
	if len(fields) != 1 {
		return "", nil, false
	}
	for name, argument = range fields {
		ok = name == "Ref" || strings.HasPrefix(name, "Fn::")
	}
	return name, argument, ok
}

func (t *template) call(name string, argument any) (any, error) {
	switch name {
	case "Ref":
		return t.ref(fmt.Sprint(argument))
	case "Fn::GetAtt":
		path, ok := argument.([]any)
		if !ok || len(path) != 2 {
			return nil, fmt.Errorf("the argument of GetAtt is %v", argument)
		}
		return t.attribute(fmt.Sprint(path[0]), fmt.Sprint(path[1]))
	case "Fn::Sub":
		return t.substitute(argument)
	case "Fn::If":
		branches, ok := argument.([]any)
		if !ok || len(branches) != 3 {
			return nil, fmt.Errorf("the argument of If is %v", argument)
		}
		holds, err := t.condition(map[string]any{"Condition": branches[0]})
		if err != nil {
			return nil, err
		}
		if holds {
			return t.resolve(branches[1])
		}
		return t.resolve(branches[2])
	case "Fn::Split":
		arguments, err := t.resolve(argument)
		list, ok := arguments.([]any)
		if err != nil || !ok || len(list) != 2 {
			return nil, fmt.Errorf("the argument of Split is %v (%w)", argument, err)
		}
		parts := []any{}
		for part := range strings.SplitSeq(scalar(list[1]), scalar(list[0])) {
			parts = append(parts, part)
		}
		return parts, nil
	default:
		return nil, fmt.Errorf("the function %s is not known here", name)
	}
}

// ref returns the Ref of a parameter, a pseudo parameter or a resource.
func (t *template) ref(name string) (any, error) {
	if value, ok := t.parameters[name]; ok {
		return value, nil
	}
	switch name {
	case "AWS::AccountId":
		return t.values.Account, nil
	case "AWS::Region":
		return t.values.Region, nil
	case "AWS::Partition":
		return partition, nil
	case "AWS::URLSuffix":
		return urlSuffix, nil
	case "AWS::NoValue":
		return removed{}, nil
	}
	return t.attribute(name, "Ref")
}

var variable = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

// substitution reads the argument of Fn::Sub: a text, or a text with its own variables.
func substitution(argument any) (text string, own map[string]any, err error) {
	if list, ok := argument.([]any); ok && len(list) == 2 {
		argument = list[0]
		own, _ = list[1].(map[string]any)
	}
	text, ok := argument.(string)
	if !ok {
		return "", nil, fmt.Errorf("the argument of Sub is %v, and not a text", argument)
	}
	return text, own, nil
}

// substitute is Fn::Sub.
func (t *template) substitute(argument any) (any, error) {
	text, own, err := substitution(argument)
	errs := []error{err}
	result := variable.ReplaceAllStringFunc(text, func(match string) string {
		reference := match[2 : len(match)-1]
		name, attribute, found := strings.Cut(reference, ".")
		var value any
		var err error
		if mine, ok := own[reference]; ok {
			value, err = t.resolve(mine)
		} else if found {
			value, err = t.attribute(name, attribute)
		} else {
			value, err = t.ref(name)
		}
		errs = append(errs, err)
		return fmt.Sprint(value)
	})
	return result, errors.Join(errs...)
}

// condition returns the value of a condition's expression.
func (t *template) condition(expression any) (bool, error) {
	fields, _ := expression.(map[string]any)
	for name, argument := range fields {
		operands, _ := argument.([]any)
		switch name {
		case "Condition":
			declared, ok := t.section("Conditions")[fmt.Sprint(argument)]
			if !ok {
				return false, fmt.Errorf("there is no condition %v", argument)
			}
			return t.condition(declared)
		case "Fn::Not":
			holds, err := t.condition(operands[0])
			return !holds, err
		case "Fn::And":
			for _, operand := range operands {
				if holds, err := t.condition(operand); err != nil || !holds {
					return false, err
				}
			}
			return true, nil
		case "Fn::Equals":
			pair, err := t.resolve(operands)
			if err != nil {
				return false, err
			}
			both, _ := pair.([]any)
			return len(both) == 2 && both[0] == both[1], nil
		}
	}
	return false, fmt.Errorf("the condition %v is not known here", expression)
}

// exists says whether a resource's condition holds, if it has one.
func (t *template) exists(r tree) (bool, error) {
	condition := r.at("Condition")
	if !condition.there() {
		return true, nil
	}
	return t.condition(map[string]any{"Condition": condition.value})
}

// attribute returns a resource's Ref or GetAtt.
func (t *template) attribute(name, attribute string) (string, error) {
	declaration, ok := t.section("Resources")[name]
	if !ok {
		return "", fmt.Errorf("there is no resource %s", name)
	}
	r := newTree(name, declaration)
	if exists, err := t.exists(r); err != nil || !exists {
		return "", fmt.Errorf("the resource %s is referred to where it does not exist (%v)", name, err)
	}
	kind := r.at("Type").text()
	physical := func(property string) (string, error) {
		value, err := t.resolve(r.at("Properties", property).value)
		if err == nil && value == nil {
			err = fmt.Errorf("%s has no %s", name, property)
		}
		return scalar(value), err
	}
	find, ok := attributes[kind+" "+attribute]
	if !ok {
		return "", fmt.Errorf("%s of %s, which is an %s, is not known here", attribute, name, kind)
	}
	var id string
	var err error
	if find.property == logicalID {
		id = name
	} else if find.property != "" {
		if id, err = physical(find.property); err != nil {
			return "", err
		}
	}
	return find.value(t.values, id), nil
}

// logicalID means the name of the resource in the template.
const logicalID = "!"

// attributes are the Ref and GetAtt of each type of resource, made from one of its properties.
var attributes = map[string]struct {
	property string
	value    func(v Values, id string) string
}{
	"AWS::S3::Bucket Ref":                                {"BucketName", plain},
	"AWS::DynamoDB::Table Ref":                           {"TableName", plain},
	"AWS::DynamoDB::Table Arn":                           {"TableName", func(v Values, id string) string { return v.arn("dynamodb", "table/"+id) }},
	"AWS::KMS::Key Ref":                                  {"", func(v Values, _ string) string { return v.KeyID }},
	"AWS::KMS::Key Arn":                                  {"", func(v Values, _ string) string { return v.arn("kms", "key/"+v.KeyID) }},
	"AWS::KMS::Alias Ref":                                {"AliasName", plain},
	"AWS::SQS::Queue Ref":                                {"QueueName", Values.queueURL},
	"AWS::SQS::Queue Arn":                                {"QueueName", func(v Values, id string) string { return v.arn("sqs", id) }},
	"AWS::SQS::Queue QueueName":                          {"QueueName", plain},
	"AWS::SNS::Topic Ref":                                {"TopicName", func(v Values, id string) string { return v.arn("sns", id) }},
	"AWS::Serverless::Function Ref":                      {"FunctionName", plain},
	"AWS::Serverless::Function Arn":                      {"FunctionName", func(v Values, id string) string { return v.arn("lambda", "function:"+id) }},
	"AWS::IAM::Role Arn":                                 {"RoleName", func(v Values, id string) string { return v.iamARN("role/" + id) }},
	"AWS::IAM::ManagedPolicy Ref":                        {"ManagedPolicyName", func(v Values, id string) string { return v.iamARN("policy/" + id) }},
	"AWS::Logs::LogGroup Ref":                            {"LogGroupName", plain},
	"AWS::Logs::LogGroup Arn":                            {"LogGroupName", func(v Values, id string) string { return v.arn("logs", "log-group:"+id+":*") }},
	"AWS::ApiGatewayV2::Api Ref":                         {"", func(Values, string) string { return apiID }},
	"AWS::ApiGatewayV2::Stage Ref":                       {"StageName", plain},
	"AWS::ApiGatewayV2::Integration Ref":                 {logicalID, plain},
	"AWS::ApiGatewayV2::DomainName Ref":                  {"DomainName", plain},
	"AWS::ApiGatewayV2::DomainName RegionalDomainName":   {"", func(Values, string) string { return domainTarget }},
	"AWS::ApiGatewayV2::DomainName RegionalHostedZoneId": {"", func(Values, string) string { return domainZone }},
}

func plain(_ Values, id string) string { return id }

// resources returns the existing resources, resolved, by type and name.
func (t *template) resources() (map[string]map[string]tree, error) {
	byType := map[string]map[string]tree{}
	for _, name := range slices.Sorted(maps.Keys(t.section("Resources"))) {
		r := newTree(name, t.section("Resources")[name])
		if exists, err := t.exists(r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		} else if !exists {
			continue
		}
		resolved, err := t.resolve(r.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		kind := r.at("Type").text()
		if byType[kind] == nil {
			byType[kind] = map[string]tree{}
		}
		byType[kind][name] = newTree(name, resolved)
	}
	return byType, nil
}
