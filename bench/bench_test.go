package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/servers"
)

// TestMain makes this test binary one of the servers, as the command itself is.
func TestMain(m *testing.M) {
	if !servers.Run(os.Getenv) {
		os.Exit(m.Run())
	}
}

// TestRun measures a few cells for a moment, by the doors that need no binary of their own,
// and beside a peer that has none of the data.
func TestRun(t *testing.T) {
	peer := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(peer.Close)
	cache := t.TempDir()
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"-cells", "download-* discovery", "-doors", "bolt functions", "-clients", "1 2", "-delays", "0s 1ms",
		"-rounds", "2", "-turn", "2ms", "-packages", "10", "-cache", cache,
	}, func(name string) string { return map[string]string{"PEER": peer.URL}[name] }, &out)
	if err == nil || !strings.Contains(err.Error(), "discovery: peer is void: /.well-known/terraform.json: status 404") {
		t.Errorf("run = %v", err)
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 100 && !strings.Contains(line, "void") {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
	text, err := os.ReadFile(filepath.Join(cache, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	cells := map[string]int{}
	for _, row := range got.Rows {
		for _, c := range row.Cells {
			cells[row.Name+" "+c.Door+" "+c.Delay]++
			if wrong := c.Door == namePeer; wrong != (c.Void != "") || !wrong && (c.Rate.Median <= 0 || c.P50 <= 0) {
				t.Errorf("%s: %+v", row.Name, c)
			}
			if wrong := c.Floor != "" && c.ToFloor == (measure.Spread{}); wrong {
				t.Errorf("%s: %s is not compared with %s", row.Name, c.Door, c.Floor)
			}
		}
		if row.Calls.Later != row.MayCall {
			t.Errorf("%s: %+v calls", row.Name, row.Calls)
		}
	}
	for cell, want := range map[string]int{
		"discovery functions 0s": 2, "discovery functions 1ms": 0, "download-module bolt 0s": 2, "download-module functions 1ms": 2,
		"download-provider-5000 bolt 0s": 2, "download-provider-5000 bolt 1ms": 0, "versions-module-5 bolt 0s": 0,
	} {
		if cells[cell] != want {
			t.Errorf("there are %d cells %s, want %d", cells[cell], cell, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(cache, "run-*")); err != nil || len(left) != 0 {
		t.Errorf("%v stay: %v", left, err)
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args []string
		peer string
		want string // of the error
	}{
		{nil, "", ""},
		{[]string{"-cells", "["}, "", "-cells: syntax error in pattern"},
		{[]string{"-doors", "window"}, "", `-doors: there is no door "window"`},
		{[]string{"-clients", "1 0"}, "", `-clients: "0" is not a number of clients`},
		{[]string{"-delays", "5"}, "", `-delays: "5" is not a delay`},
		{[]string{"-rounds", "0"}, "", "-rounds and -turn must be more than 0"},
		{nil, "127.0.0.1:1", "PEER is \"127.0.0.1:1\""},
		{nil, "http://127.0.0.1:1", ""},
	} {
		_, err := parse(c.args, func(name string) string { return map[string]string{"PEER": c.peer}[name] })
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("parse(%q) with the peer %q = %v, want %q", c.args, c.peer, err, c.want)
		}
	}
}

// TestCheck checks that a row fails that is void, or takes more calls than it may.
func TestCheck(t *testing.T) {
	good := reportRow{Name: "row", MayCall: 1, Calls: calls{First: 1, Later: 1}, Cells: []cell{{Door: "node"}}}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*reportRow){
		"node is void: status 500": func(r *reportRow) { r.Cells = []cell{{Door: "node", Void: "status 500"}} },
		"an answer takes 2 calls":  func(r *reportRow) { r.Calls.Later = 2 },
		"the first one of a token": func(r *reportRow) { r.Calls.First = 2 },
	} {
		bad := good
		change(&bad)
		if err := bad.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check = %v, want %q", err, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for v, want := range map[float64]string{0.123: "0.12", 12.34: "12.3", 999.6: "1,000", 1234567: "1,234,567", 0: "0.00"} {
		if got := short(v); got != want {
			t.Errorf("short(%v) = %s, want %s", v, got, want)
		}
	}
}
