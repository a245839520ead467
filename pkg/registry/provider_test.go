package registry

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The records of these tests.
func pkgRecord(t *testing.T, platform string, protocols ...string) Record {
	t.Helper()
	os, arch, _ := strings.Cut(platform, "_")
	return Record{Kind: KindPackage, Version: version(t, "1.0.0"), Package: &Package{Platform: Platform{os, arch}, Protocols: protocols}}
}

func manifestRecord(t *testing.T, protocols ...string) Record {
	t.Helper()
	return Record{Kind: KindManifest, Version: version(t, "1.0.0"), Manifest: &Manifest{Protocols: protocols}}
}

func docsRecord(t *testing.T) Record {
	t.Helper()
	return Record{Kind: KindDocs, Version: version(t, "1.0.0"), Docs: &Docs{SHA256: "d0", Size: 1}}
}

func releaseRecord(t *testing.T, author bool) Record {
	t.Helper()
	return Record{Kind: KindRelease, Version: version(t, "1.0.0"), Release: &Release{Author: author}}
}

func fold(t *testing.T, records ...Record) *ProviderVersion {
	t.Helper()
	state := &ProviderVersion{Address: ProviderAddress{Namespace: "acme", Type: "widget"}}
	for _, r := range records {
		if err := state.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return state
}

// The first package with a source decides for the version, whatever comes after it and
// whatever its platform.
func TestSourceOfAProviderVersion(t *testing.T) {
	from := func(platform, source string) Record {
		r := pkgRecord(t, platform)
		r.Package.Source = source
		return r
	}
	for name, tt := range map[string]struct {
		log  []Record
		want string
	}{
		"nothing":            {nil, ""},
		"none":               {[]Record{from("linux_amd64", ""), releaseRecord(t, false)}, ""},
		"one":                {[]Record{from("linux_amd64", "https://a")}, "https://a"},
		"first of two":       {[]Record{from("linux_amd64", "https://a"), from("darwin_arm64", "https://b")}, "https://a"},
		"the other way":      {[]Record{from("darwin_arm64", "https://b"), from("linux_amd64", "https://a")}, "https://b"},
		"after one without":  {[]Record{from("linux_amd64", ""), from("darwin_arm64", "https://a")}, "https://a"},
		"first that says it": {[]Record{from("darwin_arm64", ""), from("linux_amd64", "https://a"), from("freebsd_386", "https://c")}, "https://a"},
	} {
		if got := fold(t, tt.log...).Source(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestFoldProviderVersion(t *testing.T) {
	linux, darwin, windows := pkgRecord(t, "linux_amd64"), pkgRecord(t, "darwin_arm64"), pkgRecord(t, "windows_amd64")
	own, author := releaseRecord(t, false), releaseRecord(t, true)
	for _, tt := range []struct {
		name    string
		log     []Record
		served  string // platforms, separated by spaces
		settled bool
	}{
		{"nothing", nil, "", true},
		{"a package without a release", []Record{linux}, "", false},
		{"a package and then a release", []Record{linux, own}, "linux_amd64", true},
		{"packages by platform, not by time", []Record{windows, linux, darwin, own}, "darwin_arm64 linux_amd64 windows_amd64", true},
		{"a package after the registry's release", []Record{linux, own, darwin}, "linux_amd64", false},
		{"a release after that", []Record{linux, own, darwin, own}, "darwin_arm64 linux_amd64", true},
		{"a package after the author's release", []Record{linux, own, author, darwin}, "darwin_arm64 linux_amd64", true},
		{"the author's release alone", []Record{author}, "", true},
		{"the author's release first", []Record{author, linux}, "linux_amd64", true},
		{"documentation alone", []Record{docsRecord(t)}, "", true},
		{"documentation changes nothing of this", []Record{docsRecord(t), linux}, "", false},
		{"documentation of what is served", []Record{linux, own, docsRecord(t)}, "linux_amd64", true},
		{"a manifest changes nothing of this", []Record{manifestRecord(t, "6.0"), linux}, "", false},
	} {
		state := fold(t, tt.log...)
		var served []string
		for _, p := range state.Listed().Platforms {
			served = append(served, p.String())
			if pkg, ok := state.Package(p); !ok || pkg.Platform != p {
				t.Errorf("%s: %s is listed and not served", tt.name, p)
			}
		}
		if got := strings.Join(served, " "); got != tt.served || state.Settled() != tt.settled {
			t.Errorf("%s: serves %q, settled %t", tt.name, got, state.Settled())
		}
		if state.Revision != len(tt.log) || state.Listed().Revision != len(tt.log) {
			t.Errorf("%s: revision %d after %d records", tt.name, state.Revision, len(tt.log))
		}
	}
}

func TestFoldNumbersRecords(t *testing.T) {
	state := fold(t, pkgRecord(t, "linux_amd64"), manifestRecord(t, "6.0"), pkgRecord(t, "darwin_arm64"), releaseRecord(t, false))
	linux, _ := state.Accepted(Platform{"linux", "amd64"})
	darwin, _ := state.Accepted(Platform{"darwin", "arm64"})
	if linux.Sequence != 1 || darwin.Sequence != 3 || state.Release.Sequence != 4 {
		t.Errorf("sequences %d, %d, %d; want 1, 3, 4", linux.Sequence, darwin.Sequence, state.Release.Sequence)
	}
	if state.Version != version(t, "1.0.0") {
		t.Errorf("version %q", state.Version)
	}
}

// Documentation alone is no version that anybody could install.
func TestFoldDocs(t *testing.T) {
	state := fold(t, docsRecord(t))
	if state.Listable() || state.Docs == nil || *state.Docs != (Docs{SHA256: "d0", Size: 1}) || state.Version != version(t, "1.0.0") {
		t.Errorf("the state is %+v, listable: %v", state, state.Listable())
	}
}

func TestPackageIsServedOnlyWhenCovered(t *testing.T) {
	state := fold(t, pkgRecord(t, "linux_amd64"), releaseRecord(t, false), pkgRecord(t, "darwin_arm64"))
	darwin := Platform{"darwin", "arm64"}
	if _, ok := state.Accepted(darwin); !ok {
		t.Error("an accepted package is not found")
	}
	if _, ok := state.Package(darwin); ok {
		t.Error("a package that no SHA256SUMS covers is served")
	}
	if _, ok := state.Accepted(Platform{"windows", "amd64"}); ok {
		t.Error("a package that never came is found")
	}
	if _, ok := state.Package(Platform{"windows", "amd64"}); ok {
		t.Error("a package that never came is served")
	}
}

func TestApplyLeavesEarlierStatesAlone(t *testing.T) {
	before := fold(t, pkgRecord(t, "linux_amd64"), pkgRecord(t, "windows_amd64"))
	before.Packages = slices.Grow(before.Packages, 4) // room to be overwritten
	after := *before
	for _, r := range []Record{pkgRecord(t, "darwin_arm64"), releaseRecord(t, false)} {
		if err := after.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	if len(before.Packages) != 2 || before.Packages[0].Platform.OS != "linux" || before.Packages[1].Platform.OS != "windows" || before.Release != nil {
		t.Errorf("the earlier state became %+v", before)
	}
}

func TestApplyLeavesRecordsAlone(t *testing.T) {
	pkg, release := pkgRecord(t, "linux_amd64"), releaseRecord(t, false)
	fold(t, pkg, release)
	if pkg.Package.Sequence != 0 || release.Release.Sequence != 0 {
		t.Error("a record was given a number")
	}
}

func TestApplyRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, r := range []Record{
		{Kind: "withdrawn"},
		{Kind: KindModule, Module: &ModuleArchive{}},
		{Kind: KindPackage}, {Kind: KindManifest}, {Kind: KindDocs}, {Kind: KindRelease}, {Kind: KindStanding},
		{Kind: "withdrawn", Package: &Package{}}, {Kind: "withdrawn", Manifest: &Manifest{}}, {Kind: "withdrawn", Docs: &Docs{}}, {Kind: "withdrawn", Release: &Release{}},
		{Kind: "withdrawn", Standing: &Standing{State: Withdrawn}}, {Kind: KindStanding, Standing: &Standing{}},
		{},
	} {
		state := fold(t, pkgRecord(t, "linux_amd64"))
		before := *state
		err := state.Apply(r)
		if err == nil || !strings.Contains(err.Error(), "record 2 of acme/widget") {
			t.Errorf("%+v: %v", r, err)
		}
		if !reflect.DeepEqual(*state, before) {
			t.Errorf("%+v changed the state to %+v", r, state)
		}
	}
}

// A version is published with its first archive, whatever comes before or after it. A state of
// an older release has no time, and gets none from a later package.
func TestFoldPublished(t *testing.T) {
	at := func(r Record, second int) Record {
		r.Time = time.Unix(int64(second), 0).UTC()
		return r
	}
	release, linux, darwin := releaseRecord(t, true), pkgRecord(t, "linux_amd64"), pkgRecord(t, "darwin_arm64")
	module := Record{Kind: KindModule, Module: &ModuleArchive{}}
	deprecated := Record{Kind: KindStanding, Standing: &Standing{State: Deprecated, Message: "m"}}
	for name, tt := range map[string]struct {
		state State
		log   []Record
		want  int // in seconds; -1 is the zero time
	}{
		"no package":       {&ProviderVersion{}, []Record{at(release, 1)}, -1},
		"a package":        {&ProviderVersion{}, []Record{at(release, 1), at(linux, 2), at(darwin, 3), at(deprecated, 4)}, 2},
		"an older state":   {&ProviderVersion{Revision: 1, Packages: []Package{*linux.Package}}, []Record{at(darwin, 3)}, -1},
		"a module":         {&ModuleVersion{}, []Record{at(module, 1), at(deprecated, 2)}, 1},
		"an older module":  {&ModuleVersion{Revision: 1}, []Record{at(deprecated, 2)}, -1},
		"a second archive": {&ModuleVersion{}, []Record{at(module, 1), at(module, 2)}, 1},
	} {
		for _, r := range tt.log {
			if err := tt.state.Apply(r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var want time.Time
		if tt.want >= 0 {
			want = time.Unix(int64(tt.want), 0).UTC()
		}
		if got := reflect.ValueOf(tt.state).Elem().FieldByName("Published").Interface(); got != want {
			t.Errorf("%s: published %v, want %v", name, got, want)
		}
	}
}

func TestFoldModuleVersion(t *testing.T) {
	state := ModuleVersion{Address: ModuleAddress{"acme", "vpc", "aws"}}
	if err := state.Apply(Record{Kind: KindModule, Version: version(t, "1.0.0+b"), Module: &ModuleArchive{SHA256: "a1"}}); err != nil {
		t.Fatal(err)
	}
	if state.Archive.SHA256 != "a1" || !reflect.DeepEqual(state.Listed(), Listed{Version: version(t, "1.0.0+b"), Revision: 1}) {
		t.Errorf("%+v, listed %+v", state, state.Listed())
	}
	for _, r := range []Record{
		{Kind: KindPackage, Package: &Package{}}, {Kind: KindModule}, {Kind: "withdrawn"}, {},
		{Kind: "withdrawn", Module: &ModuleArchive{}}, {Kind: "withdrawn", Standing: &Standing{State: Withdrawn}}, {Kind: KindStanding},
	} {
		if err := state.Apply(r); err == nil || !strings.Contains(err.Error(), "record 2 of acme/vpc/aws") || state.Revision != 1 {
			t.Errorf("%+v: %v, revision %d", r, err, state.Revision)
		}
	}
}

// Every accepted package of a mirrored provider is served: nothing is signed.
func TestMirroredPackagesAreServed(t *testing.T) {
	own := fold(t, pkgRecord(t, "linux_amd64"))
	mirrored := *own
	mirrored.Address.Hostname = "registry.terraform.io"
	for want, state := range map[bool]*ProviderVersion{false: own, true: &mirrored} {
		_, served := state.Package(Platform{"linux", "amd64"})
		if _, another := state.Package(Platform{"linux", "arm64"}); served != want || state.Settled() != want || len(state.Listed().Platforms) > 0 != want || another {
			t.Errorf("mirrored %t: served %t, settled %t, listed %+v", want, served, state.Settled(), state.Listed())
		}
	}
}

func TestProtocols(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  []Record
		want []string
	}{
		{"nothing says", []Record{pkgRecord(t, "linux_amd64")}, []string{"5.0"}},
		{"the package says", []Record{pkgRecord(t, "linux_amd64", "6.0")}, []string{"6.0"}},
		{"each major once", []Record{pkgRecord(t, "linux_amd64", "5.0", "6.0", "5.2")}, []string{"5.2", "6.0"}},
		{"each major once of a manifest", []Record{pkgRecord(t, "linux_amd64"), manifestRecord(t, "6.1", "6.0")}, []string{"6.1"}},
		{"the manifest has the last word", []Record{pkgRecord(t, "linux_amd64", "6.0"), manifestRecord(t, "5.1", "6.2")}, []string{"5.1", "6.2"}},
	} {
		state := fold(t, append(tt.log, releaseRecord(t, false))...)
		pkg, _ := state.Package(Platform{"linux", "amd64"})
		if got := state.Protocols(pkg); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := state.Listed().Protocols; !slices.Equal(got, tt.want) {
			t.Errorf("%s: listed with %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestListedProtocolsAreThoseOfServedPackages(t *testing.T) {
	state := fold(t, pkgRecord(t, "linux_amd64", "5.0"), pkgRecord(t, "darwin_arm64", "5.3"), releaseRecord(t, false), pkgRecord(t, "windows_amd64", "6.0"))
	if got := state.Listed().Protocols; !slices.Equal(got, []string{"5.3"}) {
		t.Errorf("listed with %v, want 5.3 alone", got)
	}
}

func TestHighestMinors(t *testing.T) {
	for _, tt := range []struct{ given, want []string }{
		{nil, nil},
		{[]string{"5.0"}, []string{"5.0"}},
		{[]string{"6.0", "5.1", "5.0"}, []string{"5.1", "6.0"}},
		{[]string{"5.9", "5.10", "5.2"}, []string{"5.10"}},
		{[]string{"10.0", "9.0"}, []string{"9.0", "10.0"}},
		{[]string{"5.0", "5.0"}, []string{"5.0"}},
	} {
		given := slices.Clone(tt.given)
		if got := highestMinors(given); !slices.Equal(got, tt.want) {
			t.Errorf("highestMinors(%v) = %v, want %v", tt.given, got, tt.want)
		}
		if !slices.Equal(given, tt.given) {
			t.Errorf("highestMinors changed its argument to %v", given)
		}
	}
}
