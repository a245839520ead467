package printable

import "testing"

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a b é 字": "a b é 字", "a\x1b[2Jb": "a\uFFFD[2Jb", "\r\n\t\x00": "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\u202Eback": "\uFFFDback", "\u0085\xff": "\uFFFD\uFFFD",
	} {
		if got := Text(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
