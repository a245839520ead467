package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/internal/progress"
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
	whole := filepath.Join(cache, reportFile)
	if err := os.WriteFile(whole, []byte("of a whole run"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"-cells", "download-* discovery details-module newest-module", "-doors", "bolt functions", "-clients", "1 2", "-delays", "0s 1ms",
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
	if text, err := os.ReadFile(whole); err != nil || string(text) != "of a whole run" {
		t.Errorf("the report of a whole run is %q now: %v", text, err)
	}
	partial := filepath.Join(cache, partialFile)
	if !strings.HasSuffix(out.String(), "\nAll figures: "+partial+"\n") {
		t.Errorf("it does not say where its report is: %s", out.String())
	}
	text, err := os.ReadFile(partial)
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
		"discovery peer 0s": 2, "details-module peer 0s": 0, "newest-module peer 0s": 0, "details-module bolt 0s": 2,
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
		{[]string{"-rounds", "0"}, "", "-rounds, -turn and -walked must be more than 0"},
		{[]string{"-walked", "0"}, "", "-rounds, -turn and -walked must be more than 0"},
		{nil, "127.0.0.1:1", "PEER is \"127.0.0.1:1\""},
		{nil, "http://127.0.0.1:1", ""},
	} {
		_, err := parse(c.args, func(name string) string { return map[string]string{"PEER": c.peer}[name] })
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("parse(%q) with the peer %q = %v, want %q", c.args, c.peer, err, c.want)
		}
	}
}

func TestFailure(t *testing.T) {
	_, help := parse([]string{"-help"}, func(string) string { return "" })
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	broken := errors.New("broken")
	for _, c := range []struct {
		ctx       context.Context
		err, want error
	}{
		{t.Context(), nil, nil},
		{t.Context(), help, nil},
		{t.Context(), broken, broken},
		{interrupted, nil, nil},
		{interrupted, broken, errors.New("interrupted")},
	} {
		if got := failure(c.ctx, c.err); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v fails with %v, want %v", c.err, got, c.want)
		}
	}
}

// The settings of another node in the caller's shell do not reach the node that is measured.
func TestNodeHasItsOwnSettings(t *testing.T) {
	t.Setenv("LARDER_HOSTNAME", "registry.example.com")
	t.Setenv("LARDER_DATA", "/srv/registry")
	got := (&node{folder: "/run"}).env("LARDER_AUTH=required")
	got = slices.DeleteFunc(got, func(variable string) bool { return !strings.HasPrefix(variable, "LARDER_") })
	if want := []string{"LARDER_DATA=/run", "LARDER_AUTH=required"}; !slices.Equal(got, want) {
		t.Errorf("its settings are %q, want %q", got, want)
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

// TestPeerObjects checks where the data of a peer lies, and how much of it there is.
func TestPeerObjects(t *testing.T) {
	objects := map[string]string{}
	peerObjects(2)(func(key, content string) { objects[key] = content })
	for key, want := range map[string]string{
		"providers/acme/signing-keys.json":                                                                  `"key_id":"1D6323CC463AD7FC"`,
		"providers/acme/small/terraform-provider-small_1.0.3_SHA256SUMS":                                    "  terraform-provider-small_1.0.3_linux_amd64.zip\n",
		"providers/acme/small/terraform-provider-small_1.0.3_SHA256SUMS.sig":                                "signature",
		"providers/acme/small/terraform-provider-small_1.0.3_linux_amd64.zip":                               "",
		"mirror/providers/registry.example.com/acme/medium/terraform-provider-medium_4.9.9_windows_386.zip": "",
		"mirror/providers/registry.example.com/acme/signing-keys.json":                                      `"key_id":"1D6323CC463AD7FC"`,
		"modules/acme/larger/aws/acme-larger-aws-100.9.9.tar.gz":                                            "",
		"providers/team-00/service-0000/terraform-provider-service-0000_1.0.0_linux_amd64.zip":              "",
		"modules/team-00/service-0000/aws/team-00-service-0000-aws-1.0.0.tar.gz":                            "",
	} {
		if got, ok := objects[key]; !ok || !strings.Contains(got, want) {
			t.Errorf("%s is %.200q, %t, want %q in it", key, got, ok, want)
		}
	}
	const want = 10*7 + 400*14 + 1000*16 + 400*14 + 7 + 5 + 100 + 1000 + 10_000 + 1 + 3
	if len(objects) != want {
		t.Errorf("there are %d objects, want %d", len(objects), want)
	}
}

// TestFillPeer writes to a server that takes everything.
func TestFillPeer(t *testing.T) {
	var taken sync.Map
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		taken.Store(r.Method+" "+r.URL.Path, true)
	}))
	t.Cleanup(server.Close)
	two := func(put func(key, content string)) {
		put("a/b", "content")
		put("c", "")
	}
	getenv := func(name string) string { return map[string]string{"PEER_S3": server.URL + "/peer"}[name] }
	var out bytes.Buffer
	if err := fillPeer(t.Context(), two, getenv, progress.NewLine(&out, true)); err != nil {
		t.Error(err)
	}
	const clear = "\r\x1b[K"
	if want := clear + "1 objects, a/b" + clear + "2 objects, c" + clear + "2 objects are in the bucket peer\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out.String(), want)
	}
	for _, want := range []string{"PUT /peer/a/b", "PUT /peer/c"} {
		if _, ok := taken.Load(want); !ok {
			t.Errorf("there was no request %s", want)
		}
	}
	if err := run(t.Context(), []string{"-fill-peer"}, func(string) string { return "" }, &out); err == nil || !strings.Contains(err.Error(), "PEER_S3 is") {
		t.Errorf("without PEER_S3: %v", err)
	}
}
