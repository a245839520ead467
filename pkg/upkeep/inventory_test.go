package upkeep_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// inventory is what there is of something, after a cursor, and the cursors.
func (w *world) inventory(of, after string) (found, cursors []string) {
	w.Helper()
	for held, err := range w.Inventory(w.Context(), of, after) {
		if err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprint(held.Subject.Address, " ", held.Listed.Version, " ", held.Listed.Standing.State)
		for _, platform := range held.Listed.Platforms {
			line += " " + platform.String()
		}
		found, cursors = append(found, line), append(cursors, held.After)
	}
	return found, cursors
}

func TestInventory(t *testing.T) {
	onBothCatalogs(t, func(w *world) {
		if found, _ := w.inventory("", ""); found != nil {
			w.Errorf("of nothing there is %q", found)
		}
		module := publishtest.ZipOf(map[string]string{"main.tf": ""})
		for _, key := range []string{"modules/acme/vpc/aws/1.0.0.zip", "modules/acme/vpc/aws/1.1.0+a.zip", "modules/acmeist/vpc/aws/1.0.0.zip"} {
			w.Want(w.Upload(key, module), inbox.Published)
		}
		for _, key := range []string{publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Mirrored + publishtest.ProviderName("widget", "2.0.0", "linux_amd64.zip")} {
			w.Want(w.Upload(key, publishtest.Widget("x")), inbox.Published)
		}
		r := publishtest.NewReleaseOf(w.T, "acme", "3.0.0") // of which nothing can be served
		for _, f := range r.InOrder("SHA256SUMS", "SHA256SUMS.sig", "author.asc") {
			w.Upload(f.Key, f.Body)
		}
		if _, _, err := w.SetStanding(w.Context(), registry.Subject{Address: publishtest.VPC, Version: publishtest.MustVersion(w.T, "1.0.0")}, publishtest.Withdraw); err != nil {
			w.Fatal(err)
		}
		all := []string{
			"registry.terraform.io/acme/widget 2.0.0  linux_amd64",
			"acme/vpc/aws 1.0.0 withdrawn", "acme/vpc/aws 1.1.0+a ", "acmeist/vpc/aws 1.0.0 ",
			"acme/widget 1.0.0  darwin_arm64 linux_amd64", "acme/widget 3.0.0 ",
		}
		for of, want := range map[string][]string{
			"": all, "acme": {all[1], all[2], all[4], all[5]}, "Acme/": {all[1], all[2], all[4], all[5]}, "acme/widget": all[4:], "acme/vpc/aws": all[1:3], "acm": nil,
			"registry.terraform.io": all[:1], "registry.terraform.io/acme/widget": all[:1],
		} {
			found, cursors := w.inventory(of, "")
			if !slices.Equal(found, want) {
				w.Errorf("of %q there is %q, want %q", of, found, want)
			}
			for n, cursor := range cursors {
				if rest, _ := w.inventory(of, cursor); !slices.Equal(rest, want[n+1:]) {
					w.Errorf("of %q after %q there is %q, want %q", of, cursor, rest, want[n+1:])
				}
			}
		}
	})
}

func TestOutcomes(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("x", 251) // whose outcome lies elsewhere
	keys := []string{long, "dist/widget.zip", publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.PackageKey("1.0.0", "linux_arm64")}
	for _, key := range keys {
		w.Upload(key, publishtest.Widget("x"))
	}
	w.Put(registry.OutcomesPrefix+"x.json", []byte("{"))
	told := func(prefix, after string) (found, cursors []string, broken int) {
		for o, err := range w.Outcomes(t.Context(), prefix, after) {
			cursors = append(cursors, o.After)
			if err != nil {
				broken++
				continue
			}
			found = append(found, o.Key+" "+string(o.Status))
		}
		return found, cursors, broken
	}
	all := []string{keys[0] + " ignored", keys[1] + " ignored", keys[2] + " published", keys[3] + " published"}
	for prefix, want := range map[string][]string{"": all, "providers/": all[2:], keys[3]: all[3:], "x": all[:1], "nothing": nil} {
		found, _, broken := told(prefix, "")
		if !slices.Equal(found, want) || (broken == 1) != (prefix == "" || prefix == "x") {
			t.Errorf("under %q: %q, and %d broken, want %q", prefix, found, broken, want)
		}
	}
	_, cursors, broken := told("", "")
	if broken != 1 || len(cursors) != len(all)+1 {
		t.Errorf("%d broken of %q", broken, cursors)
	}
	for n, cursor := range cursors {
		if _, rest, _ := told("", cursor); !slices.Equal(rest, cursors[n+1:]) {
			t.Errorf("after %q: %q, want %q", cursor, rest, cursors[n+1:])
		}
	}
}

// A list that cannot be read to its end does not pass for one that is whole.
func TestAnInventoryThatFails(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("x"))
	for n := range 3 {
		f := &publishtest.Faults{Kind: publishtest.Failed, Hits: publishtest.Nth(n + 1)}
		p := w.Through(f)
		var last error
		for _, err := range p.Inventory(t.Context(), "", "") {
			last = err
		}
		if f.Hit != (last != nil) || f.Hit && !errors.Is(last, publishtest.ErrFault) {
			t.Errorf("call %d: %v", n+1, last)
		}
		f = &publishtest.Faults{Kind: publishtest.Failed, Hits: publishtest.Nth(n + 1)}
		last = nil
		for o, err := range w.Through(f).Outcomes(t.Context(), "", "") {
			if last = err; err != nil && (o.After == "") == strings.Contains(err.Error(), "cannot be read") {
				t.Errorf("%+v, %v", o, err)
			}
		}
		if f.Hit != (last != nil) || f.Hit && !errors.Is(last, publishtest.ErrFault) {
			t.Errorf("call %d: %v", n+1, last)
		}
	}
}
