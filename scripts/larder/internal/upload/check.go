package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/larder-registry/larder/pkg/publish"
)

// Check judges files by all the rules of the registry that need no registry, and
// returns those that it would publish. Files that are nothing to it, such as the
// other files of a GoReleaser dist folder, are skipped with a line on out; all
// violations of the rules are told there, too, and what is to be warned of.
//
// The error counts the files that break a rule or cannot be read, or says that
// nothing is left to upload.
func Check(ctx context.Context, files []File, out io.Writer) ([]File, error) {
	var good []File
	var bad int
	taken := map[string]string{} // names by key
	for _, file := range files {
		outcome, err := file.check(ctx)
		if ctx.Err() != nil {
			return nil, errors.New("interrupted: nothing was uploaded")
		}
		if err != nil {
			outcome = reject(err.Error())
		} else if first, ok := taken[file.Key]; ok && outcome.Status == "" {
			outcome = reject(fmt.Sprintf("it has the same name as %s, and both would be the same upload", first))
		}
		taken[file.Key] = file.Name
		switch outcome.Status {
		case publish.Rejected:
			bad++
			tell(out, file, "rejected", outcome.Reasons)
		case publish.Ignored:
			tell(out, file, "skipped", outcome.Reasons)
		default:
			if len(outcome.Warnings) > 0 {
				tell(out, file, "warning", outcome.Warnings)
			}
			good = append(good, file)
		}
	}
	if bad > 0 {
		return nil, fmt.Errorf("nothing was uploaded: %s cannot be published, for the reasons above", count(bad, "file", "files"))
	}
	if len(good) == 0 {
		return nil, errors.New("nothing was uploaded: none of this is anything that a registry publishes")
	}
	return good, nil
}

// check judges the file. The outcome has no status when nothing is wrong with it.
func (f File) check(ctx context.Context) (publish.Outcome, error) {
	info, err := os.Stat(f.Path)
	if err != nil {
		return publish.Outcome{}, unwrapPath(err)
	}
	if info.IsDir() {
		return publish.Outcome{Status: publish.Ignored, Reasons: []string{"it is a folder"}}, nil
	}
	if !info.Mode().IsRegular() {
		return publish.Outcome{}, errors.New("it is no regular file")
	}
	file, err := os.Open(f.Path)
	if err != nil {
		return publish.Outcome{}, unwrapPath(err)
	}
	defer file.Close()
	return publish.Check(ctx, f.Key, file, info.Size())
}

func reject(reason string) publish.Outcome {
	return publish.Outcome{Status: publish.Rejected, Reasons: []string{reason}}
}

// unwrapPath takes the path off an error, which is told beside it.
func unwrapPath(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

func tell(out io.Writer, file File, what string, reasons []string) {
	_, _ = fmt.Fprintf(out, "%s: %s\n", what, file.Name) // the error or the table says the same in short
	for _, reason := range reasons {
		_, _ = fmt.Fprintf(out, "    %s\n", reason)
	}
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
