package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDecode has the answers of all operations, and what differs from them.
func TestDecode(t *testing.T) {
	one := Item{Text("PK", "A"), Number("revision", 12), Bytes("data", []byte("larder"))}
	const oneJSON = `{"PK":{"S":"A"},"revision":{"N":"12"},"data":{"B":"bGFyZGVy"}}`
	for text, want := range map[string]answer{
		`{}`:                                  {},
		` { } `:                               {},
		`{"Item":` + oneJSON + `}`:            {item: one},
		`{"Item":null}`:                       {},
		`{"Count":9e+90}`:                     {},
		"{\"Item\":{\"a\":{\"S\":\"\xff\"}}}": {item: Item{Text("a", "\ufffd")}},
		`{"Item":{}}`:                         {item: Item{}},
		`{"Attributes":` + oneJSON + `,"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5}}`:        {item: one},
		`{"Count":1,"Items":[` + oneJSON + `],"ScannedCount":20}`:                                        {items: []Item{one}},
		`{"Count":0,"Items":[],"ScannedCount":0,"LastEvaluatedKey":` + oneJSON + `}`:                     {last: one},
		"{\n\t\"Items\" : [\r\n" + oneJSON + " , " + oneJSON + "\n ]\n}\n":                               {items: []Item{one, one}},
		`{"Responses":{"t":[` + oneJSON + `]},"UnprocessedKeys":{}}`:                                     {items: []Item{one}},
		`{"Responses":{},"UnprocessedKeys":{"t":{"ConsistentRead":true,"Keys":[` + oneJSON + `]}}}`:      {rest: []Item{one}},
		`{"Item":{"a":{"S":"quote \" slash \/ \\ \u00e9\ud83d\ude00 é"}}}`:                               {item: Item{Text("a", "quote \" slash / \\ é😀 é")}},
		`{"Item":{"a\u0062":{"S":""}}}`:                                                                  {item: Item{Text("ab", "")}},
		`{"Item":{"a":{"BOOL":true},"b":{"NULL":true},"c":{"L":[{"S":"x"}]},"d":{"M":{"e":{"N":"1"}}}}}`: {item: Item{}},
	} {
		if got, err := decode("", text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("decode(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	deep := func(levels int) string {
		return `{"x":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
	}
	if _, err := decode("", deep(maxDepth-1)); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	for _, text := range []string{
		``, `null`, `null x`, `[]`, `"Item"`, `{`, `{}{}`, `{} x`, `{}` + "\x00", `{"Item"}`, `{"Item":}`, `{"Item":{}`, `{"Item":{},}`, `{Item:{}}`, `{"Item":[]}`, `{"Items":{}}`,
		`{"Item":{"a":"b"}}`, `{"Item":{"a":{"S":1}}}`, `{"Item":{"a":{"S":"b"`, `{"Item":{"a":{"S":"b\`, `{"Item":{"a":{"S":"\x"}}}`, "{\"Item\":{\"a\":{\"S\":\"\n\"}}}",
		`{"Item":{"a":{"S":"b","N":"1"}}}`, `{"Count":01}`, `{"Count":nul}`, `{"Count":}`, `{"x":[1 2]}`, `{"x":[1,]}`, `{"x":{"y" 1}}`, `{"x":tru}`, `{"x":{"y":tru}}`, `{"x":[tru]}`, `{"x":[{"y":tru}]}`, deep(maxDepth),
		`{"Items":[{"a":{"S":1}}]}`, `{"Responses":{"t":[{"a":{"S":1}}]}}`, `{"LastEvaluatedKey":{"a":{"S":1}}}`, `{"UnprocessedKeys":{"t":{"Keys":[{"a":{"S":1}}]}}}`,
	} {
		if got, err := decode("", text); err == nil {
			t.Errorf("decode(%.80q) = %+v, want an error", text, got)
		}
	}
}

// What a proxy says in JSON must not pass for DynamoDB's answer that there is nothing.
func TestDecodeOtherAnswers(t *testing.T) {
	for operation, empty := range map[string]string{
		"BatchGetItem": `{"Responses":{},"UnprocessedKeys":{}}`,
		"Query":        `{"Items":[],"Count":0,"ScannedCount":0}`,
		"Scan":         `{"Items":[],"Count":0,"ScannedCount":0}`,
		"GetItem":      `{}`,
		"PutItem":      `{}`,
	} {
		if got, err := decode(operation, empty); err != nil || !reflect.DeepEqual(got, answer{}) {
			t.Errorf("%s: decode(%s) = %+v, %v", operation, empty, got, err)
		}
		if empty == `{}` {
			continue
		}
		for _, text := range []string{`{}`, `{"message":"try again"}`, `{"Item":{}}`} {
			if got, err := decode(operation, text); err == nil || !strings.Contains(err.Error(), "is not DynamoDB's") {
				t.Errorf("%s: decode(%s) = %+v, %v, want that it is not DynamoDB's", operation, text, got, err)
			}
		}
	}
}

// FuzzDecode holds the scanner to encoding/json. Both read a document without names that
// come twice, in two forms; the scanner also reads the document as it is.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"Item":{"PK":{"S":"A"},"n":{"N":"12"},"data":{"B":"bGFyZGVy"}},"Count":1}`,
		`{"Items":[{"a":{"S":"<\u00e9\">"}},null],"LastEvaluatedKey":{"b":{"L":[{"M":{}}]}}}`,
		`{"Responses":{"t":[{"a":{"S":""}}]},"UnprocessedKeys":{"t":{"Keys":[{"a":{"N":"-1"}}],"ConsistentRead":true}}}`,
		`{"x":[1.5e3,true,null,{"y":"\ud800"}]} `,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "[")+strings.Count(text, "{") > maxDepth {
			return
		}
		_, err := decode("", text)
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var tree any
		if !json.Valid([]byte(text)) || decoder.Decode(&tree) != nil {
			if err == nil {
				t.Fatalf("%q is not JSON", text)
			}
			return
		}
		document, marshalErr := json.Marshal(tree)
		var indented bytes.Buffer
		if marshalErr != nil || json.Indent(&indented, document, " ", "\t") != nil {
			t.Fatal(marshalErr)
		}
		want, ok := refer(tree)
		ok = ok && tree != nil
		for _, document := range []string{string(document), indented.String()} {
			got, err := decode("", document)
			if ok != (err == nil) || ok && !reflect.DeepEqual(byName(got), want) {
				t.Fatalf("decode(%s) = %+v, %v; by encoding/json: %+v, %t", document, got, err, want, ok)
			}
		}
	})
}

// named is an answer whose attributes have no order.
type named struct {
	item, last  map[string]Attribute
	items, rest []map[string]Attribute
}

func byName(a answer) named {
	item := func(i Item) map[string]Attribute {
		if i == nil {
			return nil
		}
		attributes := map[string]Attribute{}
		for _, attribute := range i {
			attributes[attribute.name] = attribute
		}
		return attributes
	}
	items := func(all []Item) (named []map[string]Attribute) {
		for _, i := range all {
			named = append(named, item(i))
		}
		return named
	}
	return named{item(a.item), item(a.last), items(a.items), items(a.rest)}
}

// refer makes an answer of what encoding/json reads.
func refer(tree any) (a named, ok bool) {
	ok = true
	reject := func() { ok = false }
	item := func(value any) map[string]Attribute { return referItem(value, reject) }
	items := func(value any) (items []map[string]Attribute) {
		for _, value := range element[[]any](value, reject) {
			items = append(items, item(value))
		}
		return items
	}
	for name, value := range sorted(element[map[string]any](tree, reject)) {
		switch name {
		case "Item", "Attributes":
			a.item = item(value)
		case "Items":
			a.items = items(value)
		case "LastEvaluatedKey":
			a.last = item(value)
		case "Responses":
			for _, value := range sorted(element[map[string]any](value, reject)) {
				a.items = items(value)
			}
		case "UnprocessedKeys":
			for _, value := range sorted(element[map[string]any](value, reject)) {
				a.rest = items(element[map[string]any](value, reject)["Keys"])
			}
		}
	}
	return a, ok
}

func referItem(value any, reject func()) map[string]Attribute {
	if value == nil {
		return nil
	}
	item := map[string]Attribute{}
	for name, value := range element[map[string]any](value, reject) {
		for of, value := range element[map[string]any](value, reject) {
			if of != "S" && of != "N" && of != "B" {
				continue
			}
			text, isText := value.(string)
			if _, twice := item[name]; twice || !isText {
				reject()
			}
			item[name] = Attribute{name, kind(of), text}
		}
	}
	return item
}

// element is an object or an array; a null is an empty one.
func element[T any](value any, reject func()) T {
	got, ok := value.(T)
	if !ok && value != nil {
		reject()
	}
	return got
}

func sorted(members map[string]any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if !yield(name, members[name]) {
				return
			}
		}
	}
}

// TestItem checks that an attribute of another type, or without a good value, is as if it
// did not exist.
func TestItem(t *testing.T) {
	i := Item{Text("s", "text"), Number("n", -7), Bytes("b", []byte{0, 255}), Bytes("empty", nil), {"half", numberKind, "1.5"}, {"bad", bytesKind, "%"}, Text("twice", "1"), Text("twice", "2")}
	type values struct {
		text   string
		number int
		base64 string
		bytes  []byte
	}
	for name, want := range map[string]values{
		"s":     {text: "text", bytes: []byte{}},
		"n":     {number: -7, bytes: []byte{}},
		"b":     {base64: "AP8=", bytes: []byte{0, 255}},
		"empty": {bytes: []byte{}},
		"half":  {bytes: []byte{}},
		"bad":   {base64: "%"},
		"twice": {text: "2", bytes: []byte{}},
		"other": {bytes: []byte{}},
	} {
		if got := (values{i.Text(name), i.Number(name), i.Base64(name), i.Bytes(name)}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
}

// TestAllocations bounds what a read allocates besides what net/http and the signature
// take.
func TestAllocations(t *testing.T) {
	item := `{"PK":{"S":"P#acme/widget"},"SK":{"S":"LIST"},"revision":{"N":"400"},"chunks":{"N":"1"},"data":{"B":"` + strings.Repeat("bGFyZGVy", 200) + `"}}`
	for text, most := range map[string]float64{`{"Item":` + item + `}`: 1, `{"Responses":{"t":[` + item + `,` + item + `]},"UnprocessedKeys":{}}`: 4} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := decode("", text); err != nil {
				t.Error(err)
			}
		}); n > most {
			t.Errorf("decode(%.20s…) takes %v allocations, want up to %v", text, n, most)
		}
	}
	get := Get{Table: "larder", Key: Item{Text("PK", "P#acme/widget"), Text("SK", "LIST")}}
	if n := testing.AllocsPerRun(100, func() { encode(get) }); n > 3 {
		t.Errorf("encode takes %v allocations, want up to 3", n)
	}
}
