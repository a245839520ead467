package contents

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// EncodeModule returns the document of a module, at most [MaxDocument] bytes of JSON. The
// same module gives the same bytes. If it would be larger, texts are left out, and a problem
// says which.
func EncodeModule(m Module) []byte {
	return shrink(m, func(m *Module) ([]saving, *[]string) { return m.savings(), &m.Problems })
}

// EncodeProvider returns the document of a provider, likewise.
func EncodeProvider(p Provider) []byte {
	return shrink(p, func(p *Provider) ([]saving, *[]string) { return p.savings(), &p.Problems })
}

// DecodeModule returns the module of a document. Fields that it does not know are passed over.
func DecodeModule(document []byte) (Module, error) {
	return decode[Module](document)
}

// DecodeProvider returns the provider of a document. Fields that it does not know are passed
// over.
func DecodeProvider(document []byte) (Provider, error) {
	return decode[Provider](document)
}

func decode[D Module | Provider](document []byte) (d D, err error) {
	if len(document) > MaxDocument {
		return d, fmt.Errorf("the document has %d bytes; at most %d are read", len(document), MaxDocument)
	}
	if err := json.Unmarshal(document, &d); err != nil {
		var none D
		return none, fmt.Errorf("the document is no JSON of this kind: %w", err)
	}
	return d, nil
}

// shrink encodes a document, with as many of its savings as it takes to keep the limit.
func shrink[D Module | Provider](document D, of func(*D) ([]saving, *[]string)) []byte {
	data := encode(document)
	if len(data) <= MaxDocument {
		return data
	}
	// The caller's document stays as it is. What is just encoded can be decoded.
	var smaller D
	if err := json.Unmarshal(data, &smaller); err != nil {
		panic(err)
	}
	savings, problems := of(&smaller)
	for _, s := range savings {
		s.apply()
		problem := s.what + " are left out: with them, the document would be larger than 4 MiB."
		kept := (*problems)[:min(len(*problems), MaxProblems-1)]
		*problems = append([]string{problem}, kept...)
		if data = encode(smaller); len(data) <= MaxDocument {
			break
		}
	}
	return data
}

// AddProblem adds a problem, once, as long as there is room. The last one says that there
// are more.
func AddProblem(problems []string, sentence string) []string {
	const more = "There are more problems than these."
	for _, p := range problems {
		if p == sentence || p == more {
			return problems
		}
	}
	if len(problems) == MaxProblems-1 {
		sentence = more
	}
	return append(problems, sentence)
}

// encode cannot fail: documents are made of strings, numbers and lists of them.
func encode(document any) []byte {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(data.Bytes(), []byte("\n"))
}
