package upload

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/larder-registry/larder/pkg/publish"
)

// writeTable writes what became of every file.
func (in *Inbox) writeTable(out io.Writer, results []*result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintf(table, "STATUS\tFILE\tNOTE\n")
	for _, r := range results {
		status, note := in.describe(r)
		_, failed := fmt.Fprintf(table, "%s\t%s\t%s\n", status, r.Name, note)
		err = errors.Join(err, failed)
	}
	return errors.Join(err, table.Flush())
}

// describe says what became of a file, and what else there is to say.
func (in *Inbox) describe(r *result) (status, note string) {
	switch {
	case r.err != nil && r.status == "":
		return "failed", r.err.Error()
	case r.status == publish.Rejected || r.status == publish.Pending:
		return string(r.status), r.reason
	case r.status == publish.Ignored:
		return string(r.status), "warning: the registry has published nothing of it"
	case r.status != "":
		return string(r.status), ""
	case in.options.NoWait:
		return "uploaded", in.address(r)
	default:
		return "unknown", "uploaded, but without an outcome so far: its tags will say, at " + in.address(r)
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
