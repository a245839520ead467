package findings

import (
	"encoding/json"
	"strings"
	"testing"
)

func sample(each func(Finding)) *List {
	l := &List{Each: each}
	l.OK("a.good", "%d is fine", 1)
	l.Warn("a.odd", "look at it", "it is %q", "odd")
	l.Fail("a.bad", "mend it", "it is broken")
	return l
}

func TestLines(t *testing.T) {
	var out strings.Builder
	l := sample(func(f Finding) {
		if err := WriteLine(&out, f); err != nil {
			t.Error(err)
		}
	})
	const want = `ok    a.good                    1 is fine
warn  a.odd                     it is "odd"
                                → look at it
FAIL  a.bad                     it is broken
                                → mend it
`
	if out.String() != want {
		t.Errorf("the lines are\n%swant\n%s", out.String(), want)
	}
	if got := l.Summary(); got != "3 checks: 1 ok, 1 to look at, 1 failed" {
		t.Error(got)
	}
}

func TestSummaryOfOne(t *testing.T) {
	var l List
	l.OK("a.good", "it is")
	if got := l.Summary(); got != "1 check: 1 ok, 0 to look at, 0 failed" {
		t.Error(got)
	}
}

// A terminal does not obey the words of a server.
func TestNothingForATerminal(t *testing.T) {
	const hostile = "\x1b[2J\a\r\n\u009b31m\u202e\xff é"
	const want = "\ufffd[2J\ufffd\ufffd\ufffd\ufffd31m\ufffd\ufffd é"
	var l List
	l.OK("a", "%s", hostile)
	l.Warn("b", hostile, "%s", hostile)
	l.Fail("c", hostile, "%s", hostile)
	for _, f := range l.All() {
		if f.Found != want || f.Advice != want && f.Result != OK {
			t.Errorf("%s: %q, %q, want %q", f.Check, f.Found, f.Advice, want)
		}
	}
}

func TestJSON(t *testing.T) {
	var out strings.Builder
	if err := sample(nil).WriteJSON(&out, "registry.example.com"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Subject        string
		Checks         []Finding
		OK, Warn, Fail int
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Subject != "registry.example.com" || len(got.Checks) != 3 || got.OK != 1 || got.Warn != 1 || got.Fail != 1 {
		t.Errorf("%s", out.String())
	}
	if bad := (Finding{"a.bad", Fail, "it is broken", "mend it"}); got.Checks[2] != bad {
		t.Errorf("%+v, want %+v", got.Checks[2], bad)
	}
	out.Reset()
	if err := new(List).WriteJSON(&out, ""); err != nil || strings.Contains(out.String(), "null") {
		t.Errorf("no findings are written as %s, %v", out.String(), err)
	}
}

func TestErr(t *testing.T) {
	if err := sample(nil).Err(); err == nil || err.Error() != "1 of 3 checks failed" {
		t.Errorf("%v", err)
	}
	l := new(List)
	l.OK("a", "")
	l.Warn("b", "", "")
	if err := l.Err(); err != nil {
		t.Errorf("without a failure: %v", err)
	}
}
