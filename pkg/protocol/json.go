package protocol

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/larder-registry/larder/internal/jsonstring"
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
	return appendList(b, slices.Values(list), jsonstring.Append)
}
