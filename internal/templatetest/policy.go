package templatetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Policy is an IAM policy of a role or a resource.
type Policy []Statement

// Statement is one statement of a policy. Lists are sorted.
type Statement struct {
	Sid        string
	Effect     string      // Allow or Deny
	Principals []string    // such as "Service s3.amazonaws.com"; empty in a role's policy
	Actions    []string    // with wildcards
	Resources  []string    // with wildcards; empty in a role's trust policy
	Conditions []Condition // all of them must hold
}

// Condition is one condition key of a statement.
type Condition struct {
	Operator string // such as ForAllValues:StringLike
	Key      string
	Values   []string // one of them must match, or none for the negated operators
}

type decision int

const (
	undecided decision = iota
	allowed
	denied
)

// Allows reports whether the policy allows an action on a resource and does not deny it. The
// context has one value for each condition key of the request. It does not check the policy's
// principals: they must be those of the caller.
func (p Policy) Allows(action, resource string, context map[string]string) bool {
	return p.decide(action, resource, context) == allowed
}

func (p Policy) decide(action, resource string, context map[string]string) decision {
	result := undecided
	for _, s := range p {
		if !s.covers(action, resource, context) {
			continue
		}
		if s.Effect == "Deny" {
			return denied
		}
		result = allowed
	}
	return result
}

func (s Statement) covers(action, resource string, context map[string]string) bool {
	isAction := func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(action)) }
	isResource := func(pattern string) bool { return like(pattern, resource) }
	holds := func(c Condition) bool { return c.holds(context) }
	return slices.ContainsFunc(s.Actions, isAction) && slices.ContainsFunc(s.Resources, isResource) &&
		!slices.ContainsFunc(s.Conditions, func(c Condition) bool { return !holds(c) })
}

// comparison is a condition operator without its modifiers.
type comparison struct {
	matches func(pattern, value string) bool
	negated bool // holds where no pattern matches, and where the key is missing
}

// comparisons are the known operators.
var comparisons = map[string]comparison{
	"ArnEquals":       {like, false}, // with wildcards, as IAM has it
	"ArnNotEquals":    {like, true},
	"StringEquals":    {equal, false},
	"StringNotEquals": {equal, true},
	"StringLike":      {like, false},
	"Bool":            {strings.EqualFold, false},
	"NumericLessThan": {func(limit, value string) bool { return number(value) < number(limit) }, false},
	"Null":            {equal, false},
}

func equal(a, b string) bool { return a == b }

// number returns 0 for a text that is not a number; the values of policies are checked before.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// parseOperator splits an operator from its modifiers. These only matter for a missing key: a
// request has at most one value for each key.
func parseOperator(operator string) (c comparison, missingHolds bool, err error) {
	name, forAll := strings.CutPrefix(operator, "ForAllValues:")
	name, ifExists := strings.CutSuffix(name, "IfExists")
	c, known := comparisons[name]
	if !known {
		return c, false, fmt.Errorf("the condition operator %s is not known here", operator)
	}
	return c, forAll || ifExists || c.negated, nil
}

func (c Condition) holds(context map[string]string) bool {
	operator, missingHolds, err := parseOperator(c.Operator)
	if err != nil {
		return false // parsePolicy has refused it
	}
	value, present := context[c.Key]
	if c.Operator == "Null" {
		value, present = strconv.FormatBool(!present), true
	}
	if !present {
		return missingHolds
	}
	found := slices.ContainsFunc(c.Values, func(pattern string) bool { return operator.matches(pattern, value) })
	return found != operator.negated
}

// like matches IAM's wildcards: * for any text, ? for one character.
func like(pattern, text string) bool {
	for pattern != "" {
		switch {
		case pattern[0] == '*':
			for n := range len(text) + 1 {
				if like(pattern[1:], text[n:]) {
					return true
				}
			}
			return false
		case text == "" || pattern[0] != '?' && pattern[0] != text[0]:
			return false
		}
		pattern, text = pattern[1:], text[1:]
	}
	return text == ""
}

// parsePolicy reads a policy document, decoded or as JSON.
func parsePolicy(document any) (Policy, error) {
	if text, ok := document.(string); ok {
		if err := json.Unmarshal([]byte(text), &document); err != nil {
			return nil, fmt.Errorf("a policy is no JSON: %w", err)
		}
	}
	fields, _ := document.(map[string]any)
	if fields["Version"] != "2012-10-17" {
		return nil, fmt.Errorf("a policy is of version %v", fields["Version"])
	}
	statements, _ := fields["Statement"].([]any)
	var p Policy
	for _, raw := range statements {
		s, err := parseStatement(raw)
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

func parseStatement(raw any) (Statement, error) {
	fields, _ := raw.(map[string]any)
	s := Statement{Sid: scalar(fields["Sid"]), Effect: scalar(fields["Effect"])}
	for name, value := range fields {
		var err error
		switch name {
		case "Sid", "Effect":
		case "Action":
			s.Actions = sorted(value)
		case "Resource":
			s.Resources = sorted(value)
		case "Principal":
			s.Principals = principals(value)
		case "Condition":
			s.Conditions, err = parseConditions(value)
		default:
			err = fmt.Errorf("%s is not known here", name)
		}
		if err != nil {
			return Statement{}, fmt.Errorf("statement %q: %w", s.Sid, err)
		}
	}
	if s.Effect != "Allow" && s.Effect != "Deny" || len(s.Actions) == 0 {
		return Statement{}, fmt.Errorf("statement %q: it has no effect or no action", s.Sid)
	}
	return s, nil
}

func principals(value any) []string {
	byKind, ok := value.(map[string]any)
	if !ok {
		return sorted(value)
	}
	var all []string
	for kind, names := range byKind {
		for _, name := range sorted(names) {
			all = append(all, kind+" "+name)
		}
	}
	slices.Sort(all)
	return all
}

func parseConditions(value any) ([]Condition, error) {
	operators, _ := value.(map[string]any)
	var conditions []Condition
	for _, operator := range slices.Sorted(maps.Keys(operators)) {
		if _, _, err := parseOperator(operator); err != nil {
			return nil, err
		}
		keys, _ := operators[operator].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			conditions = append(conditions, Condition{operator, key, sorted(keys[key])})
		}
	}
	return conditions, nil
}

// sorted returns a sorted list of texts, from a list or one text.
func sorted(value any) []string {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, len(list))
	for n, element := range list {
		texts[n] = scalar(element)
	}
	slices.Sort(texts)
	return texts
}

// scalar writes a text, a number or a boolean.
func scalar(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	default:
		return fmt.Sprint(v)
	}
}
