// Package findings is the output of a command that checks something: one finding for each
// check, for people at once and for programs at the end.
package findings

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/larder-registry/larder/internal/printable"
)

// Result is the result of a check.
type Result string

// The results, from good to bad.
const (
	OK   Result = "ok"
	Warn Result = "warn" // it works but should be looked at, or it could not be checked
	Fail Result = "FAIL" // it does not work
)

// Finding is the end of one check.
type Finding struct {
	Check  string `json:"check"` // its name, the same in every version of Larder
	Result Result `json:"result"`
	Found  string `json:"found"`            // what there is
	Advice string `json:"advice,omitempty"` // what to do about it; empty if all is well
}

// List collects findings. The zero List is empty.
type List struct {
	// Each gets every finding at once. It may be nil.
	Each func(Finding)

	findings []Finding
}

// OK adds a finding of a check that found nothing wrong.
func (l *List) OK(check, found string, args ...any) {
	l.add(Finding{Check: check, Result: OK, Found: fmt.Sprintf(found, args...)})
}

// Warn adds a finding that should be looked at.
func (l *List) Warn(check, advice, found string, args ...any) {
	l.add(Finding{check, Warn, fmt.Sprintf(found, args...), advice})
}

// Fail adds a finding that does not work.
func (l *List) Fail(check, advice, found string, args ...any) {
	l.add(Finding{check, Fail, fmt.Sprintf(found, args...), advice})
}

// add adds a finding. Its text may have words of a server.
func (l *List) add(f Finding) {
	f.Found, f.Advice = printable.Text(f.Found), printable.Text(f.Advice)
	l.findings = append(l.findings, f)
	if l.Each != nil {
		l.Each(f)
	}
}

// All returns every finding so far, in the order of the checks.
func (l *List) All() []Finding { return l.findings }

// Count counts the checks with a result.
func (l *List) Count(r Result) int {
	n := 0
	for _, f := range l.findings {
		if f.Result == r {
			n++
		}
	}
	return n
}

// Err says how many checks failed. It returns nil if none failed.
func (l *List) Err() error {
	if failed := l.Count(Fail); failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(l.findings))
	}
	return nil
}

// Summary returns one line for people.
func (l *List) Summary() string {
	checks := "checks"
	if len(l.findings) == 1 {
		checks = "check"
	}
	return fmt.Sprintf("%d %s: %d ok, %d to look at, %d failed", len(l.findings), checks, l.Count(OK), l.Count(Warn), l.Count(Fail))
}

// WriteLine writes a finding for people: a line, and one more with the advice.
func WriteLine(w io.Writer, f Finding) error {
	const column = 25
	line := fmt.Sprintf("%-4s  %-*s %s\n", f.Result, column, f.Check, f.Found)
	if f.Advice != "" {
		line += strings.Repeat(" ", 6+column+1) + "→ " + f.Advice + "\n"
	}
	_, err := io.WriteString(w, line)
	return err
}

// WriteJSON writes all findings for programs, as one document.
func (l *List) WriteJSON(w io.Writer, subject string) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	checks := l.findings
	if checks == nil {
		checks = []Finding{}
	}
	return encoder.Encode(struct {
		Subject string    `json:"subject"`
		Checks  []Finding `json:"checks"`
		OK      int       `json:"ok"`
		Warn    int       `json:"warn"`
		Fail    int       `json:"fail"`
	}{subject, checks, l.Count(OK), l.Count(Warn), l.Count(Fail)})
}
