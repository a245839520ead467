package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/rows"
	"github.com/larder-registry/larder/bench/internal/scale"
)

// What the docs have of a report.
const (
	keptReport = "bench/testdata/report.json" // the report itself
	chartFile  = "docs/performance.svg"
	benchPage  = "docs/performance.md"
	benchTable = "bench table" // the name of the part of that page
)

// readReport reads a report.
func readReport(path string) (r report, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// row is a row of a report, empty if the report has no row of that name.
func (r report) row(name string) reportRow {
	for _, row := range r.Rows {
		if row.Name == name {
			return row
		}
	}
	return reportRow{}
}

// cell is a cell of a row, empty if it was not measured.
func (r reportRow) cell(door string, clients int, delay string) cell {
	for _, c := range r.Cells {
		if c.Door == door && c.Clients == clients && c.Delay == delay {
			return c
		}
	}
	return cell{}
}

// The delays that the docs show.
const (
	noDelay  = "0s"
	someWait = "5ms"
)

// isLarge says that the answers are so long that one client keeps the machine busy.
func isLarge(name string) bool {
	switch name {
	case "versions-provider-400x12", "versions-provider-1000x14", "versions-module-10000", "mirror-versions":
		return true
	}
	return false
}

// clientsOf is the number of clients with which the docs show a row.
func clientsOf(name string) int {
	if isLarge(name) {
		return 1
	}
	return 16
}

// complete says what the docs show and a report does not have.
func (r report) complete() error {
	var errs []error
	need := func(has bool, format string, args ...any) {
		if !has {
			errs = append(errs, fmt.Errorf("it has no "+format, args...))
		}
	}
	for _, row := range rows.All(2) {
		measured := r.row(row.Name)
		needCell := func(door string, clients int, delay string) {
			need(measured.cell(door, clients, delay).Rate.Median > 0, "%s of %s with clients=%d and delay=%s", row.Name, door, clients, delay)
		}
		for _, door := range []string{doorNode, doorBolt, doorFunctions} {
			needCell(door, clientsOf(row.Name), noDelay)
		}
		for _, door := range []string{floorBare, doorNode, doorFunctions, doorLambda} {
			needCell(door, 1, noDelay)
		}
		if row.Calls() > 0 {
			needCell(floorLean, 1, someWait)
			needCell(doorFunctions, 1, someWait)
		}
	}
	need(len(r.FunctionStarts) > 0, "start-functions")
	need(len(r.NodeStarts) > 0, "start-node")
	need(len(r.Published) > 0, "publish-small and publish-large")
	need(len(r.Hashing) > 0, "hashing")
	need(len(r.Walks) > 0, "walks")
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the last report is not whole: %w: run make bench without settings", err)
	}
	return nil
}

// keep makes a report the one of the docs: it adds its table to those that the pages get, and
// writes the report and the chart.
func (r report) keep(pages map[string]map[string]string) error {
	if err := r.complete(); err != nil {
		return err
	}
	pages[benchPage][benchTable] = docsTable(r)
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(keptReport), 0o755)
	}
	if err == nil {
		err = os.WriteFile(keptReport, append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(chartFile, []byte(chart(r)), 0o644)
	}
	return err
}

// The limits that a report is held to, beside those of the peer.
const (
	maxWait     = 1.1  // p50 of a read at a delay, by that of the floor
	maxEcho     = 1.7  // the processor's time of a function, by that of the echo
	maxEmpty    = 2    // that of the start of a function that reads, by that of the empty one
	leastHashed = 0.85 // publishing of large packages, by hashing
)

// peerAims is how many times as fast as the peer a door should answer, by the names of rows.
var peerAims = map[string]struct{ bolt, functions float64 }{
	"download-provider-12":     {7, 4},
	"download-module":          {4, 1.3},
	"versions-provider-10x5":   {60, 12},
	"versions-provider-400x12": {600, 300},
	"versions-module-5":        {15, 2.5},
	"versions-module-100":      {60, 25},
	"versions-module-1000":     {300, 150},
	"mirror-versions":          {800, 400},
	"mirror-version":           {150, 90},
	"discovery":                {1, 1},
}

// atMost is a figure that has an upper limit.
func atMost(figure, limit float64) string {
	switch {
	case figure == 0:
		return notMeasured
	case figure > limit:
		return fmt.Sprintf("%.2f, **missed**", figure)
	}
	return fmt.Sprintf("%.2f", figure)
}

// atLeast is what a table has of an aim that a figure should reach.
func atLeast(figure, aim float64) string {
	switch {
	case aim == 0:
		return notMeasured
	case figure > 0 && figure < aim:
		return fmt.Sprintf("%g, **missed**", aim)
	}
	return fmt.Sprintf("%g", aim)
}

// table writes a table in Markdown.
func table(b *strings.Builder, head []string, lines [][]string) {
	write := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	b.WriteString("\n")
	write(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, line := range lines {
		write(line)
	}
}

// docsTable is the part of the page that shows a report.
func docsTable(r report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, at commit %s: %s, %d cores, %s, %s. Each had %d turns of about %s.\n",
		r.Date, r.Commit, r.Machine.CPU, r.Machine.Cores, r.Machine.System, r.Machine.Go, r.Rounds, r.Turn)
	requestsTable(&b, r)
	peerTable(&b, r)
	startsTable(&b, r)
	publishTable(&b, r)
	hashingTable(&b, r)
	walksTable(&b, r)
	return b.String()
}

// requestsTable has a line for each request.
func requestsTable(b *strings.Builder, r report) {
	b.WriteString("\n**Requests.** *By* is the number of clients; `lambda` and the p50 are by one. *× floor* compares the requests\n" +
		"per second. *CPU* is the processor's time of a request. *p50 at 5 ms* is that of `functions` by that of\n" +
		"its floor, if each call of the table takes 5 ms. *Calls* are those of the table.\n")
	var lines [][]string
	for _, row := range r.Rows {
		clients := clientsOf(row.Name)
		node, functions := row.cell(doorNode, clients, noDelay), row.cell(doorFunctions, clients, noDelay)
		lambda := row.cell(doorLambda, 1, noDelay)
		waited := 0.0
		if floor := row.cell(floorLean, 1, someWait); floor.P50 > 0 {
			waited = row.cell(doorFunctions, 1, someWait).P50 / floor.P50
		}
		lines = append(lines, []string{
			row.Title, fmt.Sprint(clients),
			formatSpread(node.ToFloor), formatFigure(node.CPU), formatSpread(functions.ToFloor), formatFigure(functions.CPU), atMost(waited, maxWait),
			formatSpread(lambda.ToFloor), formatFigure(lambda.CPU), atMost(lambda.CPUToFloor, maxEcho),
			fmt.Sprintf("%g", row.Calls.Later), fmt.Sprintf("%g", row.Calls.LaterUnits),
		})
	}
	table(b, []string{
		"request", "by", "`node` × floor", "CPU µs", "`functions` × floor", "CPU µs", fmt.Sprintf("p50 at 5 ms × floor (aim: ≤ %g)", maxWait),
		"`lambda` × floor", "CPU µs", fmt.Sprintf("CPU × floor (aim: ≤ %g)", maxEcho), "calls", "read units",
	}, lines)
}

// peerTable has a line for each request, if there was a peer.
func peerTable(b *strings.Builder, r report) {
	var lines [][]string
	measured := false
	for _, row := range r.Rows {
		clients := clientsOf(row.Name)
		bolt, functions := row.cell(doorBolt, clients, noDelay), row.cell(doorFunctions, clients, noDelay)
		measured = measured || bolt.ToPeer != (measure.Spread{})
		aim := peerAims[row.Name]
		lines = append(lines, []string{
			row.Title, fmt.Sprint(clients), formatSpread(bolt.ToPeer), atLeast(bolt.ToPeer.Median, aim.bolt), formatFigure(bolt.CPUToPeer),
			formatSpread(functions.ToPeer), atLeast(functions.ToPeer.Median, aim.functions), formatFigure(functions.CPUToPeer),
		})
	}
	b.WriteString("\n**Beside another registry.**")
	if !measured {
		b.WriteString(" This run had no other registry.\n")
		return
	}
	b.WriteString(" *× peer* is how many times as many requests per second, and *CPU* how many times\nless time of the processor for each.\n")
	table(b, []string{"request", "by", "`bolt` × peer", "aim", "CPU", "`functions` × peer", "aim", "CPU"}, lines)
}

func startsTable(b *strings.Builder, r report) {
	b.WriteString("\n**Starts.** *× empty* compares the processor's time with that of a function that does nothing.\n")
	var lines [][]string
	for _, s := range r.FunctionStarts {
		aim := notMeasured
		switch s.What {
		case "discovery", "versions", "download":
			aim = fmt.Sprintf("≤ %d", maxEmpty)
			if s.ToEmpty.Median > maxEmpty {
				aim += ", **missed**"
			}
		}
		lines = append(lines, []string{"function `" + s.What + "`", formatSpread(s.Took), formatSpread(s.CPU), formatSpread(s.ToEmpty), aim})
	}
	for _, s := range r.NodeStarts {
		lines = append(lines, []string{"`larder serve`, " + s.What, formatSpread(s.Took), formatSpread(s.CPU), formatSpread(s.ToEmpty), notMeasured})
	}
	table(b, []string{"what", "ms", "CPU ms", "× empty", "aim"}, lines)
}

func publishTable(b *strings.Builder, r report) {
	b.WriteString("\n**Publishing**, on one machine. The floor of small packages is to write as many files, each synced to\n" +
		"the disk. That of large ones is to compute sha256 and then h1 of the same bytes.\n")
	var lines [][]string
	for _, p := range r.Published {
		if p.PerSecond != (measure.Spread{}) {
			lines = append(lines, []string{"small, " + p.What, formatSpread(p.PerSecond) + " a second", notMeasured, formatSpread(p.ToFloor), notMeasured, notMeasured})
			continue
		}
		aim := fmt.Sprintf("≥ %g", leastHashed)
		if p.ToFloor.Median < leastHashed {
			aim += ", **missed**"
		}
		lines = append(lines, []string{
			p.What, formatSpread(p.Publish) + " MB/s", formatSpread(p.Upload) + " MB/s", formatSpread(p.ToFloor), aim, fmt.Sprintf("%d MB", p.Memory/1e6),
		})
	}
	table(b, []string{"packages", "published", "uploaded before", "× floor", "aim", "peak memory"}, lines)
}

func hashingTable(b *strings.Builder, r report) {
	b.WriteString("\n**Hashing** of one package, in one thread.\n")
	var lines [][]string
	for _, h := range r.Hashing {
		lines = append(lines, []string{h.What, formatSpread(h.Rate) + " MB/s"})
	}
	table(b, []string{"hash", "speed"}, lines)
}

func walksTable(b *strings.Builder, r report) {
	b.WriteString("\n**Walks.** `node` is the command, beside the running registry. `functions` is the walk by itself, with\n" +
		"a table that answers at once, and its requests are counted.\n")
	var lines [][]string
	for _, w := range r.Walks {
		requests := []string{notMeasured, notMeasured, notMeasured}
		if w.Bucket > 0 {
			requests = []string{fmt.Sprintf("%.2f", w.Bucket), fmt.Sprintf("%.2f", w.Table), fmt.Sprintf("%.2f", w.Units)}
		}
		lines = append(lines, append([]string{w.What, w.Door, scale.Grouped(float64(w.Versions)), formatSpread(w.PerSecond)}, requests...))
	}
	table(b, []string{"walk", "by", "versions", "versions a second", "requests to the bucket, each", "to the table, each", "read units, each"}, lines)
}
