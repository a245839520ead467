package archive

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// nameProblem says what is wrong with the name of a file or folder, or "". It
// completes a sentence that begins with the name.
//
// Most rules are for file systems that change a name, and so overwrite another file, or
// refuse it. They hold for each segment by itself, so an unwrapped name keeps them, too.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "has no name."
	case len(name) > MaxName:
		return fmt.Sprintf("has a name of %d bytes; at most %d are accepted.", len(name), MaxName)
	case !utf8.ValidString(name):
		return "has a name that is not valid UTF-8."
	case strings.HasPrefix(name, "/"):
		return `has an absolute name; names are relative to the root of the archive.`
	}
	for _, r := range name {
		if problem := characterProblem(r); problem != "" {
			return problem
		}
	}
	for segment := range strings.SplitSeq(name, "/") {
		if problem := segmentProblem(segment); problem != "" {
			return problem
		}
	}
	return ""
}

// characterProblem says why a name must not have a character, or "".
func characterProblem(r rune) string {
	switch {
	case unicode.IsControl(r):
		return fmt.Sprintf("has a control character (%U) in its name; rename it.", r)
	case r == '\\':
		return "has a backslash in its name; names are written with forward slashes."
	case strings.ContainsRune(`<>:"|?*`, r):
		return fmt.Sprintf("has %q in its name, which Windows accepts in none; rename it.", r)
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point), r == blank:
		return fmt.Sprintf("has the invisible character %U in its name; rename it.", r)
	case !unicode.IsGraphic(r): // for private use, or unassigned
		return fmt.Sprintf("has %U in its name, to which Unicode %s gives no meaning; rename it.", r, unicode.Version)
	default:
		return ""
	}
}

// blank is the Braille pattern without a dot: a symbol to Unicode, but invisible.
const blank = '\u2800'

// segmentProblem says why a file or folder must not have a name, or "".
func segmentProblem(segment string) string {
	last, _ := utf8.DecodeLastRuneInString(segment)
	switch {
	case segment == "":
		return `has an empty segment in its name ("//", or "/" at the end of a file's name).`
	case segment == "." || segment == "..":
		return fmt.Sprintf("has a %q segment in its name; names lead straight down from the root of the archive.", segment)
	case len(segment) > MaxSegment:
		return fmt.Sprintf("has a file or folder in its name that is %d bytes long; file systems take at most %d.", len(segment), MaxSegment)
	case last == '.' || unicode.IsSpace(last):
		return fmt.Sprintf("has %s in its name, which ends in a dot or a space: Windows drops that; rename it.", quote(segment))
	case deviceName.MatchString(segment):
		return fmt.Sprintf("has %s in its name, which Windows takes for a device, whatever its extension; rename it.", quote(segment))
	case isShortName(segment):
		return fmt.Sprintf("has %s in its name, which has the form of the short names that Windows gives to files with long ones; rename it.", quote(segment))
	case strings.ContainsRune(decompose(segment), joiner):
		return fmt.Sprintf("has more than %d combining marks in a row in its name; rename it.", maxMarks)
	default:
		return ""
	}
}

// deviceName matches the names of Windows' devices, which are in every folder. Windows
// ignores spaces before the first dot, and all that follows it.
var deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|(com|lpt)[1-9¹²³]|conin\$|conout\$) *(\.|$)`)

// isShortName reports whether a name has the form of MODULE~1.TF. Windows gives this name
// to modules.tf.json: so a file MODULE~1.TF would overwrite that one.
func isShortName(segment string) bool {
	base, _, _ := strings.Cut(segment, ".")
	return shortName.MatchString(segment) && utf8.RuneCountInString(base) <= 8
}

var shortName = regexp.MustCompile(`^[^.]*~[1-9][0-9]*(\.[^.]{0,3})?$`)

// decompose returns a name in the form of Unicode that writes é as two characters, without
// variation selectors.
func decompose(name string) string {
	return norm.NFD.String(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, name))
}

// A name with more marks in a row than Unicode's Stream-Safe Text Format allows (UAX #15)
// is decomposed with joiners between them, and so has more than one decomposed form.
const (
	maxMarks = 30
	joiner   = '\u034f'
)

// quote quotes a name for a message, with anything unprintable escaped and the
// middle of a long one left out.
func quote(name string) string { return fmt.Sprintf("%q", shorten(name)) }

func shorten(name string) string {
	const most = 100
	if len(name) > most {
		head := strings.ToValidUTF8(name[:most/2], "")
		tail := strings.ToValidUTF8(name[len(name)-most/2:], "")
		name = head + "..." + tail
	}
	return name
}

// A tree is the names in an archive as a file system sees them.
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

// add adds a file or folder and the folders that lead to it. It returns a sentence that
// says how the name clashes with an earlier one, or "".
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
		return clashText(old.name, n.name)
	case (old.kind == file) != (n.kind == file):
		return fmt.Sprintf("%s is both a file and a folder.", quote(n.name))
	case old.kind != impliedFolder && n.kind != impliedFolder:
		return fmt.Sprintf("%s appears more than once.", quote(n.name))
	case n.kind == folder:
		t.nodes[folded] = n
	}
	return ""
}

// clashText says that two names are the same to some file systems.
func clashText(a, b string) string {
	if strings.EqualFold(a, b) {
		return fmt.Sprintf("%s and %s differ only in case, which not every file system can tell apart.", quote(a), quote(b))
	}
	return fmt.Sprintf("%+q and %+q are two spellings of one name, which not every file system can tell apart; rename one.", shorten(a), shorten(b))
}

// top returns the only top-level entry, and false if there is not exactly one.
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

// fold maps names to the same string if they are the same to some file system: some ignore
// case, some write é as two characters, and some ignore invisible characters. Upper case
// joins letters that have two lower-case forms, and folding joins ß and ss.
func fold(name string) string {
	name = strings.ToLower(strings.ToUpper(decompose(name)))
	return norm.NFD.String(cases.Fold().String(name))
}
