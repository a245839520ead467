package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/larder-registry/larder/bench/internal/measure"
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
			c.Door, c.Clients, c.Delay, grouped(c.Rate.Median), formatSpread(c.ToFloor), formatSpread(c.ToPeer), formatCPU(c.CPU), c.P50, c.Bytes)
	}
}

func formatSpread(s measure.Spread) string {
	if s == (measure.Spread{}) {
		return "–"
	}
	return fmt.Sprintf("%s (%s–%s)", short(s.Median), short(s.Lowest), short(s.Highest))
}

func formatCPU(microseconds float64) string {
	if microseconds == 0 {
		return "–"
	}
	return short(microseconds)
}

// short has at least two digits that count.
func short(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return grouped(v)
}

// grouped is a whole number with commas between the thousands.
func grouped(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	var b strings.Builder
	for n, digit := range digits {
		if n > 0 && (len(digits)-n)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}
