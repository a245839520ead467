package control

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
	"github.com/larder-registry/larder/pkg/upkeep"
)

func heldVersions(t *testing.T) []upkeep.Held {
	t.Helper()
	v := registrytest.Version(t, "1.0.0")
	listed := registry.Listed{Version: v, Revision: 1}
	withdrawn := registry.Listed{Version: v, Revision: 2, Standing: registry.Standing{State: registry.Withdrawn, Message: "why"}, Source: "https://example.com"}
	provider := listed
	provider.Platforms = []registry.Platform{{OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}}
	return []upkeep.Held{
		{After: "1", Subject: registry.Subject{Address: registry.ProviderAddress{Hostname: "example.com", Namespace: "acme", Type: "widget"}}, Listed: listed},
		{After: "2", Subject: registry.Subject{Address: registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}}, Listed: withdrawn},
		{After: "3", Subject: registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}}, Listed: provider},
		{After: "4", Subject: registry.Subject{Address: registry.ProviderAddress{Namespace: "acme", Type: "widget"}}, Listed: registry.Listed{Version: v}},
	}
}

var wantVersions = []Version{
	{Kind: Mirrored, Address: "example.com/acme/widget", Version: "1.0.0", Standing: Listed},
	{Kind: Module, Address: "acme/vpc/aws", Version: "1.0.0", Standing: registry.Withdrawn, Message: "why", Source: "https://example.com"},
	{Kind: Provider, Address: "acme/widget", Version: "1.0.0", Standing: Listed, Platforms: []string{"darwin_arm64", "linux_amd64"}},
	{Kind: Provider, Address: "acme/widget", Version: "1.0.0", Standing: Unlisted},
}

func TestList(t *testing.T) {
	d := &registryDouble{held: heldVersions(t)}
	for after, gone := range map[string]int{"": 0, "1": 1} {
		d.asked = nil
		a := ask(t, New(Config{Registry: of(d)}), `{"list":{"of":"acme","after":"`+after+`"}}`)
		want := Walked{Last: "acme/widget 1.0.0", Steps: map[string]int{"records": 4 - gone}, Versions: wantVersions[gone:]}
		if a.Error != "" || !reflect.DeepEqual(*a.Walked, want) || !slices.Equal(d.asked, []string{`inventory "acme" "` + after + `"`}) {
			t.Errorf("asked %q, answered %+v, %s, want %+v", d.asked, a.Walked, a.Error, want)
		}
	}
	h := New(Config{Registry: of(d)})
	h.partTime = -time.Second
	if a := ask(t, h, `{"list":{}}`); a.Walked.Next != "1" || len(a.Walked.Versions) != 1 {
		t.Errorf("without time, it is %+v", a.Walked)
	}
	d.errs = map[string]error{"": errors.New("no bucket")}
	if a := ask(t, New(Config{Registry: of(d)}), `{"list":{}}`); a.Error != "no bucket" || a.Walked != nil {
		t.Errorf("it is %+v", a)
	}
}

// A part that has enough ends, whatever its time.
func TestListsOfMany(t *testing.T) {
	d := &registryDouble{}
	long := registry.Standing{State: registry.Deprecated, Message: strings.Repeat("x", MaxAnswer/4)}
	for n := range 6 {
		held := heldVersions(t)[1]
		held.After, held.Listed.Standing = fmt.Sprint(n), long
		d.held = append(d.held, held)
		d.told = append(d.told, inbox.Entry{After: fmt.Sprint(n), Outcome: inbox.Outcome{Key: "k", Status: inbox.Rejected, Reasons: []string{long.Message}}})
	}
	h := New(Config{Registry: of(d)})
	if w := ask(t, h, `{"list":{}}`).Walked; len(w.Versions) != 4 || w.Next != "3" {
		t.Errorf("there are %d, until %q", len(w.Versions), w.Next)
	}
	if w := ask(t, h, `{"uploads":{}}`).Walked; len(w.Uploads) != 4 || w.Next != "3" {
		t.Errorf("there are %d, until %q", len(w.Uploads), w.Next)
	}
}

func TestUploads(t *testing.T) {
	told := func(after string, status inbox.Status, reasons int) inbox.Entry {
		o := inbox.Entry{After: after, Outcome: inbox.Outcome{Key: "key " + after, Status: status}}
		for n := range reasons {
			o.Reasons = append(o.Reasons, fmt.Sprint("reason ", n))
		}
		return o
	}
	all := []inbox.Entry{told("1", inbox.Published, 0), told("2", inbox.Rejected, MaxReasons), told("3", inbox.Pending, MaxReasons+2), told("4", inbox.Ignored, 1), {After: "5"}}
	for status, want := range map[string][]int{`""`: {1, 2, 3}, `"all"`: {0, 1, 2, 3}, `"rejected"`: {1}, `"pending"`: {2}, `"ignored"`: {3}, `"published"`: {0}} {
		d := &registryDouble{told: all, errs: map[string]error{"5": errors.New("it cannot be read")}}
		a := ask(t, New(Config{Registry: of(d)}), `{"uploads":{"prefix":"providers/","status":`+status+`}}`)
		expected := Walked{Last: "5", Steps: map[string]int{"inbox": 5}, Findings: []Finding{{"5", "it cannot be read"}}}
		for _, n := range want {
			o := all[n].Outcome
			if n == 2 {
				o.Reasons = append(slices.Clone(o.Reasons[:MaxReasons]), "and 2 more, which its document under registry/outcomes/ has")
			}
			expected.Uploads = append(expected.Uploads, o)
		}
		if a.Error != "" || !reflect.DeepEqual(*a.Walked, expected) || !slices.Equal(d.asked, []string{`outcomes "providers/" ""`}) {
			t.Errorf("%s: asked %q, answered %+v, %s, want %+v", status, d.asked, a.Walked, a.Error, expected)
		}
	}
	d := &registryDouble{told: all, errs: map[string]error{"": errors.New("no bucket")}}
	if a := ask(t, New(Config{Registry: of(d)}), `{"uploads":{}}`); a.Error != "no bucket" || a.Walked != nil {
		t.Errorf("it is %+v", a)
	}
}
