package publishtest

import (
	"bytes"
	"context"
	"time"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// ReconcileInParts takes a reconcile to its end in calls that have no time, and says
// what each of them was told to go on after and what all of them found missed.
func (w *World) ReconcileInParts() (steps, missed []string) {
	w.Helper()
	for after := ""; ; {
		next, err := w.Reconcile(w.Context(), after, time.Time{}, func(_ context.Context, o blob.Object) error {
			missed = append(missed, o.Key+" "+o.Version)
			return nil
		})
		if err != nil {
			w.Fatal(err)
		}
		if next == "" {
			return steps, missed
		}
		steps = append(steps, next)
		after = next
	}
}

// Walked is a line for each step of a walk in which something was changed or is
// wrong.
func (w *World) Walked(walk upkeep.Walk) (lines []string) {
	w.Helper()
	for step, err := range walk {
		if step.Changed {
			lines = append(lines, step.Subject+" changed")
		}
		for _, problem := range step.Problems {
			lines = append(lines, step.Subject+": "+problem)
		}
		if err != nil {
			lines = append(lines, step.Subject+" failed: "+err.Error())
		}
	}
	return lines
}

// Mixed publishes something of everything, and returns what is listed of it.
func (w *World) Mixed() (listed func() []string) {
	w.Helper()
	r := NewRelease(w.T, "acme")
	for key, body := range r.Uploads() {
		w.Upload(key, body)
	}
	w.Upload(PackageKey("2.0.0-rc.1+b", "linux_amd64"), Widget("a"))
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", ZipOf(map[string]string{"x/main.tf": ""}))
	w.Upload("modules/acme/vpc/aws/1.1.0.tar.gz", TarOf(map[string]string{"main.tf": ""}))
	return func() []string { return append(w.Listed("acme/widget"), w.Listed("acme/vpc/aws")...) }
}

// Empty gives the world an empty catalog.
func (w *World) Empty() {
	w.Helper()
	w.Index = w.NewCatalog()
	w.Parts = w.PartsOn(w.Bucket, w.Index, w.Key)
}

// Put writes over whatever is there, as no user may.
func (w *World) Put(key string, body []byte) {
	w.Helper()
	if err := w.Bucket.Put(w.Context(), key, bytes.NewReader(body), int64(len(body))); err != nil {
		w.Fatal(err)
	}
}
