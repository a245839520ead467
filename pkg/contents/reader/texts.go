package reader

import (
	"fmt"
	"maps"
	"slices"

	"github.com/larder-registry/larder/pkg/contents"
)

// texts bounds what goes into a part, and says what was left out.
type texts struct {
	dir     string // of the part
	problem func(string)
}

// where says in which part something is.
func (t texts) where() string {
	if t.dir == "" {
		return ""
	}
	return " in " + contents.Clean(t.dir)
}

// cut returns a text with at most [contents.MaxText] bytes.
func (t texts) cut(text, what, of string) string {
	text, cut := contents.Cut(contents.Clean(text), contents.MaxText)
	if cut {
		t.problem(fmt.Sprintf("The %s of %s%s is longer than 64 KiB; the rest of it is left out.", what, shorten(of), t.where()))
	}
	return text
}

// whole returns a text, or nothing if it is too long: a part of JSON is no JSON.
func (t texts) whole(text, what, of string) string {
	text = contents.Clean(text)
	if len(text) <= contents.MaxText {
		return text
	}
	t.problem(fmt.Sprintf("The %s of %s%s is longer than 64 KiB, and is left out.", what, shorten(of), t.where()))
	return ""
}

// shorten shortens the name of something in a problem.
func shorten(of string) string {
	if short, cut := contents.Cut(contents.Clean(of), 100); cut {
		return short + "…"
	}
	return of
}

// maxValidations is how many validations of an input are kept.
const maxValidations = 50

func (t texts) validations(all []contents.Validation, where string) []contents.Validation {
	if len(all) > maxValidations {
		t.problem(fmt.Sprintf("%s%s has more than %d validations; those beyond are left out.", upperFirst(shorten(where)), t.where(), maxValidations))
		all = all[:maxValidations]
	}
	for i, v := range all {
		all[i] = contents.Validation{Condition: t.cut(v.Condition, "validation", where), Message: t.cut(v.Message, "validation", where)}
	}
	return all
}

// upperFirst is for a text that begins with "the".
func upperFirst(text string) string { return "T" + text[1:] }

func (t texts) bound(what string, list []string) []string { return bound(t, what, list) }

// bound returns at most [contents.MaxItems] elements.
func bound[T any](t texts, what string, list []T) []T {
	if len(list) <= contents.MaxItems {
		return list
	}
	t.problem(fmt.Sprintf("There are more than %d %s%s; those beyond are left out.", contents.MaxItems, what, t.where()))
	return list[:contents.MaxItems]
}

// sorted are the names of items, in order, as many as are kept.
func sorted[T any](t texts, what string, items map[string]T) []string {
	return bound(t, what, slices.Sorted(maps.Keys(items)))
}
