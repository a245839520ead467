package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

func TestWriteVersions(t *testing.T) {
	versions := []control.Version{
		{Kind: control.Provider, Address: "acme/widget", Version: "1.10.0", Standing: control.Listed, Platforms: []string{"darwin_arm64", "linux_amd64"}},
		{Kind: control.Provider, Address: "acme/widget", Version: "1.9.0", Standing: registry.Deprecated, Message: "use\x1b 1.10.0", Platforms: []string{"linux_amd64"}},
		{Kind: control.Module, Address: "acme/vpc/aws", Version: "1.0.0", Standing: registry.Withdrawn},
		{Kind: control.Provider, Address: "acme/widget", Version: "odd", Standing: control.Unlisted},
	}
	slices.SortStableFunc(versions, compareVersions)
	var out strings.Builder
	if err := writeVersions(&out, versions, ""); err != nil {
		t.Fatal(err)
	}
	const want = `KIND      ADDRESS       VERSION  STANDING    PLATFORMS                 MESSAGE
module    acme/vpc/aws  1.0.0    withdrawn   -                         -
provider  acme/widget   1.9.0    deprecated  linux_amd64               use\uFFFD 1.10.0
provider  acme/widget   1.10.0   listed      darwin_arm64 linux_amd64  -
provider  acme/widget   odd      unlisted    -                         -
`
	if got := out.String(); got != strings.ReplaceAll(want, `\uFFFD`, "\uFFFD") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for of, want := range map[string]string{"": "there is no version\n", "acme": "there is no version of acme\n"} {
		out.Reset()
		if err := writeVersions(&out, nil, of); err != nil || out.String() != want {
			t.Errorf("of %q: %q, %v", of, out.String(), err)
		}
	}
}

func TestWriteUploads(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var out strings.Builder
	err := writeUploads(&out, []inbox.Outcome{
		{Key: "a\x1b.zip", Status: inbox.Rejected, Time: at, Reasons: []string{"It is\r bad.", "It is old."}},
		{Key: "b.zip", Status: inbox.Published, Time: at.In(time.FixedZone("", 3600)), Warnings: []string{"It has a state."}},
	}, "none")
	want := "rejected   2026-01-02 03:04:05  a\uFFFD.zip\n    It is\uFFFD bad.\n    It is old.\npublished  2026-01-02 03:04:05  b.zip\n    It has a state.\n"
	if err != nil || out.String() != want {
		t.Errorf("got\n%s\nwant\n%s\n%v", out.String(), want, err)
	}
	out.Reset()
	if err := writeUploads(&out, nil, "there is none"); err != nil || out.String() != "there is none\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
