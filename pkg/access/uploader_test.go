package access

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestUploader(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	many := func(n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprint("n", i))
		}
		return all
	}
	good := Uploader{Name: "ci", Namespaces: []string{"acme"}, Created: at}
	for name, change := range map[string]func(*Uploader){
		"as it is":         func(*Uploader) {},
		"one letter":       func(u *Uploader) { u.Name, u.Namespaces = "a", []string{"b"} },
		"a long name":      func(u *Uploader) { u.Name = strings.Repeat("a", 63) },
		"all letters":      func(u *Uploader) { u.Name, u.Namespaces = "ci-2", []string{"acme_labs-2", "labs"} },
		"a long namespace": func(u *Uploader) { u.Namespaces = []string{strings.Repeat("a", 64)} },
		"many namespaces":  func(u *Uploader) { u.Namespaces = many(MaxNamespaces) },
		"an end":           func(u *Uploader) { u.Expires = at.Add(1) },
	} {
		u := good
		if change(&u); u.Validate() != nil {
			t.Errorf("%s: %v", name, u.Validate())
		}
	}
	for name, refused := range map[string]struct {
		change func(*Uploader)
		want   string
	}{
		"no name":             {func(u *Uploader) { u.Name = "" }, `"" is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens`},
		"capitals":            {func(u *Uploader) { u.Name = "CI" }, `"CI" is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens`},
		"too long":            {func(u *Uploader) { u.Name = strings.Repeat("a", 64) }, `"` + strings.Repeat("a", 64) + `" is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens`},
		"a line":              {func(u *Uploader) { u.Name = "ci\n" }, `"ci\n" is not a name for an uploader: write up to 63 lower-case letters, digits and hyphens`},
		"the operator":        {func(u *Uploader) { u.Name = "operator" }, `"operator" is the name of others who upload: choose another one`},
		"the registry":        {func(u *Uploader) { u.Name = "registry" }, `"registry" is the name of others who upload: choose another one`},
		"never made":          {func(u *Uploader) { u.Created = time.Time{} }, "the uploader has no time of its making"},
		"an end at once":      {func(u *Uploader) { u.Expires = at }, "the uploader would expire before it is made"},
		"no namespace":        {func(u *Uploader) { u.Namespaces = nil }, "there must be 1 to 20 namespaces, and there are 0"},
		"too many namespaces": {func(u *Uploader) { u.Namespaces = many(MaxNamespaces + 1) }, "there must be 1 to 20 namespaces, and there are 21"},
		"twice":               {func(u *Uploader) { u.Namespaces = []string{"a", "b", "a"} }, "the namespace a is there twice"},
	} {
		u := good
		refused.change(&u)
		if err := u.Validate(); err == nil || err.Error() != refused.want {
			t.Errorf("%s: %v, want %s", name, err, refused.want)
		}
	}
	for _, wrong := range []string{"", "Acme", "acme/", "acme/vpc", "*", "acme*", "a?me", "..", ".", "-acme", "acme-", "_acme", "acme\n", "äcme", "acme%2f", strings.Repeat("a", 65)} {
		want := fmt.Sprintf("%.100q is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *", wrong)
		if err := CheckNamespaces([]string{"acme", wrong}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", wrong, err, want)
		}
	}
}

func TestUploadersEnd(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	u := Uploader{Expires: at}
	if u.Expired(at.Add(-1)) || !u.Expired(at) || (Uploader{}).Expired(at) {
		t.Error("expired before its end, not at its end, or without an end")
	}
	if got := u.ListedUntil(); !got.Equal(at.Add(7 * 24 * time.Hour)) {
		t.Errorf("listed until %v", got)
	}
	if got := (Uploader{}).ListedUntil(); !got.IsZero() {
		t.Errorf("listed until %v without an end", got)
	}
}
