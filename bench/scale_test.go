package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/bench/internal/rows"
	"github.com/larder-registry/larder/bench/internal/scale"
)

// Each time is taken from a row that is there.
func TestMeasurementOf(t *testing.T) {
	times := scale.Times{}
	var r report
	for n, kind := range scale.Answers {
		name := rowsOfKinds[kind]
		known := false
		for _, row := range rows.All(2) {
			known = known || row.Name == name
		}
		if !known {
			t.Errorf("no row is called %q", name)
		}
		times[kind] = time.Duration(n+1) * time.Microsecond
		cpu := float64(n + 1)
		r.Rows = append(r.Rows, reportRow{Name: name, Cells: []cell{
			{Door: doorLambda, Clients: 1, Delay: "0s", CPU: cpu}, {Door: doorNode, Clients: 1, Delay: "0s", CPU: cpu},
			{Door: doorLambda, Clients: 16, Delay: "0s", CPU: 99}, {Door: doorLambda, Clients: 1, Delay: "5ms", CPU: 99},
			{Door: doorBolt, Clients: 1, Delay: "0s", CPU: 99}, {Door: floorEcho, Clients: 1, Delay: "0s", CPU: 99},
		}})
	}
	r.Commit, r.Machine = "abc", machine{"a processor", 2, "linux/amd64", "go1"}
	want := scale.Measurement{Machine: "a processor, 2 cores, linux/amd64, go1", Commit: "abc", Functions: times, Node: times}
	if got, err := measurementOf(r); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v, %v, want %+v", got, err, want)
	}
	r.Rows = r.Rows[1:]
	if _, err := measurementOf(r); err == nil || !strings.Contains(err.Error(), `there is no time of "discovery"`) {
		t.Errorf("a report without discovery: %v", err)
	}
}

// In a copy of the repository's files, the tables are printed, and written from a report.
func TestPrintScale(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates for some seconds")
	}
	files := []string{"docs/aws-requests.md", "docs/costs.md", "docs/performance.md", scale.MeasuredFile}
	folder := t.TempDir()
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-scale"}, func(string) string { return "" }, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"Prices: us-east-1, ", "\ndocs/costs.md, inits:\n", "\ndocs/performance.md, mornings:\n", "| AWS, as it is deployed |"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("it does not print %q", line)
		}
	}
	if err := run(t.Context(), []string{"-scale", "-write"}, func(string) string { return "" }, &out); err == nil {
		t.Error("it writes without a report")
	}
	cache := filepath.Join(folder, ".cache", "bench")
	err := os.MkdirAll(cache, 0o700)
	if err == nil {
		without := small()
		without.Walks = nil
		err = without.write(filepath.Join(cache, reportFile))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = run(t.Context(), []string{"-scale", "-write"}, func(string) string { return "" }, &out)
	if err == nil || !strings.Contains(err.Error(), "it has no discovery of node with clients=16") || !strings.Contains(err.Error(), "it has no walks: run make bench without settings") {
		t.Errorf("it writes from a report that is not whole: %v", err)
	}
	m, err := scale.Measured()
	if err == nil {
		m.Machine = "another machine"
		err = writeScale(m, map[string]map[string]string{"docs/costs.md": {"inits": "new\n"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"docs/costs.md": "<!-- inits -->\nnew\n<!-- /inits -->", scale.MeasuredFile: "another machine"} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q: %v", name, want, err)
		}
	}
}
