package inbox

import (
	"testing"
	"time"
)

// An outcome is news where any of its version, status and reasons is.
func TestRepeats(t *testing.T) {
	last := Outcome{Key: "a", Version: "1", Status: Pending, Reasons: []string{"x", "y"}, By: "one"}
	for name, test := range map[string]struct {
		change func(*Outcome)
		want   bool
	}{
		"nothing":        {func(*Outcome) {}, true},
		"who, and when":  {func(o *Outcome) { o.By, o.Time = "two", time.Now() }, true},
		"the version":    {func(o *Outcome) { o.Version = "2" }, false},
		"the status":     {func(o *Outcome) { o.Status = Rejected }, false},
		"a reason":       {func(o *Outcome) { o.Reasons = []string{"x", "z"} }, false},
		"another reason": {func(o *Outcome) { o.Reasons = []string{"x"} }, false},
	} {
		o := last
		if test.change(&o); o.repeats(last) != test.want {
			t.Errorf("where %s is another, it repeats the last: %v", name, !test.want)
		}
	}
}

// Only what is judged together with other files is looked at again.
func TestMayChange(t *testing.T) {
	const file = "providers/acme/widget/terraform-provider-widget_1.0.0_"
	for key, rejectedMay := range map[string]bool{
		file + "SHA256SUMS": true, file + "SHA256SUMS.sig": true, file + "manifest.json": true,
		file + "linux_amd64.zip": false, "modules/acme/vpc/aws/1.0.0.zip": false, "keys/acme/key.asc": false, "mirror/example.com/acme/widget/1.0.0.json": false, "x": false,
	} {
		for status, want := range map[Status]bool{Pending: true, Rejected: rejectedMay, Published: false, Ignored: false} {
			if got := (Outcome{Key: key, Status: status}).MayChange(); got != want {
				t.Errorf("%s that is %s may change: %v", key, status, got)
			}
		}
	}
}
