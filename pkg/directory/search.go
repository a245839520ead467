package directory

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/larder-registry/larder/pkg/registry"
)

const (
	defaultLimit = 15

	// maxText and maxWords are how much of a query's text counts, in bytes and words.
	maxText  = 256
	maxWords = 16

	// checkEvery is after how many entries a search looks whether it is still wanted.
	checkEvery = 4096
)

// list is what a query selects of what is allowed. Entries that are not allowed are left out
// before anything else is asked of them.
func (s *snapshot) list(ctx context.Context, q Query, allowed func(registry.Address) bool) (Page, error) {
	search := newSearch(q.Text)
	found := make([][]*indexed, 2*(search.worst()+1)) // by score, the deprecated after the others
	for n, e := range s.of(q.Folder) {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return Page{}, ctx.Err()
		}
		if !allowed(e) || !q.selects(e) {
			continue
		}
		if score, ok := search.score(e); ok {
			rank := 2 * score
			if len(search.terms) > 0 && e.entry.Standing.State == registry.Deprecated {
				rank++
			}
			found[rank] = append(found[rank], e)
		}
	}
	all := slices.Concat(found...)
	if q.Newest {
		slices.SortStableFunc(all, func(a, b *indexed) int { return b.entry.Published.Compare(a.entry.Published) })
	}
	return page(all, q), nil
}

// of is the entries of a folder, by address.
func (s *snapshot) of(folder registry.Folder) []*indexed {
	switch folder {
	case "", registry.Modules:
		return s.modules
	case registry.Providers:
		return s.providers
	}
	return nil
}

// selects says whether the parts of an address are those that a query names.
func (q Query) selects(e *indexed) bool {
	if !strings.HasPrefix(e.path, q.Namespace) || q.Namespace == "" && q.Name == "" && q.System == "" {
		return q.Namespace == ""
	}
	is := func(want, part string) bool { return want == "" || want == part }
	parts := partsOf(e.path)
	return is(q.Namespace, parts[0]) && is(q.Name, parts[1]) && is(q.System, parts[2])
}

func page(all []*indexed, q Query) Page {
	p := Page{Total: len(all)}
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	from := min(max(q.Offset, 0), len(all))
	for _, e := range all[from : from+min(limit, len(all)-from)] {
		p.Entries = append(p.Entries, e.entry.entry(e.Address))
	}
	return p
}

// search is the text of a query, read.
type search struct{ terms []term }

// term is what stands between two spaces. It is found where all of its words are, and better
// where it is found as a whole: acme/vpc/aws, aws_s3_bucket.
type term struct {
	whole string
	words []string // of letters and digits
}

// commonWords are what people write around what they look for. They count only if there is
// nothing else.
var commonWords = wordSet("module modules provider providers terraform opentofu tofu a an the for of and or with in on to")

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

func newSearch(text string) (s search) {
	text = text[:min(len(text), maxText)]
	words := 0
	for whole := range strings.FieldsSeq(strings.ToLower(strings.ToValidUTF8(text, ""))) {
		t := term{whole: withoutConvention(strings.TrimFunc(whole, isSeparator))}
		t.words = strings.FieldsFunc(t.whole, isSeparator)
		t.words = t.words[:min(len(t.words), maxWords-words)]
		if words += len(t.words); len(t.words) > 0 {
			s.terms = append(s.terms, t)
		}
	}
	uncommon := slices.DeleteFunc(slices.Clone(s.terms), func(t term) bool { return commonWords[t.whole] })
	if len(uncommon) > 0 {
		s.terms = uncommon
	}
	return s
}

// withoutConvention is the name of a repository without what all of them begin with:
// terraform-aws-vpc, terraform-provider-widget.
func withoutConvention(name string) string {
	if rest, ok := strings.CutPrefix(name, "terraform-provider-"); ok {
		return rest
	}
	return strings.TrimPrefix(name, "terraform-")
}

func isSeparator(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }

// The parts of an entry's text, in which a word is found: the lower, the better. exactName is for
// an entry whose name or address is the term. A description has few words, which somebody chose; a
// large module has hundreds of names, with nearly every word in them.
const (
	exactName = iota
	inName
	inAddress
	inDescription
	inNames
)

// worst is the highest score that an entry can have.
func (s search) worst() int { return len(s.terms) * notFound }

// score says how well an entry fits, the lower the better, or that it does not.
func (s search) score(e *indexed) (sum int, ok bool) {
	for _, t := range s.terms {
		score, ok := t.score(e)
		if !ok {
			return 0, false
		}
		sum += score
	}
	return sum, true
}

// notFound is the score of a term that is not found: as bad as the worst that is.
const notFound = 2*inNames + 1

// score is twice the part of the text, and one more if something is found only by its beginning,
// or in pieces. Pieces in an address are better than the whole elsewhere: who looks for
// aws_s3_bucket means the module s3-bucket rather than one that also has a bucket.
func (t term) score(e *indexed) (score int, ok bool) {
	if score, ok := t.scoreAddress(e); ok {
		return score, true
	}
	score = notFound
	part, exact, ok := e.find(t.whole)
	if ok && exact {
		score = 2 * part
	} else if ok {
		score = 2*part + 1
	}
	if len(t.words) == 1 || ok && part <= inAddress {
		return score, ok
	}
	pieces, found := t.scorePieces(e)
	return min(score, pieces), ok || found
}

// scoreAddress is the score of a term that is the name, or what an address begins with.
func (t term) scoreAddress(e *indexed) (score int, ok bool) {
	if t.whole == e.text[:e.ends[0]] {
		return 2 * exactName, true
	}
	rest, ok := strings.CutPrefix(e.path, t.whole)
	switch {
	case !ok || rest != "" && !strings.Contains(t.whole, "/"):
		return 0, false
	case rest == "" || rest[0] == '/':
		return 2 * exactName, true
	}
	return 2*exactName + 1, true
}

// scorePieces is the score of a term whose words are all found, each for itself. Words of a
// description and of names say little by themselves.
func (t term) scorePieces(e *indexed) (score int, ok bool) {
	worst := 0
	for _, word := range t.words {
		part, _, ok := e.find(word)
		if !ok {
			return notFound, false
		}
		worst = max(worst, part)
	}
	switch {
	case worst > inAddress:
		return notFound, true
	case t.covers(e.text[:e.ends[0]]):
		return 2 * inName, true
	}
	return 2*worst + 1, true
}

// covers says whether a name has no other words: aws_vpc means the module vpc for aws, rather
// than vpc-peering.
func (t term) covers(name string) bool {
	for word := range strings.FieldsFuncSeq(name, isSeparator) {
		if !slices.Contains(t.words, word) {
			return false
		}
	}
	return true
}

// find looks for a text where a word begins, and says in which part it was found first, and
// whether a word ends after it there.
func (e *indexed) find(text string) (part int, exact, ok bool) {
	for at := 0; ; at++ {
		next := strings.Index(e.text[at:], text)
		if next < 0 || ok && e.part(at+next) != part {
			return part, exact, ok
		}
		at += next
		if !isBeginning(e.text, at) {
			continue
		}
		if part, ok = e.part(at), true; isEnd(e.text, at+len(text)) {
			return part, true, true
		}
	}
}

// part is the part of the text that has a position.
func (e *indexed) part(at int) int {
	for part, end := range e.ends {
		if uint32(at) < end {
			return inName + part
		}
	}
	return inNames
}

// isBeginning says whether a word can begin at a position.
func isBeginning(text string, at int) bool {
	if at == 0 {
		return true
	}
	if c := text[at-1]; c < utf8.RuneSelf {
		return !isASCIIWord(c)
	}
	c, _ := utf8.DecodeLastRuneInString(text[:at])
	return isSeparator(c)
}

// isEnd says whether a word can end before a position.
func isEnd(text string, at int) bool {
	if at == len(text) {
		return true
	}
	if c := text[at]; c < utf8.RuneSelf {
		return !isASCIIWord(c)
	}
	c, _ := utf8.DecodeRuneInString(text[at:])
	return isSeparator(c)
}

func isASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z'
}
