// Package size writes numbers of bytes, or of things, for people.
package size

import "fmt"

// Of writes a number of bytes in words, with at least two digits if it has them.
func Of(n int64) string {
	for _, unit := range []struct {
		shift int
		name  string
	}{{30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n >= 10<<unit.shift {
			return fmt.Sprintf("%d %s", n>>unit.shift, unit.name)
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// Count writes a number of things whose plural ends with s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
