package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Page is some items of a partition or a table.
type Page struct {
	Items []Item
	Last  Item // the key after which the next page begins; nil at the end
}

// answer is what an operation answers.
type answer struct {
	item  Item
	items []Item
	last  Item   // the key after which the next page begins
	rest  []Item // keys that DynamoDB did not get to
}

// promised has the member that every answer to an operation has, if there is one. What lacks
// it was not said by DynamoDB, and must not pass for an answer that nothing was found.
var promised = map[string]string{"BatchGetItem": "Responses", "Query": "Items", "Scan": "Items"}

// decode reads the JSON of an operation's answer.
func decode(operation, text string) (a answer, err error) {
	s := scanner{text: text}
	missing := promised[operation]
	if s.space() != '{' { // no null, as there may be inside
		err = errJSON
	} else {
		err = s.object(func(name string) error {
			if name == missing {
				missing = ""
			}
			return s.member(name, &a)
		})
	}
	if err == nil && !s.atEnd() {
		err = errJSON
	}
	if err != nil {
		return answer{}, fmt.Errorf("the answer's JSON at byte %d of %d: %w", s.at, len(text), err)
	}
	if missing != "" {
		return answer{}, fmt.Errorf("the answer is not DynamoDB's, since it has no %s: %.200q", missing, text)
	}
	return a, nil
}

var errJSON = errors.New("something else is expected")

// maxDepth is how deep values may lie in each other. DynamoDB's limit for an item is 32,
// and each of these takes two levels of JSON.
const maxDepth = 100

// scanner reads JSON, by what is expected next. What it returns is a part of the text if
// that is possible, and so nothing is copied.
type scanner struct {
	text  string
	at    int
	depth int
}

// space skips white space, and returns the byte after that, or 0 at the end.
func (s *scanner) space() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) atEnd() bool { return s.space() == 0 && s.at == len(s.text) }

// take skips a byte that is expected.
func (s *scanner) take(c byte) bool {
	if s.space() != c {
		return false
	}
	s.at++
	return true
}

// each reads what lies between two braces, separated by commas. A null has no elements.
func (s *scanner) each(open, closing byte, element func() error) error {
	if s.space() == 'n' {
		return s.scalar()
	}
	if s.depth++; s.depth > maxDepth || !s.take(open) {
		return errJSON
	}
	for done := s.take(closing); !done; {
		if err := element(); err != nil {
			return err
		}
		if done = s.take(closing); !done && !s.take(',') {
			return errJSON
		}
	}
	s.depth--
	return nil
}

// object reads an object. The function reads the value of each name.
func (s *scanner) object(member func(name string) error) error {
	return s.each('{', '}', func() error {
		name, err := s.string()
		if err == nil && !s.take(':') {
			err = errJSON
		}
		if err != nil {
			return err
		}
		return member(name)
	})
}

// member reads a member of an answer.
func (s *scanner) member(name string, a *answer) (err error) {
	switch name {
	case "Item", "Attributes":
		a.item, err = s.item()
	case "Items":
		a.items, err = s.items()
	case "LastEvaluatedKey":
		a.last, err = s.item()
	case "Responses":
		err = s.object(func(string) error { a.items, err = s.items(); return err })
	case "UnprocessedKeys":
		err = s.object(func(string) error { a.rest, err = s.keys(); return err })
	default:
		err = s.skip()
	}
	return err
}

// string reads a string. Most strings are their own JSON; the others are left to
// encoding/json.
func (s *scanner) string() (string, error) {
	if !s.take('"') {
		return "", errJSON
	}
	begin := s.at
	for ; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	if s.at >= len(s.text) {
		return "", errJSON
	}
	s.at++
	if value := s.text[begin : s.at-1]; isPlain(value) {
		return value, nil
	}
	return unquote(s.text[begin-1 : s.at])
}

// isPlain says whether a string is the same in JSON.
func isPlain(s string) bool {
	for n := range len(s) {
		if c := s[n]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func unquote(quoted string) (value string, err error) {
	err = json.Unmarshal([]byte(quoted), &value)
	return value, err
}

// skip reads any value.
func (s *scanner) skip() error {
	switch s.space() {
	case '{':
		return s.object(func(string) error { return s.skip() })
	case '[':
		return s.each('[', ']', s.skip)
	case '"':
		_, err := s.string()
		return err
	}
	return s.scalar()
}

// scalar reads a number, a boolean or null.
func (s *scanner) scalar() error {
	begin := s.at
	for s.at < len(s.text) && isScalar(s.text[s.at]) {
		s.at++
	}
	if !json.Valid([]byte(s.text[begin:s.at])) {
		return errJSON
	}
	return nil
}

// isScalar says whether a byte may be in a number, a boolean or null.
func isScalar(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == 'E' || c == '+' || c == '-' || c == '.'
}

// items reads an array of items.
func (s *scanner) items() (items []Item, err error) {
	err = s.each('[', ']', func() error {
		i, err := s.item()
		items = append(items, i)
		return err
	})
	return items, err
}

// keys reads what a batch asks for of a table.
func (s *scanner) keys() (keys []Item, err error) {
	err = s.object(func(name string) error {
		if name != "Keys" {
			return s.skip()
		}
		keys, err = s.items()
		return err
	})
	return keys, err
}

// attributesOfMost is how many attributes most items have at most.
const attributesOfMost = 6

// item reads an item. It is nil if the JSON is null.
func (s *scanner) item() (i Item, err error) {
	if s.space() == '{' {
		i = make(Item, 0, attributesOfMost)
	}
	err = s.object(func(name string) error {
		attribute := Attribute{name: name}
		err := s.object(func(of string) (err error) {
			switch k := kind(of); k {
			case stringKind, numberKind, bytesKind:
				if attribute.kind != "" {
					return errJSON
				}
				attribute.kind = k
				attribute.value, err = s.string()
				return err
			}
			return s.skip()
		})
		if attribute.kind != "" {
			i = append(i, attribute)
		}
		return err
	})
	return i, err
}
