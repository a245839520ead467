package dynamostand

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// condition reads an expression of DynamoDB and says whether an item meets it. The item is nil
// if it does not exist.
type condition struct {
	words  []string
	names  map[string]string // what #name is
	values map[string]attribute
	item   item
}

var word = regexp.MustCompile(`[A-Za-z_#:][A-Za-z0-9_]*|<=|>=|<>|[(),=<>]`)

// meets says whether an item meets an expression. Every item meets the empty one.
func meets(i item, expression string, in input) (bool, error) {
	if expression == "" {
		return true, nil
	}
	c := condition{word.FindAllString(expression, -1), in.ExpressionAttributeNames, in.ExpressionAttributeValues, i}
	ok, err := c.or()
	if err == nil && len(c.words) > 0 {
		err = fmt.Errorf("%q is left of %q", c.words, expression)
	}
	return ok, err
}

func (c *condition) next() string {
	if len(c.words) == 0 {
		return ""
	}
	first := c.words[0]
	c.words = c.words[1:]
	return first
}

func (c *condition) take(want string) bool {
	if len(c.words) == 0 || !strings.EqualFold(c.words[0], want) {
		return false
	}
	c.words = c.words[1:]
	return true
}

func (c *condition) or() (bool, error) {
	ok, err := c.and()
	for err == nil && c.take("OR") {
		var other bool
		other, err = c.and()
		ok = ok || other
	}
	return ok, err
}

func (c *condition) and() (bool, error) {
	ok, err := c.term()
	for err == nil && c.take("AND") {
		var other bool
		other, err = c.term()
		ok = ok && other
	}
	return ok, err
}

func (c *condition) term() (bool, error) {
	if c.take("(") {
		ok, err := c.or()
		if err == nil && !c.take(")") {
			err = fmt.Errorf("a ) is missing before %q", c.words)
		}
		return ok, err
	}
	first := c.next()
	if c.take("(") {
		return c.call(first)
	}
	return c.compare(c.attribute(first), c.next(), c.next())
}

// attribute is the value of an attribute by its name in an expression.
func (c *condition) attribute(name string) attribute {
	if replaced, ok := c.names[name]; ok {
		name = replaced
	}
	return c.item[name]
}

func (c *condition) call(function string) (bool, error) {
	value := c.attribute(c.next())
	var prefix attribute
	if c.take(",") {
		prefix = c.values[c.next()]
	}
	if !c.take(")") {
		return false, fmt.Errorf("a ) is missing before %q", c.words)
	}
	switch function {
	case "attribute_exists":
		return value != attribute{}, nil
	case "attribute_not_exists":
		return value == attribute{}, nil
	case "begins_with":
		return value.S != nil && prefix.S != nil && strings.HasPrefix(*value.S, *prefix.S), nil
	}
	return false, fmt.Errorf("the stand-in does not know the function %q", function)
}

// compare compares two numbers or two texts. Others are neither less nor equal.
func (c *condition) compare(value attribute, operator, with string) (bool, error) {
	other, ok := c.values[with]
	if !ok {
		return false, fmt.Errorf("the value %q is missing", with)
	}
	order, comparable := order(value, other)
	switch operator {
	case "=":
		return comparable && order == 0, nil
	case "<":
		return comparable && order < 0, nil
	}
	return false, fmt.Errorf("the stand-in does not know the operator %q", operator)
}

func order(a, b attribute) (order int, comparable bool) {
	switch {
	case a.S != nil && b.S != nil:
		return strings.Compare(*a.S, *b.S), true
	case a.N != nil && b.N != nil:
		x, errX := strconv.Atoi(*a.N)
		y, errY := strconv.Atoi(*b.N)
		return x - y, errX == nil && errY == nil
	}
	return 0, false
}
