package contents

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFirstParagraph(t *testing.T) {
	for readme, want := range map[string]string{
		"":                                     "",
		"Makes a network.":                     "Makes a network.",
		"# VPC\n\nMakes\na network.":           "Makes a network.",
		"# VPC\nMakes a network.\n":            "Makes a network.",
		"VPC\n===\n\nMakes one.":               "Makes one.",
		"VPC\n---\nMakes one.":                 "Makes one.",
		"# VPC\r\n\r\nMakes one.\r\n\r\nMore.": "Makes one.",
		"[![Build](https://a/b.svg)](https://a)\n\nMakes one.":       "Makes one.",
		"<p align=\"center\">\n<img src=\"a.png\">\n</p>\n\nMakes.":  "Makes.",
		"<!-- BEGIN\n\nx -->\nMakes `one` **of** [them](https://a).": "Makes one of them.",
		"```hcl\nmodule \"a\" {}\n\nmore\n```\n\nMakes one.":         "Makes one.",
		"- a\n- b\n\n1. c\n\nMakes one.":                             "Makes one.",
		"| a | b |\n|---|---|\n\nMakes one.":                         "Makes one.",
		"    code\n\nMakes one.":                                     "Makes one.",
		"Makes one:\n- a\n- b":                                       "Makes one:",
		"> Makes *one*":                                              "Makes one",
		"# VPC\n \nMakes one.\n \nMore.":                             "Makes one.",
		"Sets my_name and _other_.":                                  "Sets my_name and other.",
		"# Only\n## Headings":                                        "",
		"```\nnever closed\n\nMakes one.":                            "",
		"a < b and c > d":                                            "a < b and c > d",
		"<script>alert(1)</script>":                                  "alert(1)",
	} {
		if got := FirstParagraph(readme); got != want {
			t.Errorf("%q: %q, want %q", readme, got, want)
		}
	}
	if got := FirstParagraph(strings.Repeat("ä", MaxParagraph)); len(got) > MaxParagraph || !utf8.ValidString(got) {
		t.Errorf("a long one has %d bytes", len(got))
	}
	if got := FirstParagraph("First." + strings.Repeat("\n\nmore", MaxParagraph)); got != "First." {
		t.Errorf("one of many: %.20q", got)
	}
}

// What is found is one line of plain text, whatever the README has.
func FuzzFirstParagraph(f *testing.F) {
	f.Add("# VPC\n\nMakes **one** [of](https://a) them.\n")
	f.Add("<!-- a -->\n```\nb\n```\n| c |")
	f.Fuzz(func(t *testing.T, readme string) {
		got := FirstParagraph(readme)
		if strings.ContainsAny(got, "\n\r\t") || len(got) > MaxParagraph || utf8.ValidString(readme) && !utf8.ValidString(got) {
			t.Errorf("%q: %q", readme, got)
		}
	})
}
