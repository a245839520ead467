package scale

import (
	"fmt"
	"strings"
)

// Renew puts another table in the place of one of a page. Comments with its name are around it.
func Renew(page, name, table string) (string, error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->\n"
	before, rest, begins := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return "", fmt.Errorf("the page has no table between %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin + table + end + after, nil
}

// RenewAll renews several tables of a page, by their names.
func RenewAll(page string, tables map[string]string) (string, error) {
	for name, table := range tables {
		var err error
		if page, err = Renew(page, name, table); err != nil {
			return "", err
		}
	}
	return page, nil
}

// Pages are the computed tables of costs and limits in the docs, by page and by name.
func Pages(counted Counted, cpu Times) (map[string]map[string]string, error) {
	costs, err := Costs(counted, cpu)
	if err != nil {
		return nil, err
	}
	limits := LimitsTable(CompanyLoad, Limits(initsOf(false), cpu))
	return map[string]map[string]string{"docs/costs.md": costs, "docs/performance.md": {"limits": limits}}, nil
}
