package settings_test

import (
	"runtime/debug"
	"testing"

	"github.com/larder-registry/larder/internal/node/settings"
)

// TestCollectLess holds that the environment has the last word.
func TestCollectLess(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for gogc, want := range map[string]int{"": 200, "50": 100, "off": 100} { // Go itself has read a GOGC
		debug.SetGCPercent(100)
		settings.CollectLess(func(name string) string { return map[string]string{"GOGC": gogc}[name] })
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("GOGC=%q: %d percent, want %d", gogc, got, want)
		}
	}
}
