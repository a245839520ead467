package wire

import (
	"encoding/base64"
	"iter"
	"strconv"
)

// Item is an item, a part of one, or the values of an expression: some attributes. As an
// item it has each name once.
type Item []Attribute

// Attribute is a name with a string, a number or some bytes. An answer's attributes of
// other types are left out.
type Attribute struct {
	name  string
	kind  kind
	value string // as it is in JSON: bytes are base64
}

// kind is the name of a value's type in JSON.
type kind string

const (
	stringKind kind = "S"
	numberKind kind = "N"
	bytesKind  kind = "B"
)

// Text is an attribute with a string.
func Text(name, value string) Attribute { return Attribute{name, stringKind, value} }

// Number is an attribute with a number.
func Number(name string, value int) Attribute {
	return Attribute{name, numberKind, strconv.Itoa(value)}
}

// Bytes is an attribute with bytes.
func Bytes(name string, value []byte) Attribute {
	return Attribute{name, bytesKind, base64.StdEncoding.EncodeToString(value)}
}

// Text is the string under a name, or empty if the item has no such string.
func (i Item) Text(name string) string { return i.value(name, stringKind) }

// Number is the number under a name, or 0 if the item has no such integer.
func (i Item) Number(name string) int {
	n, err := strconv.Atoi(i.value(name, numberKind))
	if err != nil {
		return 0
	}
	return n
}

// Numbers is all attributes with integers, by name. It is for an item with many of them.
func (i Item) Numbers() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, a := range i {
			if n, err := strconv.Atoi(a.value); a.kind == numberKind && err == nil && !yield(a.name, n) {
				return
			}
		}
	}
}

// Base64 is the bytes under a name as DynamoDB sends them, or empty if the item has no
// such bytes.
func (i Item) Base64(name string) string { return i.value(name, bytesKind) }

// Bytes is the bytes under a name, or empty if the item has no such bytes.
func (i Item) Bytes(name string) []byte {
	value, err := base64.StdEncoding.DecodeString(i.value(name, bytesKind))
	if err != nil {
		return nil
	}
	return value
}

// value is the last one, as everywhere in JSON.
func (i Item) value(name string, of kind) string {
	for n := len(i) - 1; n >= 0; n-- {
		if i[n].name == name {
			if i[n].kind == of {
				return i[n].value
			}
			return ""
		}
	}
	return ""
}
