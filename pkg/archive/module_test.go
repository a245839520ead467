package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCheckModule(t *testing.T) {
	for _, test := range []struct {
		name    string
		members []member
		wrapper string
	}{
		{"plain", files("main.tf", "variables.tf", "README.md"), ""},
		{"submodules", files("main.tf", "modules/", "modules/x/", "modules/x/main.tf"), ""},
		{"no configuration at the root", files("modules/x/main.tf", "README.md"), ""},
		{"order of names", files("b.tf", "a-b", "a/b", "a.b", "a/", "Z"), ""},
		{"wrapped", files("w-1.0/", "w-1.0/main.tf", "w-1.0/modules/x.tf"), "w-1.0"},
		{"wrapped, without an entry for the folder", files("w/main.tf", "w/modules/x.tf"), "w"},
		{"wrapped, entry for the folder last", files("w/main.tf", "w/"), "w"},
		{"wrapped OpenTofu", files("w/main.tofu"), "w"},
		{"wrapped JSON", files("w/main.tf.json"), "w"},
		{"wrapped OpenTofu JSON", files("w/main.tofu.json"), "w"},
		{"wrapped twice", files("a/b/main.tf"), ""},
		{"wrapped beside a file", files("w/main.tf", "README.md"), ""},
		{"wrapped beside a folder", files("w/main.tf", "docs/"), ""},
		{"wrapped beside a hidden file", files("w/main.tf", ".gitignore"), ""},
		{"folder without configuration", files("w/README.md", "w/x/main.tf"), ""},
		{"folder with JSON alone", files("w/package.json", "x/main.tf"), ""},
		{"folder with a hidden file alone", files("w/._main.tf", "x/main.tf"), ""},
		{"folder with a folder named so", files("w/x.tf/a", "w/x/main.tofu"), ""},
		{"file named so", files("main.tf"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			served := test.members
			if test.wrapper != "" {
				served = inside(test.wrapper, test.members)
			}
			want := Module{H1: hashDir(t, served...), Wrapper: test.wrapper}
			want.Files, want.Expanded = count(test.members)
			for _, format := range []Format{Zip, TarGz} {
				got, err := checkModuleBytes(archiveOf(t, format, test.members...), format)
				check(t, err)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%v: got %+v; want %+v", format, got, want)
				}
			}
		})
	}
}

// An archive without configuration is refused: it may be a provider, or a folder that was
// packed by mistake.
func TestNoConfiguration(t *testing.T) {
	for _, names := range [][]string{
		{"README.md"},
		{"bin/terraform-provider-widget"},
		{"w/package.json", "w/tf"},
		{"w/._main.tf", ".tf"},
		{"x.tf/a", "x.tofu/a"},
		{"main.tf.bak", "terraform.tfvars", "main.TF", "main.tf.yaml"},
	} {
		for _, format := range []Format{Zip, TarGz} {
			_, err := checkModuleBytes(archiveOf(t, format, files(names...)...), format)
			wantViolation(t, err, "The archive holds no configuration, and so is no module: no file ends in .tf, .tofu, .tf.json or .tofu.json.")
		}
	}
}

// A provider package is not taken for a module, even with examples in it.
func TestAProviderUnderAModulesName(t *testing.T) {
	for _, test := range []struct {
		names    []string
		provider bool
	}{
		{[]string{"terraform-provider-widget_v1.0.0"}, true},
		{[]string{"README.md", "examples/main.tf", "terraform-provider-a", "terraform-provider-b"}, true},
		{[]string{"main.tf", "terraform-provider-a"}, false},
		{[]string{"main.tf", "terraform-provider-a/main.go"}, false},
		{[]string{"w/main.tf", "w/terraform-provider-a"}, false},
	} {
		for _, format := range []Format{Zip, TarGz} {
			_, err := checkModuleBytes(archiveOf(t, format, files(test.names...)...), format)
			if !test.provider {
				check(t, err)
				continue
			}
			executable := test.names[slices.IndexFunc(test.names, func(name string) bool { return strings.HasPrefix(name, "terraform") })]
			if want := fmt.Sprintf("The archive is a provider package, for it holds %q and no configuration beside it: upload it to providers/<namespace>/<type>/ under its own name, terraform-provider-<type>_<version>_<os>_<arch>.zip.", executable); err == nil || err.Error() != want {
				t.Errorf("%q: got %v; want %s", test.names, err, want)
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	const state, values = "%q is a state file: everyone who installs the module gets it, with any secret in it.", "%q has values of variables, which no client reads in a module: everyone who installs the module gets it, with any secret in it."
	var want []string
	members := files("main.tf", "dev.tfvars", "terraform.tfvars.example", "tfstate", "x.tfstate.lock.info", "x.auto.tfvars.bak", "my-terraform.tfvars", "backup", ".tfstatebackup")
	for _, test := range []struct{ name, text string }{
		{"terraform.tfstate", state}, {"x/terraform.tfstate.backup", state}, {"terraform.tfstate.1700000000.backup", state}, {"errored.tfstate", state},
		{"terraform.tfvars", values}, {"terraform.tfvars.json", values}, {"x/prod.auto.tfvars", values}, {"prod.auto.tfvars.json", values},
	} {
		members = append(members, files(test.name)...)
		want = append(want, fmt.Sprintf(test.text, test.name))
	}
	for _, format := range []Format{Zip, TarGz} {
		m, err := checkModuleBytes(archiveOf(t, format, members...), format)
		check(t, err)
		if !slices.Equal(m.Warnings, want) {
			t.Errorf("%v: got %q; want %q", format, m.Warnings, want)
		}
		many := files("main.tf")
		for n := range maxWarnings + 2 {
			many = append(many, files(fmt.Sprintf("%02d.tfstate", n))...)
		}
		for more, last := range []string{fmt.Sprintf(state, "09.tfstate"), "So it is with 1 more file.", "So it is with 2 more files."} {
			m, err := checkModuleBytes(archiveOf(t, format, many[:1+maxWarnings+more]...), format)
			check(t, err)
			if got := len(m.Warnings); got != maxWarnings+min(more, 1) || m.Warnings[got-1] != last {
				t.Errorf("%v, %d more: got %q", format, more, m.Warnings)
			}
		}
	}
}

// inside returns the members under a folder, named from there.
func inside(wrapper string, members []member) []member {
	var in []member
	for _, m := range members {
		if m.name = m.name[len(wrapper)+1:]; m.name != "" {
			in = append(in, m)
		}
	}
	return in
}

// TestGitTarball checks a tarball as git archive writes them: a pax global
// header with the commit, a folder, and the files in it.
func TestGitTarball(t *testing.T) {
	data := rawTarGz(t,
		&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "e83c5163316f89bfbde7d9ab23ca2e25604af290"}},
		&tar.Header{Typeflag: tar.TypeDir, Name: "terraform-aws-vpc-1.0.0/", Mode: 0o775},
		&tar.Header{Typeflag: tar.TypeReg, Name: "terraform-aws-vpc-1.0.0/main.tf", Mode: 0o664, Size: 3},
	)
	m, err := checkModuleBytes(data, TarGz)
	check(t, err)
	if m.Wrapper != "terraform-aws-vpc-1.0.0" || m.Files != 1 {
		t.Errorf("got %+v", m)
	}
	if got := describe(t, unwrapBytes(t, data, TarGz, m.Wrapper), TarGz); !slices.Equal(got, []string{"main.tf -rw-r--r-- 3"}) {
		t.Errorf("unwrapped to %q", got)
	}
}

// TestUnwrapRoot passes over the entry of the root, however it is called.
func TestUnwrapRoot(t *testing.T) {
	data := rawTarGz(t,
		&tar.Header{Typeflag: tar.TypeDir, Name: ".", Mode: 0o755},
		&tar.Header{Typeflag: tar.TypeReg, Name: "./w/main.tf", Mode: 0o644, Size: 3},
	)
	m, err := checkModuleBytes(data, TarGz)
	check(t, err)
	if got := describe(t, unwrapBytes(t, data, TarGz, m.Wrapper), TarGz); !slices.Equal(got, []string{"main.tf -rw-r--r-- 3"}) {
		t.Errorf("unwrapped %q to %q", m.Wrapper, got)
	}
}

func TestUnwrap(t *testing.T) {
	members := []member{
		{name: "w/"},
		{name: "w/main.tf", body: "main", mode: 0o600},
		{name: "w/run.sh", body: "#!/bin/sh", mode: 0o750},
		{name: "w/empty/"},
		{name: "w/empty.txt"},
		{name: "w/modules/größe.tf", body: "x"},
	}
	want := []string{
		"main.tf -rw-r--r-- 4",
		"run.sh -rwxr-xr-x 9",
		"empty/ drwxr-xr-x 0",
		"empty.txt -rw-r--r-- 0",
		"modules/größe.tf -rw-r--r-- 1",
	}
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, members...)
		unwrapped := unwrapBytes(t, data, format, "w")
		if got := describe(t, unwrapped, format); !slices.Equal(got, want) {
			t.Errorf("%v: got %q; want %q", format, got, want)
		}
		if again := unwrapBytes(t, data, format, "w"); !bytes.Equal(again, unwrapped) {
			t.Errorf("%v: unwrapped twice to different bytes", format)
		}
		wantSameModule(t, data, unwrapped, format)
	}
}

// TestUnwrapIgnoresTimes shows that two archives that differ in nothing but
// times and owners unwrap to the same bytes.
func TestUnwrapIgnoresTimes(t *testing.T) {
	build := func(at time.Time, uid int) []byte {
		return rawTarGz(t,
			&tar.Header{Typeflag: tar.TypeDir, Name: "w/", ModTime: at, Uid: uid, Mode: 0o700},
			&tar.Header{Typeflag: tar.TypeReg, Name: "w/main.tf", ModTime: at, Uid: uid, Uname: fmt.Sprint(uid)},
		)
	}
	a, b := build(time.Unix(1e9, 0), 0), build(time.Unix(2e9, 5), 501)
	if !bytes.Equal(unwrapBytes(t, a, TarGz, "w"), unwrapBytes(t, b, TarGz, "w")) {
		t.Error("times or owners are kept")
	}
}

func TestUnwrapErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, files("w/main.tf", "x/main.tf")...)
		unwrap := func(data []byte, wrapper string, w io.Writer) error {
			return Unwrap(context.Background(), bytes.NewReader(data), int64(len(data)), format, wrapper, w)
		}
		if err := unwrap(data, "w", io.Discard); err == nil {
			t.Errorf("%v: an entry outside of the wrapper is dropped", format)
		}
		damaged := bytes.Clone(archiveOf(t, format, files("w/main.tf", "w/x.tf")...))
		switch at := bytes.LastIndex(damaged, []byte("PK\x03\x04")); format {
		case Zip:
			damaged[at]++ // the header of its last file
		default:
			damaged[2]++ // the header of gzip
		}
		if err := unwrap(damaged, "w", io.Discard); err == nil {
			t.Errorf("%v: a damaged archive is unwrapped", format)
		}
		if err := unwrap(data[:len(data)-30], "w", io.Discard); err == nil {
			t.Errorf("%v: a truncated archive is unwrapped", format)
		}
		wrapped := archiveOf(t, format, files("w/main.tf")...)
		for n := range len(unwrapBytes(t, wrapped, format, "w")) {
			if err := unwrap(wrapped, "w", &limitedWriter{left: n, err: full}); !errors.Is(err, full) {
				t.Fatalf("%v: writer that fails after %d bytes: %v", format, n, err)
			}
		}
	}
	if err := Unwrap(context.Background(), bytes.NewReader(nil), 0, Format(7), "w", io.Discard); err == nil {
		t.Error("an unknown format is unwrapped")
	}
}

type limitedWriter struct {
	left int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > w.left {
		return 0, w.err
	}
	w.left -= len(p)
	return len(p), nil
}

func unwrapBytes(t testing.TB, data []byte, format Format, wrapper string) []byte {
	t.Helper()
	var buf bytes.Buffer
	check(t, Unwrap(context.Background(), bytes.NewReader(data), int64(len(data)), format, wrapper, &buf))
	return buf.Bytes()
}

// describe lists an archive, and checks that its times are the earliest there
// are.
func describe(t *testing.T, data []byte, format Format) []string {
	t.Helper()
	var list []string
	add := func(name string, mode fmt.Stringer, size int64, at, epoch time.Time) {
		list = append(list, fmt.Sprintf("%s %v %d", name, mode, size))
		if !at.Equal(epoch) {
			t.Errorf("%s is of %v; want %v", name, at, epoch)
		}
	}
	if format == Zip {
		zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		check(t, err)
		for _, f := range zr.File {
			add(f.Name, f.Mode(), int64(f.UncompressedSize64), f.Modified, time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC))
		}
		return list
	}
	gz, err := gzip.NewReader(bytes.NewReader(data))
	check(t, err)
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return list
		}
		check(t, err)
		add(h.Name, h.FileInfo().Mode(), h.Size, h.ModTime, time.Unix(0, 0))
	}
}

// wantSameModule checks that an archive and what it unwraps to are the same
// module.
func wantSameModule(t *testing.T, wrapped, unwrapped []byte, format Format) {
	t.Helper()
	want, err := checkModuleBytes(wrapped, format)
	check(t, err)
	got, err := checkModuleBytes(unwrapped, format)
	check(t, err)
	want.Wrapper = ""
	if !reflect.DeepEqual(got, want) {
		t.Errorf("unwrapped is %+v; want %+v", got, want)
	}
}

// TestUnwrappedRatio shows that a module that expands to too much of what
// unwrapping makes is rejected, at the limit and by a byte more.
func TestUnwrappedRatio(t *testing.T) {
	members := []member{{name: "w/main.tf", body: strings.Repeat("x", 1<<20)}, {name: "w/" + strings.Repeat("n", 200)}}
	_, expanded := count(members)
	for _, format := range []Format{Zip, TarGz} {
		data := archiveOf(t, format, members...)
		made := int64(len(unwrapBytes(t, data, format, "w")))
		if made >= int64(len(data)) {
			t.Fatalf("%v: unwrapping %d bytes makes %d", format, len(data), made)
		}
		rules := moduleRules()
		rules.ratio, rules.ratioFree = 2, expanded-2*made
		m, err := checkModule(inspect(context.Background(), bytes.NewReader(data), int64(len(data)), rules), format)
		check(t, err)
		if m.Wrapper != "w" {
			t.Errorf("%v: got %+v", format, m)
		}
		whole := archiveOf(t, format, inside("w", members)...)
		all := rules
		all.ratioFree = expanded - 1
		_, err = checkModule(inspect(context.Background(), bytes.NewReader(whole), int64(len(whole)), all), format)
		check(t, err) // there is no folder to unwrap
		rules.ratioFree--
		_, err = checkModule(inspect(context.Background(), bytes.NewReader(data), int64(len(data)), rules), format)
		wantViolation(t, err, fmt.Sprintf(`Without the folder "w" around it, the module expands to more than 2 times the size of its archive, beyond the first %s.`, bytesText(rules.ratioFree)))
	}
}

// FuzzCheckModule feeds zips, tar.gz files, and tars that are compressed here,
// as no fuzzer gets past the checksum of gzip.
func FuzzCheckModule(f *testing.F) {
	const asZip, asTarGz, asTar = 0, 1, 2
	for _, members := range [][]member{
		files("main.tf", "modules/", "modules/x.tf"),
		files("w/", "w/main.tf", "w/modules/x.tf"),
		files("./", "./w/", "./w/main.tofu"),
		files("../x", "C:/x", "a", "A/b"),
	} {
		f.Add(zipOf(f, members...), byte(asZip))
		f.Add(tarGzOf(f, members...), byte(asTarGz))
		f.Add(tarOf(f, members...), byte(asTar))
	}
	f.Fuzz(func(t *testing.T, data []byte, as byte) {
		format := TarGz
		switch as % 3 {
		case asZip:
			format = Zip
		case asTar:
			data = gzipOf(t, data)
		}
		m, err := checkModuleBytes(data, format)
		if err != nil {
			wantViolation(t, err, "")
			return
		}
		if m.Wrapper != "" {
			wantSameModule(t, data, unwrapBytes(t, data, format, m.Wrapper), format)
		}
	})
}
