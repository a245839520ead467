package scale

import (
	"fmt"
	"strconv"
	"strings"
)

// Requests is how many requests to AWS something takes, by their names, such as "s3 GetObject".
type Requests map[string]float64

// Counted is the counted requests of docs/aws-requests.md: by the name of a table, and then by
// the first cell of a row.
type Counted map[string]map[string]Requests

// ReadCounted reads the page's tables. The last cell of a row has the requests.
func ReadCounted(page string) (Counted, error) {
	counted := Counted{}
	table := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "<!-- "); ok {
			if table = strings.TrimSuffix(name, " -->"); strings.HasPrefix(table, "/") {
				table = ""
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if table == "" || len(cells) < 2 || strings.HasPrefix(line, "|-") {
			continue
		}
		if counted[table] == nil { // this row is the head
			counted[table] = map[string]Requests{}
			continue
		}
		requests, err := parseRequests(cells[len(cells)-1])
		if err != nil {
			return nil, fmt.Errorf("the table of %s, %s: %w", table, cells[0], err)
		}
		if _, known := counted[table][cells[0]]; !known { // of several, the first is the good case
			counted[table][cells[0]] = requests
		}
	}
	return counted, nil
}

// parseRequests reads "1 dynamodb GetItem, 2 s3 PutObject", or "none".
func parseRequests(text string) (Requests, error) {
	all := Requests{}
	if text == "none" {
		return all, nil
	}
	for part := range strings.SplitSeq(text, ", ") {
		number, name, _ := strings.Cut(part, " ")
		n, err := strconv.Atoi(number)
		if err != nil || len(strings.Fields(name)) != 2 {
			return nil, fmt.Errorf("%q is no number of requests", part)
		}
		all[name] += float64(n)
	}
	return all, nil
}

// row is a row that must be there.
func (c Counted) row(table, name string) (Requests, error) {
	requests, ok := c[table][name]
	if !ok {
		return nil, fmt.Errorf("docs/aws-requests.md has no row %q in its table of %s", name, table)
	}
	return requests, nil
}

// plus adds some requests, a number of times.
func (r Requests) plus(other Requests, times float64) {
	for name, n := range other {
		r[name] += n * times
	}
}

// of is how many requests of some names there are.
func (r Requests) of(names ...string) (sum float64) {
	for _, name := range names {
		sum += r[name]
	}
	return sum
}
