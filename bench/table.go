package main

import (
	"fmt"
	"io"

	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/scale"
)

func printMachine(out io.Writer, r report) {
	fmt.Fprintf(out, "%s, %d cores, %s, %s, commit %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.System, r.Machine.Go, r.Commit)
	fmt.Fprintf(out, `By turns, %d of about %s each. "by" is the number of clients, "delay" that of a call of the store.
"× floor" is the requests per second, divided by those of the door's floor in the same round: the
median, and (the lowest–the highest). "CPU" is the server's for a request, "bytes" the answer's.
`, r.Rounds, r.Turn)
}

// printRow prints what was measured of a request, in at most 100 columns.
func printRow(out io.Writer, r reportRow) {
	fmt.Fprintf(out, "\n%s (%s)\n", r.Title, r.Name)
	if r.Calls != (calls{}) {
		fmt.Fprintf(out, "  calls of the store: %g, with %g read units; the first one of a token: %g, with %g\n",
			r.Calls.Later, r.Calls.LaterUnits, r.Calls.First, r.Calls.FirstUnits)
	}
	fmt.Fprintf(out, "  %-20s %3s %5s %8s  %-16s %-16s %7s %7s %7s\n", "", "by", "delay", "req/s", "× floor", "× peer", "CPU µs", "p50 ms", "bytes")
	for _, c := range r.Cells {
		if c.Void != "" {
			fmt.Fprintf(out, "  %-20s %3d %5s  void: %s\n", c.Door, c.Clients, c.Delay, c.Void)
			continue
		}
		fmt.Fprintf(out, "  %-20s %3d %5s %8s  %-16s %-16s %7s %7.2f %7d\n",
			c.Door, c.Clients, c.Delay, scale.Grouped(c.Rate.Median), formatSpread(c.ToFloor), formatSpread(c.ToPeer), formatFigure(c.CPU), c.P50, c.Bytes)
	}
}

// notMeasured is what a table has where nothing was measured.
const notMeasured = "–"

func formatSpread(s measure.Spread) string {
	if s == (measure.Spread{}) {
		return notMeasured
	}
	return fmt.Sprintf("%s (%s–%s)", short(s.Median), short(s.Lowest), short(s.Highest))
}

// formatFigure is a figure that is 0 if it was not measured.
func formatFigure(v float64) string {
	if v == 0 {
		return notMeasured
	}
	return short(v)
}

// short has at least two digits that count.
func short(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return scale.Grouped(v)
}
