package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTiny is every kind of mutant, noticed and not, and what the report says of them.
func TestTiny(t *testing.T) {
	report := runTiny(t, options{parallel: 2, timeout: 3 * time.Second, verbose: true})
	seen := map[string]bool{}
	function := ""
	for line := range strings.Lines(report) {
		found := regexp.MustCompile(`^tiny/tiny\.go:(\d+):\d+: ([a-z ]+): .*: ([a-z ]+)\n$`).FindStringSubmatch(line)
		if found == nil {
			continue
		}
		function = functionAt(t, found[1])
		seen[function+": "+found[2]] = true
		if want := map[string]string{
			"Tested": "killed", "check": "killed", "IsTested": "killed", "table": "killed", "Count": "killed",
			"Untested": "survived", "both": "survived", "two": "survived", "three": "survived", "IsUntested": "survived",
			"Unreached": "not reached",
		}[function]; found[3] != want && !strings.HasSuffix(line, "statement removed: i++: timed out\n") {
			t.Errorf("in %s: %s", function, line)
		}
	}
	for _, want := range []string{
		"Tested: " + conditionTrue, "Tested: " + conditionFalse, "Tested: " + clauseDropped, "Tested: " + errorSwallowed, "Tested: " + statementGone,
		"Tested: " + deferGone, "IsTested: " + boolFlipped, "Tested: " + boundaryMoved, "table: " + entryMisspelt, "Count: " + statementGone,
		"Untested: " + conditionTrue, "Untested: " + conditionFalse, "Untested: " + clauseDropped, "Untested: " + errorSwallowed, "Untested: " + statementGone,
		"Untested: " + deferGone, "IsUntested: " + boolFlipped, "Untested: " + boundaryMoved, "three: " + entryMisspelt, "Unreached: " + entryMisspelt,
		"both: " + errorSwallowed, "two: " + errorSwallowed, "three: " + errorSwallowed,
	} {
		if !seen[want] {
			t.Errorf("there is no mutant %s", want)
		}
	}
	const summary = "\ntiny: 50.0 % of 46 mutants: 22 killed, 1 timed out, 20 survived, 3 not reached; 2 more do not compile\n"
	if !strings.HasSuffix(report, summary) || strings.Count(report, summary) != 1 {
		t.Errorf("the report does not end with one summary:\n%s", report)
	}
}

// functionAt is the last thing that is declared by a line of tiny.go.
func functionAt(t *testing.T, line string) string {
	t.Helper()
	source, err := os.ReadFile("testdata/module/tiny/tiny.go")
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for i, text := range strings.Split(string(source), "\n") {
		if found := regexp.MustCompile(`^(?:func|var) (\w+)`).FindStringSubmatch(text); found != nil {
			name = found[1]
		}
		if line == strconv.Itoa(i+1) {
			break
		}
	}
	return name
}

// TestDependants notices what the package itself does not.
func TestDependants(t *testing.T) {
	report := runTiny(t, options{parallel: 1, dependants: true, timeout: 3 * time.Second, file: "tiny.go:67,none.go"})
	if want := "tiny: 100.0 % of 1 mutants: 1 killed, 0 timed out, 0 survived, 0 not reached; 2 more do not compile; 45 more were not run\n"; !strings.HasSuffix(report, want) {
		t.Error(report)
	}
}

// TestSample runs some, and the same again.
func TestSample(t *testing.T) {
	o := options{parallel: 2, sample: 3, seed: 8, timeout: 3 * time.Second, verbose: true}
	first := runTiny(t, o)
	if second := runTiny(t, o); first != second || strings.Count(first, "tiny.go:") != 3 {
		t.Errorf("%s\n%s", first, second)
	}
}

// runTiny runs the tool, which leaves nothing behind.
func runTiny(t *testing.T, o options) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	var report strings.Builder
	if err := run(t.Context(), &report, "testdata/module", o, []string{"tiny"}); err != nil {
		t.Fatal(err)
	}
	nothingIn(t, os.TempDir())
	return report.String()
}

func nothingIn(t *testing.T, folder string) {
	t.Helper()
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("it leaves %v behind, %v", left, err)
	}
}

// TestInterrupted ends soon, says what it knows, and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	var report strings.Builder
	start := time.Now()
	err := run(ctx, &report, "testdata/module", options{parallel: 2, timeout: time.Hour, file: "tiny.go:77"}, []string{"tiny"})
	if !errors.Is(err, context.Canceled) || time.Since(start) > time.Minute {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	nothingIn(t, os.TempDir())
}

// TestCleanCodeThatFails is no room to test mutants in.
func TestCleanCodeThatFails(t *testing.T) {
	t.Setenv("TINY_FAILS", "1")
	t.Setenv("TMPDIR", t.TempDir())
	var report strings.Builder
	err := run(t.Context(), &report, "testdata/module", options{parallel: 2}, []string{"user"})
	if err == nil || !strings.Contains(err.Error(), "TestUse fails without any mutant") {
		t.Errorf("%v", err)
	}
	if err := run(t.Context(), &report, "testdata/module", options{parallel: 2}, []string{"nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v", err)
	}
}
