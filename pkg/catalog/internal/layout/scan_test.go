package layout

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// storedForm is a listing with everything that one can have.
func storedForm(tb testing.TB) []byte {
	set := []registry.Platform{{OS: "linux", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}}
	data, err := EncodeListing(registry.Listing{
		{Version: registrytest.Version(tb, "0.9.0-rc.1+b"), Revision: 123456789, Protocols: []string{"5.0"}, Platforms: set, Source: `https://example.com/,"versions":[`},
		{Version: registrytest.Version(tb, "1.0.0"), Revision: 1, Standing: registry.Standing{State: registry.Deprecated, Message: `use " or } and \ é <b>`}},
		{Version: registrytest.Version(tb, "1.1.0"), Revision: 2, Platforms: set, Standing: registry.Standing{State: registry.Withdrawn}, Source: "https://example.com/b"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// What is scanned is what encoding/json reads. What EncodeListing writes is scanned.
func TestScanListing(t *testing.T) {
	whole := string(storedForm(t))
	if !checkScan(t, []byte(whole)) {
		t.Errorf("%s is not scanned", whole)
	}
	for i := range len(whole) {
		checkScan(t, []byte(whole[:i]))
		checkScan(t, []byte(whole[:i]+whole[i+1:]))
		for _, c := range `{}[]",:\0 x` {
			checkScan(t, []byte(whole[:i]+string(c)+whole[i:]))
			checkScan(t, []byte(whole[:i]+string(c)+whole[i+1:]))
		}
	}
	const head, tail = `{"sets":[{}],"versions":[`, `]}`
	const one = `{"version":"1.0.0","revision":1,"set":0}`
	for text, scanned := range map[string]bool{
		head + one + tail: true, head + one + "," + one + tail: true, head + tail: false, head + one + tail + "\n": false, "": false,
		head + strings.Replace(one, "1,", "01,", 1) + tail:                false,
		head + strings.Replace(one, "1,", "1234567890,", 1) + tail:        false,
		head + strings.Replace(one, "1,", "-1,", 1) + tail:                false,
		`{"sets":[{}],"Versions":[` + one + `],"versions":[` + one + tail: false,
		`{"versions":[` + one + `],"sets":[{}]}`:                          false,
		`{"sets":[],"sources":[],"versions":[` + one + tail:               true,
		`{"sets":null,"versions":null}`:                                   false,
	} {
		if got := checkScan(t, []byte(text)); got != scanned {
			t.Errorf("%s is scanned: %t", text, got)
		}
	}
}

func FuzzScanListing(f *testing.F) {
	f.Add(storedForm(f))
	f.Fuzz(func(t *testing.T, value []byte) { checkScan(t, value) })
}

// checkScan says whether a value was scanned.
func checkScan(t *testing.T, value []byte) bool {
	t.Helper()
	before := string(value)
	got, ok := scanListing(value)
	var want storedListing
	if err := json.Unmarshal(value, &want); ok && (err != nil || !reflect.DeepEqual(got, want)) {
		t.Errorf("%q is scanned as %+v, and read as %+v, %v", value, got, want, err)
	}
	if string(value) != before {
		t.Errorf("%q has become %q", before, value)
	}
	return ok
}

func BenchmarkDecodeListing(b *testing.B) {
	var listing registry.Listing
	for i := range 1000 {
		listing = append(listing, registry.Listed{Version: registrytest.Version(b, "1."+strings.Repeat("1", i%4+1)+".0"), Revision: 1})
	}
	data, err := EncodeListing(listing)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := DecodeListing(data); err != nil {
			b.Fatal(err)
		}
	}
}
