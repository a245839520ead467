package upload

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/inbox"
)

// writeTable writes the outcome of every file, if there are files.
func (in *Inbox) writeTable(out io.Writer, results []*result) error {
	if len(results) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "STATUS\tFILE\tNOTE\n")
	var before string // why a file before this one failed
	for _, r := range results {
		status, notes := r.statusWord(in.options.NoWait), in.notes(r)
		if status == failed {
			if notes[0] == before {
				notes = []string{"as above"}
			} else {
				before = notes[0]
			}
		}
		name := r.Name
		for _, note := range notes { // each in its own line
			_, failed := fmt.Fprintf(table, "%s\t%s\t%s\n", status, name, note)
			err = errors.Join(err, failed)
			status, name = "", ""
		}
	}
	return errors.Join(err, table.Flush())
}

// statusWord returns the status of a file in one word.
func (r *result) statusWord(noWait bool) string {
	switch {
	case r.status != "":
		return string(r.status)
	case r.err != nil:
		return failed
	case noWait:
		return uploaded
	default:
		return unknown
	}
}

// notes explains the status: in at least one note, which may be empty.
func (in *Inbox) notes(r *result) []string {
	switch r.statusWord(in.options.NoWait) {
	case failed:
		return []string{in.explain(r.err)}
	case string(inbox.Ignored):
		return append([]string{"warning: the registry has published nothing of it"}, r.reasons...)
	case uploaded:
		return []string{in.address(r)}
	case unknown:
		return []string{"uploaded, but without an outcome so far: its tags will have it, at " + in.address(r)}
	}
	if len(r.reasons) > 0 && (r.status == inbox.Rejected || r.status == inbox.Pending) {
		return r.reasons
	}
	return []string{""}
}

func (in *Inbox) address(r *result) string { return "s3://" + in.options.Bucket + "/" + r.Key }

// conclude returns the error of all files, or nil.
func (in *Inbox) conclude(results []*result) error {
	var rejected, failed, unknown, waiting int
	unsigned := false
	for _, r := range results {
		switch {
		case r.err != nil:
			failed++
		case r.status == inbox.Rejected:
			rejected++
		case r.status == "" && !in.options.NoWait:
			unknown++
		case r.status == inbox.Pending && r.isZip():
			waiting++
		}
		unsigned = unsigned || r.isSignature() && r.status != "" && r.status != inbox.Published
	}
	var all []string
	if rejected > 0 {
		all = append(all, fmt.Sprintf("%d rejected", rejected))
	}
	if waiting > 0 {
		all = append(all, fmt.Sprintf("%d pending", waiting))
	}
	if failed > 0 {
		all = append(all, fmt.Sprintf("%d failed", failed))
	}
	if unknown > 0 {
		all = append(all, fmt.Sprintf("%d without an outcome after %s", unknown, in.options.Timeout))
	}
	if unsigned {
		all = append(all, "the author's signature was not taken")
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("of %s: %s", size.Count(len(results), "file"), strings.Join(all, ", "))
}
