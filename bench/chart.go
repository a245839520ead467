package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// The measures of the chart.
const (
	chartLeft  = 230 // where bars begin
	chartWidth = 620 // of the longest bar
	chartTop   = 56
	barHeight  = 9
	groupGap   = 10
)

// chartStyle is readable on a light and on a dark page.
const chartStyle = `text{font:12px system-ui,sans-serif;fill:#1f2328}.small{font-size:10px}.line{stroke:#d0d7de}
.floor{fill:#8c959f}.functions{fill:#bf8700}.node{fill:#0969da}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.line{stroke:#3d444d}.floor{fill:#6e7681}.functions{fill:#d29922}.node{fill:#4493f8}}`

// bar is a bar of the chart.
type bar struct{ class, title, door string }

// bars are what the chart has of each request. The floor is the one of its read, if it reads.
func bars(row reportRow) []bar {
	floor := floorBare
	if row.MayCall > 0 {
		floor = floorLean
	}
	return []bar{{"floor", "floor", floor}, {"functions", "functions", doorFunctions}, {"node", "one machine", doorNode}}
}

// chart draws the processor's time of each request, by one client and without a delay, as SVG.
func chart(r report) string {
	lowest, highest := math.Inf(1), 10.0
	for _, row := range r.Rows {
		for _, one := range bars(row) {
			if cpu := row.cell(one.door, 1, noDelay).CPU; cpu > 0 {
				lowest, highest = min(lowest, cpu), max(highest, cpu)
			}
		}
	}
	first, last := math.Floor(math.Log10(min(lowest, highest/10))), math.Ceil(math.Log10(highest))
	at := func(cpu float64) float64 { // how long the bar is
		return math.Max(0, (math.Log10(cpu)-first)/(last-first)*chartWidth)
	}
	group := 3*barHeight + groupGap
	bottom := chartTop + len(r.Rows)*group
	width, height := chartLeft+chartWidth+60, bottom+24
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>Processor's time of a request, in microseconds, on a logarithmic scale</title>\n<style>%s</style>\n", chartStyle)
	fmt.Fprintf(&b, "<text x=\"0\" y=\"16\">Processor's time of a request, in µs. The scale is logarithmic; shorter is better.</text>\n")
	for n, one := range bars(reportRow{}) {
		x := chartLeft + n*120
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"26\" width=\"10\" height=\"10\"/><text x=\"%d\" y=\"35\">%s</text>\n", one.class, x, x+15, one.title)
	}
	for power := first; power <= last; power++ {
		x := chartLeft + at(math.Pow(10, power))
		fmt.Fprintf(&b, "<line class=\"line\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x, chartTop-8, x, bottom)
		fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, bottom+14, short(math.Pow(10, power)))
	}
	for n, row := range r.Rows {
		y := chartTop + n*group
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", chartLeft-8, y+2*barHeight, escaped(row.Title))
		for n, one := range bars(row) {
			cpu := row.cell(one.door, 1, noDelay).CPU
			if cpu <= 0 {
				continue
			}
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", one.class, chartLeft, y+n*barHeight, at(cpu), barHeight-1)
			fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%s</text>\n", chartLeft+at(cpu)+4, y+(n+1)*barHeight-1, short(cpu))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes all
	return b.String()
}
