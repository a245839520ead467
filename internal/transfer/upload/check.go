package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/publish"
)

// Report is the outcome of a file for people and programs.
type Report struct {
	File      string   `json:"file"` // as the user gave it
	Key       string   `json:"key"`  // in the bucket
	VersionID string   `json:"version_id,omitempty"`
	Status    string   `json:"status"`
	Reasons   []string `json:"reasons,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// The statuses of files without an outcome of the registry.
const (
	skipped     = "skipped"      // a registry does not publish such a file
	notUploaded = "not-uploaded" // something is wrong with another file
	uploaded    = "uploaded"     // without waiting for its outcome
	unknown     = "unknown"      // it has no outcome yet
	failed      = "failed"       // it could not be uploaded, or its outcome cannot be read
)

// Check checks files by all rules of the registry that do not need a registry: each file by
// itself, and then all together. It returns the files that the registry would publish, and a
// report of each file. It skips files that a registry does not publish, such as the other
// files of a GoReleaser dist folder.
//
// The error counts the files that break a rule or cannot be read, or says that there is
// nothing to upload.
func Check(ctx context.Context, files []File, checker *publish.Checker) (good []File, reports []Report, err error) {
	at := map[string]int{} // in reports, by key
	for _, file := range files {
		outcome, err := file.check(ctx, checker)
		if ctx.Err() != nil {
			return nil, nil, errors.New("interrupted: nothing was uploaded")
		}
		first, taken := at[file.Key]
		if err != nil {
			outcome = reject(err.Error())
		} else if taken && outcome.Status == "" {
			outcome = reject(fmt.Sprintf("it has the same name as %s, and both would be the same upload", reports[first].File))
		}
		if !taken {
			at[file.Key] = len(reports)
		}
		reports = append(reports, Report{
			File: file.Name, Key: file.Key, Status: string(outcome.Status), Reasons: outcome.Reasons, Warnings: outcome.Warnings,
		})
	}
	for _, outcome := range checker.Together() {
		report := &reports[at[outcome.Key]]
		report.Status, report.Reasons, report.Warnings = string(outcome.Status), outcome.Reasons, outcome.Warnings
	}
	bad := 0
	for i := range reports {
		switch inbox.Status(reports[i].Status) {
		case inbox.Rejected:
			bad++
		case inbox.Ignored:
			reports[i].Status = skipped
		default:
			reports[i].Status = notUploaded
			good = append(good, files[i])
		}
	}
	if bad > 0 {
		return nil, reports, fmt.Errorf("nothing was uploaded: %s cannot be published, for the reasons above", size.Count(bad, "file"))
	}
	if len(good) == 0 {
		return nil, reports, errors.New("nothing was uploaded: a registry publishes none of these files")
	}
	return good, reports, nil
}

// WriteProblems writes what is wrong with files that were checked.
func WriteProblems(out io.Writer, reports []Report) {
	for _, r := range reports {
		if r.Status != notUploaded {
			writeProblem(out, r.Status, r.File, r.Reasons)
		}
		if len(r.Warnings) > 0 {
			writeProblem(out, "warning", r.File, r.Warnings)
		}
	}
}

// check checks the file. The outcome has no status if nothing is wrong with it.
func (f File) check(ctx context.Context, checker *publish.Checker) (inbox.Outcome, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return inbox.Outcome{}, unwrapPath(err)
	}
	if info.IsDir() {
		return inbox.Outcome{Status: inbox.Ignored, Reasons: []string{"it is a folder"}}, nil
	}
	if !info.Mode().IsRegular() {
		return inbox.Outcome{}, errors.New("it is not a regular file")
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return inbox.Outcome{}, unwrapPath(err)
	}
	defer file.Close()
	return checker.Check(ctx, f.Key, file, info.Size())
}

func reject(reason string) inbox.Outcome {
	return inbox.Outcome{Status: inbox.Rejected, Reasons: []string{reason}}
}

// unwrapPath takes the path off an error, because it is printed beside it.
func unwrapPath(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

func writeProblem(out io.Writer, what, file string, reasons []string) {
	_, _ = fmt.Fprintf(out, "%s: %s\n", what, file) // the error or the table says the same in short
	for _, reason := range reasons {
		_, _ = fmt.Fprintf(out, "    %s\n", reason)
	}
}
