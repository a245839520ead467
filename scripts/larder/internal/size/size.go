// Package size writes numbers of bytes as people read them.
package size

import "fmt"

// Of is a number of bytes in words, of two digits at least where it has them.
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
