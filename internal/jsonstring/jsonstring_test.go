package jsonstring_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/jsonstring"
)

// FuzzAppend holds the strings to those of encoding/json.
func FuzzAppend(f *testing.F) {
	var ascii strings.Builder
	for c := range 0x80 {
		ascii.WriteByte(byte(c))
	}
	for _, seed := range []string{"", "larder", `"\`, ascii.String(), "é😀\uFFFD", "\xff<>&\u2028a\u2029", "a\xc3", "\xe2\x80\xed\xa0\x80b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Fatal(err)
		}
		line := "x" + strings.TrimSuffix(want.String(), "\n")
		if got := jsonstring.Append([]byte("x"), text); string(got) != line {
			t.Errorf("%q is %s, want %s", text, got, line)
		}
		if got := jsonstring.Append([]byte("x"), []byte(text)); string(got) != line {
			t.Errorf("the bytes %q are %s, want %s", text, got, line)
		}
	})
}

func TestAppendAllocatesNothing(t *testing.T) {
	text, to := "a\n\"é\xff\u2028", make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() { jsonstring.Append(to, text); jsonstring.Append(to, []byte(text)) }); n > 0 {
		t.Errorf("it takes %v allocations", n)
	}
}
