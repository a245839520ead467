// Package walk has a registry go over everything that it has, part by part, and
// tells the operator how far it is and what it finds.
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
	// maxRetries is how often a part is asked for again whose answer was lost,
	// and retryPause for how long is waited before the first of them; before
	// each other it is twice as long. A node starts again in that time.
	maxRetries = 5
	retryPause = 500 * time.Millisecond
)

// Registry is asked for each part: a [reach.Registry].
type Registry interface {
	Ask(context.Context, control.Request) (control.Answer, error)
}

// Walk is a walk over everything that a registry has. All fields but After and
// Each are required.
type Walk struct {
	Registry Registry
	Request  func(after string) control.Request // for the part after a cursor
	After    string                             // where another walk was interrupted
	Out      io.Writer                          // gets a line for everything that is wrong
	Progress *progress.Line
	Each     func(*control.Walked) // gets each part

	pause time.Duration // in place of retryPause
}

// Totals are what the parts of a walk add up to.
type Totals struct {
	Versions, Uploads int // that were looked at
	Changed           int
	Findings          int
	Notes             int
	Next              string // the cursor to go on after; empty where all is done, or nothing is
}

// Run goes on until all is done.
//
// With an error it returns what was done before it. Errors of the way to the
// registry, after a first part, are such as did not go away.
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
			return t, fmt.Errorf("the registry does not get on after %q", printable.Text(part.Last))
		}
		t.add(part)
		if err := w.tell(t, part); err != nil || t.Next == "" {
			return t, err
		}
	}
}

// ask asks for a part. Once the registry has answered, a lost answer does not
// end the walk.
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

// add adds a part. What the catalog has are the same versions again.
func (t *Totals) add(part *control.Walked) {
	t.Versions += part.Steps["records"]
	t.Uploads += part.Steps["inbox"]
	t.Changed += part.Changed
	t.Findings += len(part.Findings)
	t.Notes += len(part.Notes)
	t.Next = part.Next
}

// tell tells of a part. What the registry says may hold what others have named.
func (w *Walk) tell(t Totals, part *control.Walked) error {
	w.Progress.Erase()
	for _, f := range part.Findings {
		if _, err := fmt.Fprintf(w.Out, "%s: %s\n", printable.Text(f.Subject), printable.Text(f.Problem)); err != nil {
			return fmt.Errorf("write what is wrong: %w", err)
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

// String is how much was looked at, such as "3 versions, 5 uploads".
func (t Totals) String() string {
	all := []string{size.Count(t.Versions, "version")}
	if t.Uploads > 0 {
		all = append(all, size.Count(t.Uploads, "upload"))
	}
	return strings.Join(all, ", ")
}

// Err is an error where something is wrong.
func (t Totals) Err() error {
	if t.Findings == 0 {
		return nil
	}
	return fmt.Errorf("%s: see above", size.Count(t.Findings, "problem"))
}
