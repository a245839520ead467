package archive

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/archivetest"
)

func TestCheckProvider(t *testing.T) {
	manifest := `{"version":1,"metadata":{"protocol_versions":["6.0","5.0"]}}`
	for _, test := range []struct {
		name      string
		members   []member
		protocols []string
	}{
		{"plain", files("terraform-provider-widget_v1.2.3", "LICENSE"), nil},
		{"bare name", files("terraform-provider-widget"), nil},
		{"Windows", files("terraform-provider-widget.exe"), nil},
		{"folders", files("terraform-provider-widget", "docs/", "docs/a.md"), nil},
		{"folder that has the name", files("terraform-provider-widget.d/", "terraform-provider-widget_v1"), nil},
		{"empty second match", append(files("terraform-provider-widget"), member{name: "terraform-provider-widget_x"}), nil},
		{"manifest", append(files("terraform-provider-widget"), member{name: ManifestName, body: manifest}), []string{"5.0", "6.0"}},
		{"manifest, first and as large as it may be", []member{{name: ManifestName, body: manifest + strings.Repeat(" ", MaxManifest-len(manifest))}, {name: "terraform-provider-widget", body: "x"}}, []string{"5.0", "6.0"}},
		{"manifest in a folder", append(files("terraform-provider-widget"), member{name: "x/" + ManifestName, body: "{}"}), nil},
		{"order of names", files("z", "a-b", "a/", "a/b", "a.b", "terraform-provider-widget", "B"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := zipOf(t, test.members...)
			want := Package{H1: archivetest.H1(t, data)}
			want.Files, want.Expanded = count(test.members)
			got, err := checkProviderBytes(data)
			check(t, err)
			if !slices.Equal(got.Protocols, test.protocols) || (got.Protocols == nil) != (test.protocols == nil) {
				t.Errorf("protocols are %#v; want %#v", got.Protocols, test.protocols)
			}
			if got.H1 != want.H1 || got.Files != want.Files || got.Expanded != want.Expanded {
				t.Errorf("got %+v; want %+v", got, want)
			}
		})
	}
}

func TestCheckProviderRejects(t *testing.T) {
	executable := files("terraform-provider-widget")
	with := func(m ...member) []member { return append(slices.Clone(executable), m...) }
	for _, test := range []struct {
		rule    string
		members []member
		want    string
	}{
		{"no executable", files("README.md"), `The zip holds no executable: a file named terraform-provider-widget, followed by nothing, "_" or ".", must lie at the top level of the zip.`},
		{"a file of another name that begins with a dot", files(".gitignore"), "The zip holds no executable: a file named"},
		{"a file of another name that begins with _", files("_x"), "The zip holds no executable: a file named"},
		{"in a folder", files("README.md", "dist/terraform-provider-widget_v1"), `The executable "dist/terraform-provider-widget_v1" lies in a folder: `},
		{"twice in folders", files("a/terraform-provider-widget", "b/terraform-provider-widget"), `The executable "a/terraform-provider-widget" lies in a folder: `},
		{"two other types", files("terraform-provider-a", "terraform-provider-b"), `"terraform-provider-a" is not an executable`},
		{"another type", files("terraform-provider-gadget_v1"), `"terraform-provider-gadget_v1" is not an executable of this provider: a file named terraform-provider-widget`},
		{"longer type", files("terraform-provider-widgets"), `"terraform-provider-widgets" is not an executable of this provider`},
		{"type with a hyphen", files("terraform-provider-widget-extra_v1"), `is not an executable of this provider`},
		{"another case", files("Terraform-Provider-Widget"), "The zip holds no executable"},
		{"a folder", files("README.md", "terraform-provider-widget/"), "The zip holds no executable"},
		{"empty", []member{{name: "terraform-provider-widget_v1"}}, `"terraform-provider-widget_v1", which the clients would run, is empty.`},
		{"empty first match", with(member{name: "terraform-provider-widget_v1", body: "x"}, member{name: "terraform-provider-widget.md"})[1:], `"terraform-provider-widget.md", which the clients would run, is empty.`},
		{"manifest that is not JSON", with(member{name: ManifestName, body: "nope"}), "The terraform-registry-manifest.json in the zip is not valid: it is not the JSON that is expected"},
		{"manifest that is too large", with(member{name: ManifestName, body: "{" + strings.Repeat(" ", MaxManifest)}), "it takes more than 64 KiB"},
		{"manifest without protocols", with(member{name: ManifestName, body: `{"version":1}`}), `"metadata.protocol_versions" is empty or missing`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := checkProviderBytes(zipOf(t, test.members...))
			wantViolation(t, err, test.want)
		})
	}
	_, err := checkProviderBytes(zipOf(t))
	if want := "The archive holds no file."; err == nil || err.Error() != want {
		t.Errorf("an empty zip: got %v; want %s alone", err, want)
	}
	_, err = checkProviderBytes(tarGzOf(t, executable...))
	wantViolation(t, err, "looks like gzip")
}

// TestManifestAlone shows that a manifest is read where there is nothing else.
func TestManifestAlone(t *testing.T) {
	_, err := checkProviderBytes(zipOf(t, member{name: ManifestName, body: "nope"}))
	wantViolation(t, err, "The zip holds no executable")
	wantViolation(t, err, "The terraform-registry-manifest.json in the zip is not valid")
}

// TestManifestBeyondTheLimits shows that no more is expanded once a limit is
// exceeded.
func TestManifestBeyondTheLimits(t *testing.T) {
	data := zipOf(t, append(files("terraform-provider-widget"), member{name: ManifestName, body: "nope"})...)
	rules := providerRules()
	rules.expanded = 10
	_, err := checkProvider(inspect(context.Background(), bytes.NewReader(data), int64(len(data)), rules), Provider{Type: "widget"})
	if want := "The files in the archive take more than 10 bytes together."; err == nil || err.Error() != want {
		t.Errorf("got %v; want %s alone", err, want)
	}
}

// TestManifestIsNotHeldBack shows that a manifest that cannot be read is
// reported once, as any other file.
func TestManifestIsNotHeldBack(t *testing.T) {
	lost := zipOf(t, files("terraform-provider-widget", ManifestName)...)
	clear(lost[bytes.LastIndex(lost, []byte("PK\x03\x04")):][:4])
	_, err := checkProviderBytes(lost)
	if want := fmt.Sprintf("The content of %q does not lie within the archive: it is truncated or damaged.", ManifestName); err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
	manifest := stored(ManifestName, "x")
	manifest.CRC32++
	executable := stored("terraform-provider-widget", "x")
	_, err = checkProviderBytes(rawZip(t, []byte("x"), executable, manifest))
	if want := fmt.Sprintf("The content of %q does not match its checksum: the archive is damaged.", ManifestName); err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

func FuzzCheckProvider(f *testing.F) {
	f.Add(zipOf(f, files("terraform-provider-widget_v1", "docs/", "docs/a.md")...))
	f.Add(zipOf(f, member{name: "terraform-provider-widget", body: "x"}, member{name: ManifestName, body: `{"version":1,"metadata":{"protocol_versions":["5.0"]}}`}))
	f.Add(rawZip(f, []byte("x"), stored("terraform-provider-widget", "x")))
	f.Add(tarGzOf(f, files("terraform-provider-widget")...))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := CheckProvider(context.Background(), strings.NewReader(string(data)), int64(len(data)), Provider{Type: "widget"})
		if err != nil {
			wantViolation(t, err, "")
			return
		}
		if want := archivetest.H1(t, data); p.H1 != want {
			t.Errorf("h1 is %s; dirhash says %s", p.H1, want)
		}
	})
}
