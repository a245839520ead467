// Package walk lets a registry walk over everything that it has, part by part, and shows the
// operator the progress and the findings.
package walk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/larder-registry/larder/internal/printable"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/internal/size"
	"github.com/larder-registry/larder/pkg/control"
)

const (
	// maxRetries is how often a request with a lost answer is sent again. The first pause
	// before that is retryPause, and each other is twice as long: time for a node to
	// restart.
	maxRetries = 5
	retryPause = 500 * time.Millisecond
)

// Registry answers the request for each part: a [reach.Registry].
type Registry interface {
	Ask(context.Context, control.Request) (control.Answer, error)
}

// Walk is a walk over everything that a registry has. All fields but After and
// Each are required.
type Walk struct {
	Registry Registry
	Request  func(after string) control.Request // for the part after a cursor
	After    string                             // the cursor at which another walk was interrupted
	Out      io.Writer                          // gets a line for each finding
	Progress *progress.Line
	Each     func(*control.Walked) // gets each part

	pause time.Duration // in place of retryPause
}

// Totals are the sums of the parts of a walk.
type Totals struct {
	Versions, Uploads int // that were looked at
	Changed, Read     int
	Findings          int
	Notes             int
	Next              string // the cursor to go on after; empty if all is done, or nothing
}

// Run walks until all is done. With an error it returns the totals of the parts before.
//
// After the first part, it returns an error of the connection only if that did not go away.
func (w *Walk) Run(ctx context.Context) (t Totals, err error) {
	defer w.Progress.Erase()
	t.Next = w.After
	for begun := false; ; begun = true {
		answer, err := w.ask(ctx, t.Next, begun)
		if ctx.Err() != nil {
			return t, errors.New("interrupted")
		}
		if err != nil {
			return t, err
		}
		part := answer.Walked
		if part.Next != "" && part.Next == t.Next {
			return t, fmt.Errorf("the registry makes no progress after %q", printable.Text(part.Last))
		}
		t.add(part)
		if err := w.report(t, part); err != nil || t.Next == "" {
			return t, err
		}
	}
}

// ask asks for a part. After the first answer, it retries if an answer is lost.
func (w *Walk) ask(ctx context.Context, after string, begun bool) (control.Answer, error) {
	for retries := 0; ; retries++ {
		answer, err := w.Registry.Ask(ctx, w.Request(after))
		var lost *reach.Lost
		if !errors.As(err, &lost) || !begun || retries == maxRetries {
			return answer, err
		}
		w.Progress.Say("%v; asking again", err)
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(cmp.Or(w.pause, retryPause) << retries):
		}
	}
}

// add adds a part. The part of the catalog has the same versions again.
func (t *Totals) add(part *control.Walked) {
	t.Versions += part.Steps["records"]
	t.Uploads += part.Steps["inbox"]
	t.Changed += part.Changed
	t.Read += part.Read
	t.Findings += len(part.Findings)
	t.Notes += len(part.Notes)
	t.Next = part.Next
}

// report writes the findings and the progress of a part. They may have names that uploaders
// chose.
func (w *Walk) report(t Totals, part *control.Walked) error {
	w.Progress.Erase()
	for _, f := range part.Findings {
		if _, err := fmt.Fprintf(w.Out, "%s: %s\n", printable.Text(f.Subject), printable.Text(f.Problem)); err != nil {
			return fmt.Errorf("write a finding: %w", err)
		}
	}
	for _, n := range part.Notes {
		if _, err := fmt.Fprintf(w.Out, "note: %s: %s\n", printable.Text(n.Subject), printable.Text(n.Problem)); err != nil {
			return fmt.Errorf("write a note: %w", err)
		}
	}
	if w.Each != nil {
		w.Each(part)
	}
	if t.Next != "" {
		w.Progress.At(t, part.Last)
	}
	return nil
}

// String says how much was walked over, such as "3 versions, 5 uploads".
func (t Totals) String() string {
	all := []string{size.Count(t.Versions, "version")}
	if t.Uploads > 0 {
		all = append(all, size.Count(t.Uploads, "upload"))
	}
	return strings.Join(all, ", ")
}

// Err returns an error if there are findings.
func (t Totals) Err() error {
	if t.Findings == 0 {
		return nil
	}
	return fmt.Errorf("%s: see above", size.Count(t.Findings, "problem"))
}
