package protocol

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// encode writes one of this package's documents. All of them are made of
// strings and lists, which can always be written.
func encode(document any) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false) // it would spoil the look of every presigned URL
	if err := encoder.Encode(document); err != nil {
		panic(err)
	}
	return body.Bytes()
}

// appendJSON adds a value as encode writes it, without the end of the line.
func appendJSON(b []byte, value any) []byte {
	return append(b, bytes.TrimSuffix(encode(value), []byte("\n"))...)
}

// appendString adds a string as encode writes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return appendJSON(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendList adds the elements of a list, with commas between them, in brackets.
func appendList[T any](b []byte, list iter.Seq[T], add func([]byte, T) []byte) []byte {
	b = append(b, '[')
	start := len(b)
	for element := range list {
		if len(b) > start {
			b = append(b, ',')
		}
		b = add(b, element)
	}
	return append(b, ']')
}

// appendStrings adds a list of strings, which is [] if it is empty: clients read a null
// otherwise.
func appendStrings(b []byte, list []string) []byte {
	return appendList(b, slices.Values(list), appendString)
}
