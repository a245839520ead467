package archive

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameProblem says what is wrong with the name of a file or folder, or "". It
// completes a sentence that begins with the name.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "has no name."
	case len(name) > MaxName:
		return fmt.Sprintf("has a name of %d bytes; at most %d are accepted.", len(name), MaxName)
	case !utf8.ValidString(name):
		return "has a name that is not valid UTF-8."
	case strings.ContainsFunc(name, unicode.IsControl):
		return "has a control character in its name."
	case strings.Contains(name, `\`):
		return "has a backslash in its name; names are written with forward slashes."
	case strings.HasPrefix(name, "/"):
		return `has an absolute name; names are relative to the root of the archive.`
	case hasDriveLetter(name):
		return "has a name that begins with a drive letter; names are relative to the root of the archive."
	}
	for segment := range strings.SplitSeq(name, "/") {
		switch segment {
		case "":
			return `has an empty segment in its name ("//", or "/" at the end of a file's name).`
		case ".", "..":
			return fmt.Sprintf("has a %q segment in its name; names lead straight down from the root of the archive.", segment)
		}
	}
	return ""
}

func hasDriveLetter(name string) bool {
	return len(name) >= 2 && name[1] == ':' && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z'
}

// quote quotes a name for a message, with anything unprintable escaped and the
// middle of a long one left out.
func quote(name string) string {
	const most = 100
	if len(name) > most {
		head := strings.ToValidUTF8(name[:most/2], "")
		tail := strings.ToValidUTF8(name[len(name)-most/2:], "")
		name = head + "..." + tail
	}
	return fmt.Sprintf("%q", name)
}

// A tree is the names of an archive as a file system will see them.
type tree struct {
	nodes map[string]node // by name without regard to case
	bytes int             // of all names added
}

type node struct {
	name string
	kind kind
}

type kind int

const (
	impliedFolder kind = iota // a folder that is named in the path of another entry
	folder
	file
)

// add adds a file or folder and the folders that lead to it. What it returns is
// "" or a sentence that says how the name clashes with an earlier one.
func (t *tree) add(name string, k kind) string {
	name = strings.Clone(name) // a tar reader's names may hold on to a whole pax header
	folded := fold(name)
	t.bytes += len(name)
	for i, j := 0, 0; ; i, j = i+1, j+1 {
		n := strings.IndexByte(name[i:], '/')
		if n < 0 {
			return t.put(folded, node{name, k})
		}
		i += n
		j += strings.IndexByte(folded[j:], '/')
		if clash := t.put(folded[:j], node{name[:i], impliedFolder}); clash != "" {
			return clash
		}
	}
}

func (t *tree) put(folded string, n node) string {
	if t.nodes == nil {
		t.nodes = make(map[string]node)
	}
	old, found := t.nodes[folded]
	switch {
	case !found:
		t.nodes[folded] = n
	case old.name != n.name:
		return fmt.Sprintf("%s and %s differ only in case, which not every file system can tell apart.", quote(old.name), quote(n.name))
	case (old.kind == file) != (n.kind == file):
		return fmt.Sprintf("%s is both a file and a folder.", quote(n.name))
	case old.kind != impliedFolder && n.kind != impliedFolder:
		return fmt.Sprintf("%s appears more than once.", quote(n.name))
	case n.kind == folder:
		t.nodes[folded] = n
	}
	return ""
}

// top returns the only top-level entry, and false when there are several or
// none.
func (t *tree) top() (node, bool) {
	var only node
	count := 0
	for folded, n := range t.nodes {
		if !strings.Contains(folded, "/") {
			only = n
			count++
		}
	}
	return only, count == 1
}

// fold maps names that a case-insensitive file system takes for one to one
// string. The way through upper case joins letters that have two lower-case
// forms.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
