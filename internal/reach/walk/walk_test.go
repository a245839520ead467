package walk

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
)

// script is a registry with one answer after the other.
type script struct {
	answers []any // a *control.Walked or an error
	asked   []string
}

func (s *script) Ask(ctx context.Context, r control.Request) (control.Answer, error) {
	s.asked = append(s.asked, r.Resign.After)
	next := s.answers[0]
	s.answers = s.answers[1:]
	if err, ok := next.(error); ok {
		return control.Answer{}, err
	}
	return control.Answer{Walked: next.(*control.Walked)}, ctx.Err()
}

// part is a part of a walk that looked at so many versions.
func part(next string, versions, changed int, findings ...control.Finding) *control.Walked {
	return &control.Walked{
		Next: next, Last: "provider acme/widget " + next, Steps: map[string]int{"records": versions, "catalog": versions, "inbox": 1},
		Changed: changed, Findings: findings,
	}
}

// newWalk is a walk on a script, and what it says.
func newWalk(s *script, terminal bool) (w *Walk, out, told *strings.Builder) {
	out, told = new(strings.Builder), new(strings.Builder)
	return &Walk{
		Registry: s,
		Request:  func(after string) control.Request { return control.Request{Resign: &control.Part{After: after}} },
		Out:      out,
		Progress: progress.NewLine(told, terminal),
		pause:    time.Microsecond,
	}, out, told
}

var broken = control.Finding{Subject: "module acme/vpc/aws 1.0.0", Problem: "It is broken."}

func TestRun(t *testing.T) {
	s := &script{answers: []any{part("a", 2, 1), part("b", 3, 0, broken), part("", 1, 1)}}
	w, out, _ := newWalk(s, false)
	totals, err := w.Run(t.Context())
	if want := (Totals{Versions: 6, Uploads: 3, Changed: 2, Findings: 1}); err != nil || totals != want {
		t.Errorf("%+v, %v, want %+v", totals, err, want)
	}
	if want := []string{"", "a", "b"}; !reflect.DeepEqual(s.asked, want) {
		t.Errorf("asked after %q, want %q", s.asked, want)
	}
	if want := "module acme/vpc/aws 1.0.0: It is broken.\n"; out.String() != want {
		t.Errorf("said %q, want %q", out, want)
	}
	if err := totals.Err(); err == nil || err.Error() != "1 problem: see above" {
		t.Error(err)
	}
	if want := "6 versions, 3 uploads"; totals.String() != want {
		t.Errorf("%q, want %q", totals, want)
	}
}

// Notes are printed, and are not an error.
func TestNotes(t *testing.T) {
	first, second := part("a", 1, 0), part("", 1, 0)
	first.Notes = []control.Finding{{Subject: "provider acme/widget 1.0.0", Problem: "It is \x1bold."}}
	w, out, _ := newWalk(&script{answers: []any{first, second}}, false)
	totals, err := w.Run(t.Context())
	if err != nil || totals.Notes != 1 || totals.Err() != nil {
		t.Errorf("%+v, %v", totals, err)
	}
	if want := "note: provider acme/widget 1.0.0: It is \ufffdold.\n"; out.String() != want {
		t.Errorf("said %q, want %q", out, want)
	}
}

func TestGoesOnAfter(t *testing.T) {
	s := &script{answers: []any{part("", 1, 0)}}
	w, _, _ := newWalk(s, false)
	w.After = "there"
	if totals, err := w.Run(t.Context()); err != nil || totals.Err() != nil || s.asked[0] != "there" {
		t.Errorf("%+v, %v, asked after %q", totals, err, s.asked)
	}
}

func TestKeys(t *testing.T) {
	first, second := part("a", 1, 0), part("", 1, 0)
	first.Keys, second.Keys = []control.Key{{KeyID: "1"}}, []control.Key{{KeyID: "2"}}
	w, _, _ := newWalk(&script{answers: []any{first, second}}, false)
	var keys []control.Key
	w.Each = func(part *control.Walked) { keys = append(keys, part.Keys...) }
	if _, err := w.Run(t.Context()); err != nil || len(keys) != 2 {
		t.Errorf("%+v, %v", keys, err)
	}
}

// Once the walk has begun, what is lost is asked for again, and a little later
// given up.
func TestLost(t *testing.T) {
	lost, final := &reach.Lost{Err: errors.New("the line is dead")}, errors.New("no such deployment")
	forEver := []any{part("a", 1, 0), lost, lost, lost, lost, lost, lost, lost, lost}
	for name, test := range map[string]struct {
		answers []any
		asked   int
		want    error
	}{
		"at first":     {[]any{lost}, 1, lost},
		"once":         {[]any{part("a", 1, 0), lost, part("", 1, 0)}, 3, nil},
		"twice":        {[]any{part("a", 1, 0), lost, part("b", 1, 0), lost, lost, part("", 1, 0)}, 6, nil},
		"for ever":     {forEver, 2 + maxRetries, lost},
		"not the line": {[]any{part("a", 1, 0), final}, 2, final},
	} {
		s := &script{answers: test.answers}
		w, _, progress := newWalk(s, false)
		totals, err := w.Run(t.Context())
		if !errors.Is(err, test.want) || len(s.asked) != test.asked {
			t.Errorf("%s: %v after %d requests, want %v after %d", name, err, len(s.asked), test.want, test.asked)
		}
		if resumable := test.asked > 1 && test.want != nil; (totals.Next == "a") != resumable {
			t.Errorf("%s: ended after %q", name, totals.Next)
		}
		if again := test.asked > 2; again != strings.Contains(progress.String(), "the line is dead; asking again\n") {
			t.Errorf("%s: told %q", name, progress)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answers: []any{part("a", 1, 0), part("b", 1, 0)}}
	w, _, _ := newWalk(s, false)
	w.Each = func(*control.Walked) { cancel() }
	totals, err := w.Run(ctx)
	if err == nil || err.Error() != "interrupted" || totals.Next != "a" || totals.Versions != 1 {
		t.Errorf("%+v, %v", totals, err)
	}
}

// A registry that makes no progress is not asked for ever.
func TestNoProgress(t *testing.T) {
	w, _, _ := newWalk(&script{answers: []any{part("a", 1, 0), part("a", 1, 0)}}, false)
	if _, err := w.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "makes no progress") {
		t.Error(err)
	}
}

// What others have named does nothing to a terminal.
func TestControlCharacters(t *testing.T) {
	evil := control.Finding{Subject: "modules/\x1b[2J", Problem: "It\nis\u202ebad."}
	s := &script{answers: []any{&control.Walked{Next: "a", Last: "\x1b]0;x\a", Findings: []control.Finding{evil}}, part("", 1, 0)}}
	w, out, progress := newWalk(s, true)
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "modules/\ufffd[2J: It\ufffdis\ufffdbad.\n"; out.String() != want {
		t.Errorf("said %q, want %q", out, want)
	}
	if strings.Contains(progress.String(), "\x1b]") {
		t.Errorf("told %q", progress)
	}
}

// clear takes a terminal back to the start of an empty line.
const clear = "\r\x1b[K"

func TestProgressOnATerminal(t *testing.T) {
	w, _, progress := newWalk(&script{answers: []any{part("a", 2, 0), part("", 1, 0)}}, true)
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := clear + "2 versions, 1 upload, provider acme/widget a" + clear; progress.String() != want {
		t.Errorf("drew %q, want %q", progress, want)
	}
}

// A walk that fails leaves a terminal at the start of a line, for its error.
func TestProgressIsErasedAtAnError(t *testing.T) {
	w, _, progress := newWalk(&script{answers: []any{part("a", 2, 0), errors.New("no")}}, true)
	if _, err := w.Run(t.Context()); err == nil || !strings.HasSuffix(progress.String(), clear) {
		t.Errorf("%v, drew %q", err, progress)
	}
}

func TestProgressInALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, progress := newWalk(&script{answers: []any{part("a", 2, 0), part("b", 1, 0), part("", 1, 0)}}, false)
		time.Sleep(time.Minute)
		if _, err := w.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := "2 versions, 1 upload so far\n"; progress.String() != want {
			t.Errorf("told %q, want %q", progress, want)
		}
	})
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("no space left")

func TestNowhereToWrite(t *testing.T) {
	w, _, _ := newWalk(&script{answers: []any{part("a", 1, 0, broken)}}, false)
	w.Out = failingWriter{}
	if _, err := w.Run(t.Context()); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
