package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/pkg/registry"
)

// check finds out whether a backup has what its records name.
type check struct {
	wanted   map[string]named // by key
	have     map[string]entry // by key
	last     map[string]int   // the highest number of a log, by its prefix
	summary  Summary
	problems []string
}

// named is an object that a record names.
type named struct {
	by     string // the key of the record
	sha256 string
}

func newCheck() *check {
	return &check{wanted: map[string]named{}, have: map[string]entry{}, last: map[string]int{}}
}

// file adds a file of the backup.
func (c *check) file(e entry) error {
	kind, name, err := parsePath(e.Path)
	if err != nil {
		return err
	}
	switch kind {
	case dataFile:
		c.summary.Files++
	case uploadBody:
		c.summary.Uploads++
	case object:
		c.have[name] = e
	}
	c.summary.Bytes += e.Size
	return nil
}

// isRecord says whether a file names objects.
func isRecord(path string) bool {
	_, err := registry.ParseRecordKey(path)
	return err == nil
}

// record adds the objects that a record names.
func (c *check) record(key string, document []byte) {
	parsed, err := registry.ParseRecordKey(key)
	var record registry.Record
	if err == nil {
		err = json.Unmarshal(document, &record)
	}
	if err != nil {
		c.problems = append(c.problems, fmt.Sprintf("%s: it cannot be read: %v", key, err))
		return
	}
	prefix := parsed.LogPrefix()
	c.last[prefix] = max(c.last[prefix], parsed.Sequence)
	want := func(object, sha256 string) { c.wanted[object] = named{key, sha256} }
	switch a := parsed.Address.(type) {
	case registry.ModuleAddress:
		if record.Module != nil {
			want(a.ArchiveKey(record.Version, *record.Module), record.Module.SHA256)
		}
	case registry.ProviderAddress:
		if record.Package != nil {
			want(a.PackageKey(record.Version, *record.Package), record.Package.SHA256)
		}
		if record.Docs != nil {
			want(a.DocsKey(record.Version, *record.Docs), record.Docs.SHA256)
		}
		if record.Release != nil {
			want(a.SHA256SUMSKey(record.Version, *record.Release), record.Release.SHA256)
			want(a.SignatureKey(record.Version, *record.Release), record.Release.Signature)
		}
	}
}

// end returns the summary of all files, or what is wrong with them.
func (c *check) end() (Summary, error) {
	for _, prefix := range slices.Sorted(maps.Keys(c.last)) {
		for sequence := 1; sequence < c.last[prefix]; sequence++ {
			if key := registry.RecordKey(prefix, sequence); c.have[key].Path == "" {
				c.problems = append(c.problems, fmt.Sprintf("%s: the record is missing, and there is a later one", key))
				break
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.wanted)) {
		want, have := c.wanted[key], c.have[key]
		switch {
		case have.Path == "":
			c.problems = append(c.problems, fmt.Sprintf("%s: it is missing, and %s names it", key, want.by))
		case have.SHA256 != want.sha256:
			c.problems = append(c.problems, fmt.Sprintf("%s: it has sha256 %s, and %s says %s", key, have.SHA256, want.by, want.sha256))
		}
	}
	c.summary.Versions = len(c.last)
	return c.summary, problems(c.problems)
}

// maxNamed is how many problems an error names.
const maxNamed = 10

// problems makes one error of all problems, or nil.
func problems(all []string) error {
	if len(all) == 0 {
		return nil
	}
	named := slices.Clone(all[:min(len(all), maxNamed)])
	for i, problem := range named {
		named[i] = printable.Text(problem) // there are keys in it
	}
	text := strings.Join(named, "\n  ")
	if more := len(all) - len(named); more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return errors.New(text)
}
