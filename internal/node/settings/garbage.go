package settings

import "runtime/debug"

// CollectLess lets the garbage grow to twice the memory that is in use before it is collected,
// unless GOGC says something else. Go's default is once: then a node, which keeps little,
// collects for every few hundred answers, and takes a fifteenth more of the processor.
func CollectLess(getenv func(string) string) {
	const growth = 200 // percent
	if getenv("GOGC") == "" {
		debug.SetGCPercent(growth)
	}
}
