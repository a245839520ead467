// Package size writes how many bytes, or things, there are, as people read it.
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

// Count is a number of things in words, whose plural ends with s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
