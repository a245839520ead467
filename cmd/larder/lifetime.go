package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/larder-registry/larder/pkg/access"
)

// maxLifetime is the longest lifetime: a longer one is a mistake, or no [time.Duration].
const maxLifetime = 100 * 366 * 24 * time.Hour

// parseLifetime reads a lifetime: a number and d, h or m.
func parseLifetime(text string) (access.Duration, error) {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute}
	number := strings.TrimRight(text, "dhm")
	unit := units[strings.TrimPrefix(text, number)]
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil || n == 0 || unit == 0 || n > uint64(maxLifetime/unit) {
		return 0, fmt.Errorf("%.100q is not a lifetime: write a number of days, hours or minutes, like 90d, 12h or 30m", text)
	}
	return access.Duration(time.Duration(n) * unit), nil
}

// formatExpiry says when something expires: "never" for the zero time.
func formatExpiry(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return formatTime(t)
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// formatLifetime writes a lifetime as [parseLifetime] reads it, or as a
// [time.Duration] if that takes more than one unit.
func formatLifetime(d access.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if whole := time.Duration(d); whole%unit.length == 0 {
			return strconv.FormatInt(int64(whole/unit.length), 10) + unit.name
		}
	}
	return d.String()
}
