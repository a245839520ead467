package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/larder-registry/larder/bench/internal/measure"
)

// report is everything that was measured.
type report struct {
	Date    string
	Commit  string
	Machine machine
	Rounds  int
	Turn    string
	Rows    []reportRow

	FunctionStarts, NodeStarts []start
	Published                  []published
	Hashing                    []hashed
	Walks                      []walked
}

// machine is on what it was measured.
type machine struct {
	CPU    string
	Cores  int
	System string
	Go     string
}

// reportRow is a request, and how everybody answered it.
type reportRow struct {
	Name, Title string
	MayCall     float64 // how many calls of the store an answer may take
	Calls       calls
	Cells       []cell
}

// calls is how many requests to the store an answer takes, and their read units.
type calls struct {
	First, FirstUnits float64 // with a token that is not remembered
	Later, LaterUnits float64
}

// cell is how one answered.
type cell struct {
	Door       string
	Clients    int
	Delay      string
	Void       string `json:",omitempty"`
	Rate       measure.Spread
	Floor      string         `json:",omitempty"`
	ToFloor    measure.Spread `json:",omitzero"` // its rate by that of the floor
	CPUToFloor float64        `json:",omitzero"` // its processor's time by that of the floor
	ToPeer     measure.Spread `json:",omitzero"` // its rate by that of the peer
	CPUToPeer  float64        `json:",omitzero"` // the peer's processor's time by its own
	CPU        float64        // microseconds for a request
	P50, P99   float64        // milliseconds
	Bytes      int64
}

func newCell(e entrant, clients int, delay time.Duration, r measure.Result) cell {
	return cell{
		Door: e.name, Clients: clients, Delay: delay.String(), Void: r.Void, Rate: r.Rate(), Bytes: r.Bytes(),
		CPU: float64(r.CPU().Nanoseconds()) / 1e3, P50: milliseconds(r.Percentile(0.5)), P99: milliseconds(r.Percentile(0.99)),
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// check says what must not be: a void cell, and more calls than an answer may take.
func (r reportRow) check() error {
	for _, c := range r.Cells {
		if c.Void != "" {
			return fmt.Errorf("%s: %s is void: %s", r.Name, c.Door, c.Void)
		}
	}
	if r.Calls.First > r.MayCall || r.Calls.Later > r.MayCall {
		return fmt.Errorf("%s: an answer takes %g calls of the store, and the first one of a token %g; it may take %g", r.Name, r.Calls.Later, r.Calls.First, r.MayCall)
	}
	return nil
}

func newReport(s settings) report {
	return report{Date: time.Now().UTC().Format(time.DateOnly), Commit: commit(), Machine: thisMachine(), Rounds: s.plan.Rounds, Turn: s.plan.Turn.String()}
}

// commit is what is measured, as Git names it; empty if Git does not know it.
func commit() string {
	out, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	return strings.TrimSpace(string(out))
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m
}

// The names of the last reports in the folder of the bench.
const (
	reportFile  = "report.json"  // has everything
	partialFile = "partial.json" // of a run that was interrupted, or that did not measure everything
)

func (r report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
