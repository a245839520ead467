package locals3

import (
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/logtest"
)

// A stop of the node interrupts requests, such as those of a comparison of the catalog. That
// is not logged as a fault.
func TestInterruptedRequestsAreNotLogged(t *testing.T) {
	log := &logtest.Log{}
	logLines(strings.NewReader("\x1b[31m[INTERNAL ERROR]: walk larder: context canceled\x1b[0m\n\n"+
		"\x1b[31m[INTERNAL ERROR]: walk larder: input/output error\x1b[0m\n"), logtest.Timeless(log))
	if got, want := log.String(), "level=WARN msg=\"S3 endpoint: [INTERNAL ERROR]: walk larder: input/output error\"\n"; got != want {
		t.Errorf("the log is %q, want %q", got, want)
	}
}
