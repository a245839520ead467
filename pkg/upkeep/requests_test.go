package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/upkeep"
)

// What a walk costs are its requests. Each version adds as many as the others, and nothing
// is read twice.
func TestTheRequestsOfWalks(t *testing.T) {
	platforms := []string{"darwin_arm64", "linux_amd64", "linux_arm64"}
	const versions = 6
	var (
		packages = len(platforms)
		records  = 2 * packages // of each package one, and one of the SHA256SUMS that was signed then
	)
	walked := func(walk upkeep.Walk) error {
		var errs []error
		for _, err := range walk {
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for name, test := range map[string]struct {
		walk             func(*publishtest.Parts) error
		provider, module int // requests for a version
	}{
		// The records, and the state in the catalog.
		"reindex": {func(p *publishtest.Parts) error { return walked(p.Reindex(t.Context(), "", false)) }, records + 1, 1 + 1},
		// Besides: the archives, the document of a module, SHA256SUMS and its signature; the outcome of each upload, and
		// the state with which they are compared, which is in the catalog unless there is a
		// next record.
		"verify": {func(p *publishtest.Parts) error { return walked(p.Verify(t.Context(), "", false)) }, records + 1 + packages + 2 + packages + 2, 2 + 1 + 1 + 1 + 2},
		// The state in the catalog; the outcome of each upload.
		"reconcile": {func(p *publishtest.Parts) error {
			_, err := p.Reconcile(t.Context(), "", time.Now().Add(time.Hour), func(_ context.Context, o blob.Object) error {
				return fmt.Errorf("%s is missed", o.Key)
			})
			return err
		}, 1 + packages, 1},
	} {
		w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
		w.withDirectory()
		requests := func() int {
			f := &publishtest.Faults{}
			if err := test.walk(w.Through(f)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return len(f.Calls)
		}
		published := 0
		publish := func(upload func(version string)) (perVersion, rest int) {
			upload("0.1.0") // the listing, and what is listed for all versions
			before := requests()
			for range versions {
				published++
				upload(fmt.Sprintf("1.%d.0", published))
			}
			once := requests() - before
			for range versions {
				published++
				upload(fmt.Sprintf("1.%d.0", published))
			}
			twice := requests() - before
			return once / versions, twice - 2*(once/versions)*versions
		}
		provider, rest := publish(func(version string) {
			for _, platform := range platforms {
				w.Want(w.Upload(publishtest.PackageKey(version, platform), publishtest.Widget(version+platform)), inbox.Published)
			}
		})
		if provider != test.provider || rest != 0 {
			t.Errorf("%s: a provider version makes %d requests (and of %d versions, %d are left over), want %d", name, provider, 2*versions, rest, test.provider)
		}
		module, rest := publish(func(version string) {
			w.Want(w.Upload("modules/acme/vpc/aws/"+version+".zip", publishtest.ZipOf(map[string]string{"main.tf": version})), inbox.Published)
		})
		if module != test.module || rest != 0 {
			t.Errorf("%s: a module version makes %d requests (and of %d versions, %d are left over), want %d", name, module, 2*versions, rest, test.module)
		}
	}
}
