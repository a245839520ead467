package upkeep_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/assembly/publishing"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
)

// A recovery says what it did, and names what it could not do.
func TestTheLogOfARecovery(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload(publishtest.PackageKey("1.1.0", "linux_amd64"), publishtest.Widget("a"))
	w.Upload("modules/acme/vpc/aws/1.0.0.zip", publishtest.ZipOf(map[string]string{"main.tf": ""}))
	w.Put(registry.RecordKey("registry/records/providers/acme/aaa/1.0.0/", 1), []byte(`{"kind":"frobnicated"}`))
	w.Put(registry.RecordsPrefix+"stray", nil)
	p, logged := w.Logging(w.NewCatalog())
	const stray = `level=WARN msg="an object among the records is none" key=` + registry.RecordsPrefix + "stray"
	for _, updated := range []int{3, 0} {
		if err := p.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := logged()
		want := []string{
			`level=ERROR msg="a version cannot be recovered and will be tried again by the next reconcile" version="provider acme/aaa 1.0.0" error=`, stray,
			fmt.Sprintf(`level=INFO msg="the catalog was compared with the records" versions=4 updated=%d broken=1`, updated),
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) || got[2] != want[2] {
			t.Errorf("logged %q, want %q", got, want)
		}
	}
}

// everything is a catalog that lists all versions of modules.
type everything struct {
	publishing.Index
	all registry.Listing
}

func (e everything) Listing(context.Context, registry.Address, *access.Lookup) (catalog.Snapshot[*registry.Listing], error) {
	return catalogtest.Snapshot[*registry.Listing](e.all)
}

// A long recovery says how far it is, after each thousand versions.
func TestTheLogOfALongRecovery(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	var all registry.Listing
	for n := range 2001 {
		v := publishtest.MustVersion(t, fmt.Sprintf("1.%d.0", n))
		all = append(all, registry.Listed{Version: v, Revision: 1})
		w.Put(registry.RecordKey(registry.Subject{Address: publishtest.VPC, Version: v}.LogPrefix(), 1), nil)
	}
	p, logged := w.Logging(everything{w.Index, all})
	if err := p.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`level=INFO msg="comparing the catalog with the records" versions=1000 updated=0`, `level=INFO msg="comparing the catalog with the records" versions=2000 updated=0`,
		`level=INFO msg="the catalog was compared with the records" versions=2001 updated=0 broken=0`,
	}
	if got := logged(); !slices.Equal(got, want) {
		t.Errorf("logged %q, want %q", got, want)
	}
}
