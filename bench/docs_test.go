package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/rows"
	"github.com/larder-registry/larder/bench/internal/scale"
)

const renews = "go run ./bench -scale -write renews it"

// kept is the report of the docs.
func kept(t *testing.T) report {
	t.Helper()
	r, err := readReport(filepath.Join("..", keptReport))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The docs have what the kept report gives, and nobody has edited it.
func TestDocsShowTheReport(t *testing.T) {
	r := kept(t)
	if err := r.complete(); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(filepath.Join("..", benchPage))
	if err != nil {
		t.Fatal(err)
	}
	if renewed, err := scale.Renew(string(page), benchTable, docsTable(r)); err != nil || renewed != string(page) {
		t.Errorf("%s has another table than the report: %v: %s", benchPage, err, renews)
	}
	if got, err := os.ReadFile(filepath.Join("..", chartFile)); err != nil || string(got) != chart(r) {
		t.Errorf("%s is not the chart of the report: %v: %s", chartFile, err, renews)
	}
	if !strings.Contains(string(page), "("+filepath.Base(chartFile)+")") {
		t.Errorf("%s does not show %s", benchPage, chartFile)
	}
	got, err := measurementOf(r)
	want, wantErr := scale.Measured()
	if err := errors.Join(err, wantErr); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s has %+v, and the report %+v: %s", scale.MeasuredFile, want, got, renews)
	}
}

// Written again, everything stays as it is.
func TestKeepTheReport(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates for some seconds")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	files := []string{"docs/aws-requests.md", "docs/costs.md", benchPage, chartFile, scale.MeasuredFile, keptReport}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(folder, name), text)
		if name == keptReport {
			writeFile(t, filepath.Join(folder, ".cache/bench", reportFile), text)
		}
	}
	t.Chdir(folder)
	if err := os.Remove(chartFile); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-scale", "-write"}, func(string) string { return "" }, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		got, err := os.ReadFile(name)
		want, wantErr := os.ReadFile(filepath.Join(root, name))
		if err := errors.Join(err, wantErr); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s changes: %v: %s", name, err, renews)
		}
	}
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A report that lacks something is not kept, and nothing is written.
func TestIncompleteReports(t *testing.T) {
	whole := kept(t)
	if err := whole.complete(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*report){
		"it has no discovery of node with clients=16 and delay=0s": func(r *report) { r.Rows = r.Rows[1:] },
		"it has no start-functions":                                func(r *report) { r.FunctionStarts = nil },
		"it has no start-node":                                     func(r *report) { r.NodeStarts = nil },
		"it has no publish-small and publish-large":                func(r *report) { r.Published = nil },
		"it has no hashing":                                        func(r *report) { r.Hashing = nil },
		"it has no walks":                                          func(r *report) { r.Walks = nil },
	} {
		r := whole
		change(&r)
		t.Chdir(t.TempDir())
		if err := r.keep(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("keep = %v, want %q", err, want)
		}
		if _, err := os.Stat("bench"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("something is written: %v", err)
		}
	}
}

// Every aim is one of a row.
func TestAimsHaveRows(t *testing.T) {
	for name := range peerAims {
		found := false
		for _, row := range rows.All(2) {
			found = found || row.Name == name
		}
		if !found {
			t.Errorf("no row is called %q", name)
		}
	}
}

func TestAims(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{atMost(0, 1.1), "–"}, {atMost(1.1, 1.1), "1.10"}, {atMost(1.11, 1.1), "1.11, **missed**"},
		{atLeast(7, 7), "7"}, {atLeast(6.9, 7), "7, **missed**"}, {atLeast(0, 7), "7"}, {atLeast(3, 0), "–"}, {atLeast(1, 1.3), "1.3, **missed**"},
	} {
		if c.got != c.want {
			t.Errorf("it is %q, want %q", c.got, c.want)
		}
	}
}

// small is a report of one request, with a peer.
func small() report {
	spread := func(v float64) measure.Spread { return measure.Spread{Median: v, Lowest: v, Highest: v} }
	return report{
		Date: "2026-01-02", Commit: "abc", Machine: machine{"a processor", 2, "linux/amd64", "go1"}, Rounds: 5, Turn: "200ms",
		Rows: []reportRow{{Name: "download-module", Title: "a <download>", MayCall: 1, Calls: calls{1, 2, 1, 0.5}, Cells: []cell{
			{Door: doorNode, Clients: 16, Delay: noDelay, ToFloor: spread(0.5), CPU: 40},
			{Door: doorBolt, Clients: 16, Delay: noDelay, ToPeer: spread(5), CPUToPeer: 6},
			{Door: doorFunctions, Clients: 16, Delay: noDelay, ToFloor: spread(0.9), ToPeer: spread(1.2), CPUToPeer: 1.5, CPU: 100},
			{Door: doorLambda, Clients: 1, Delay: noDelay, ToFloor: spread(0.8), CPUToFloor: 1.8, CPU: 200},
			{Door: floorLean, Clients: 1, Delay: someWait, P50: 5}, {Door: doorFunctions, Clients: 1, Delay: someWait, P50: 5.5},
			{Door: floorLean, Clients: 1, Delay: noDelay, CPU: 80}, {Door: doorFunctions, Clients: 1, Delay: noDelay, CPU: 100}, {Door: doorNode, Clients: 1, Delay: noDelay, CPU: 1000},
		}}},
		FunctionStarts: []start{{"empty", spread(5), spread(4), spread(1)}, {"versions", spread(6), spread(9), spread(2.2)}, {"publish", spread(6), spread(20), spread(5)}},
		NodeStarts:     []start{{What: "0 versions", Took: spread(70)}},
		Published: []published{
			{What: "1 at a time", PerSecond: spread(30), Floor: spread(300), ToFloor: spread(0.1)},
			{What: "20 MiB", Upload: spread(200), Publish: spread(80), Floor: spread(100), ToFloor: spread(0.8), Memory: 150_000_000},
		},
		Hashing: []hashed{{"sha256", spread(1200)}},
		Walks: []walked{
			{What: "verify", Door: doorNode, Versions: 2000, PerSecond: spread(200)},
			{What: "verify", Door: doorFunctions, Versions: 2000, PerSecond: spread(300), Bucket: 4, Table: 1.2, Units: 0.6},
		},
	}
}

func TestDocsTable(t *testing.T) {
	got := docsTable(small())
	for _, line := range []string{
		"Measured on 2026-01-02, at commit abc: a processor, 2 cores, linux/amd64, go1. Each had 5 turns of about 200ms.",
		"| a <download> | 16 | 0.50 (0.50–0.50) | 40.0 | 0.90 (0.90–0.90) | 100 | 1.10 | 0.80 (0.80–0.80) | 200 | 1.80, **missed** | 1 | 0.5 |",
		"| a <download> | 16 | 5.0 (5.0–5.0) | 4 | 6.0 | 1.2 (1.2–1.2) | 1.3, **missed** | 1.5 |",
		"| function `empty` | 5.0 (5.0–5.0) | 4.0 (4.0–4.0) | 1.0 (1.0–1.0) | – |",
		"| function `versions` | 6.0 (6.0–6.0) | 9.0 (9.0–9.0) | 2.2 (2.2–2.2) | ≤ 2, **missed** |",
		"| function `publish` | 6.0 (6.0–6.0) | 20.0 (20.0–20.0) | 5.0 (5.0–5.0) | – |",
		"| `larder serve`, 0 versions | 70.0 (70.0–70.0) | – | – | – |",
		"| small, 1 at a time | 30.0 (30.0–30.0) a second | – | 0.10 (0.10–0.10) | – | – |",
		"| 20 MiB | 80.0 (80.0–80.0) MB/s | 200 (200–200) MB/s | 0.80 (0.80–0.80) | ≥ 0.85, **missed** | 150 MB |",
		"| sha256 | 1,200 (1,200–1,200) MB/s |",
		"| verify | node | 2,000 | 200 (200–200) | – | – | – |",
		"| verify | functions | 2,000 | 300 (300–300) | 4.00 | 1.20 | 0.60 |",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, got)
		}
	}
	alone := small()
	alone.Rows[0].Cells = alone.Rows[0].Cells[:1]
	if got := docsTable(alone); !strings.Contains(got, "This run had no other registry.") || strings.Contains(got, "× peer*") {
		t.Errorf("without a peer:\n%s", got)
	}
}

// The chart is XML, and ten times the time is one step of the scale.
func TestChart(t *testing.T) {
	got := chart(small())
	if err := xml.Unmarshal([]byte(got), new(struct{})); err != nil {
		t.Errorf("%v:\n%s", err, got)
	}
	for _, part := range []string{
		`<rect class="floor" x="230" y="56" width="280.0" height="8"/>`, `<rect class="functions" x="230" y="65" width="310.0" height="8"/>`,
		`<rect class="node" x="230" y="74" width="620.0" height="8"/>`, ">a &lt;download&gt;</text>", "prefers-color-scheme:dark",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("there is no %s in\n%s", part, got)
		}
	}
}
