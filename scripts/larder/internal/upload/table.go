package upload

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/pkg/publish"
)

// writeTable writes what became of every file, if there is any.
func (in *Inbox) writeTable(out io.Writer, results []*result) error {
	if len(results) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "STATUS\tFILE\tNOTE\n")
	for _, r := range results {
		status, notes := in.describe(r)
		name := r.Name
		for _, note := range notes { // each in a line of its own
			_, failed := fmt.Fprintf(table, "%s\t%s\t%s\n", status, name, note)
			err = errors.Join(err, failed)
			status, name = "", ""
		}
	}
	return errors.Join(err, table.Flush())
}

// describe says what became of a file, and what else there is to say: at least
// one note, which may be empty.
func (in *Inbox) describe(r *result) (status string, notes []string) {
	switch {
	case r.err != nil && r.status == "":
		return "failed", []string{r.err.Error()}
	case len(r.reasons) > 0 && (r.status == publish.Rejected || r.status == publish.Pending):
		return string(r.status), r.reasons
	case r.status == publish.Ignored:
		return string(r.status), []string{"warning: the registry has published nothing of it"}
	case r.status != "":
		return string(r.status), []string{""}
	case in.options.NoWait:
		return "uploaded", []string{in.address(r)}
	default:
		return "unknown", []string{"uploaded, but without an outcome so far: its tags will say, at " + in.address(r)}
	}
}

func (in *Inbox) address(r *result) string { return "s3://" + in.options.Bucket + "/" + r.Key }

// conclude is the error of all that went wrong.
func (in *Inbox) conclude(results []*result) error {
	var rejected, failed, unknown int
	for _, r := range results {
		switch {
		case r.err != nil:
			failed++
		case r.status == publish.Rejected:
			rejected++
		case r.status == "" && !in.options.NoWait:
			unknown++
		}
	}
	var all []string
	if rejected > 0 {
		all = append(all, fmt.Sprintf("%d rejected", rejected))
	}
	if failed > 0 {
		all = append(all, fmt.Sprintf("%d failed", failed))
	}
	if unknown > 0 {
		all = append(all, fmt.Sprintf("%d without an outcome after %s", unknown, in.options.Timeout))
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("of %s: %s", count(len(results), "file", "files"), strings.Join(all, ", "))
}
