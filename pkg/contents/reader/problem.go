package reader

import (
	"fmt"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/larder-registry/larder/pkg/contents"
)

// at begins a problem with the place in the archive. Line 0 is the whole file.
func at(file string, line int) string {
	if line == 0 {
		return contents.Clean(file) + ": "
	}
	return fmt.Sprintf("%s, line %d: ", contents.Clean(file), line)
}

// maxMessage is the longest text of a library in a problem, in bytes. It can quote the archive.
const maxMessage = 300

// message makes a text of a library a part of a problem: on one line, and a full sentence.
func message(text string) string {
	text = strings.Join(strings.Fields(contents.Clean(text)), " ")
	if short, cut := contents.Cut(text, maxMessage); cut {
		text = short + "…"
	}
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// complaints are problems of one file, of which only the first few are kept.
type complaints struct {
	file    string // its path in the archive
	problem func(string)
	said    map[string]bool
	more    int
}

func (c *complaints) add(line int, sentence string) {
	sentence = at(c.file, line) + sentence
	switch {
	case c.said[sentence]:
	case len(c.said) == maxMessages:
		c.more++
	default:
		c.said[sentence] = true
		c.problem(sentence)
	}
}

// addAll adds the errors among diagnostics.
func (c *complaints) addAll(diagnostics hcl.Diagnostics) {
	for _, d := range diagnostics {
		if d.Severity != hcl.DiagError {
			continue
		}
		line := 0
		if d.Subject != nil {
			line = d.Subject.Start.Line
		}
		c.add(line, strings.TrimSpace(message(d.Summary)+" "+message(d.Detail)))
	}
}

// end says how many problems were not kept.
func (c *complaints) end() {
	if c.more > 0 {
		c.problem(fmt.Sprintf("%sThere are %d more problems in this file.", at(c.file, 0), c.more))
	}
}

func newComplaints(dir, base string, problem func(string)) *complaints {
	return &complaints{file: path.Join(dir, base), problem: problem, said: map[string]bool{}}
}
