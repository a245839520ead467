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

func TestReplace(t *testing.T) {
	const text = "a\x1b \u202eé\u00a0\xff\xfe\uFFFD"
	for with, want := range map[rune]string{'?': "a? ?é?\uFFFD\uFFFD\uFFFD", -1: "a é\uFFFD\uFFFD\uFFFD"} {
		if got := Replace(text, with); got != want {
			t.Errorf("with %q it is %q, want %q", with, got, want)
		}
	}
}
