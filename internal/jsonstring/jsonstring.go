// Package jsonstring writes strings of JSON without the allocations of encoding/json.
package jsonstring

import "unicode/utf8"

// Append appends a text as a string of JSON, as encoding/json writes it if it does not escape
// HTML. Bytes that are not UTF-8 become U+FFFD.
func Append[text string | []byte](to []byte, s text) []byte {
	const digits = "0123456789abcdef"
	to = append(to, '"')
	begin := 0 // of what is the same in JSON
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		r, size := rune(c), 1
		if c >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if (r != utf8.RuneError || size > 1) && r != '\u2028' && r != '\u2029' { // these two end a line of JavaScript
				i += size
				continue
			}
		}
		to = append(append(to, s[begin:i]...), '\\')
		switch {
		case r == '"' || r == '\\':
			to = append(to, c)
		case r < ' ' && short[r] != 0:
			to = append(to, short[r])
		default:
			to = append(to, 'u', digits[r>>12], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		}
		i += size
		begin = i
	}
	return append(append(to, s[begin:]...), '"')
}

// short is the letter of a control character that has a short escape.
var short = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}
