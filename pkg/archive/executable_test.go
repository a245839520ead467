package archive

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// elfFile is how an ELF file begins.
func elfFile(osabi byte, is64, isLittle bool, machine uint16) string {
	head := make([]byte, 64)
	copy(head, "\x7fELF\x01\x02\x01")
	var order binary.ByteOrder = binary.BigEndian
	if is64 {
		head[4] = 2
	}
	if isLittle {
		head[5], order = 1, binary.LittleEndian
	}
	head[7] = osabi
	order.PutUint16(head[18:], machine)
	return string(head)
}

func machoFile(cpu uint32) string {
	return string(binary.LittleEndian.AppendUint32([]byte("\xcf\xfa\xed\xfe"), cpu)) + strings.Repeat("\x00", 24)
}

func fatFile(cpus ...uint32) string {
	head := binary.BigEndian.AppendUint32([]byte("\xca\xfe\xba\xbe"), uint32(len(cpus)))
	for _, cpu := range cpus {
		head = append(binary.BigEndian.AppendUint32(head, cpu), make([]byte, 16)...)
	}
	return string(head)
}

func peFile(at uint32, machine uint16) string {
	head := make([]byte, at+24)
	copy(head, "MZ")
	binary.LittleEndian.PutUint32(head[0x3c:], at)
	copy(head[at:], "PE\x00\x00")
	binary.LittleEndian.PutUint16(head[at+4:], machine)
	return string(head)
}

const (
	machoAmd64, machoArm64         = 0x01000007, 0x0100000c
	peAmd64, peArm64, pe386, peArm = 0x8664, 0xaa64, 0x14c, 0x1c4
)

// smallestPE is a PE file for arm64 whose header ends where it says where that is.
var smallestPE = "MZ" + strings.Repeat("\x00", 52) + "PE\x00\x00\x64\xaa" + "\x36\x00\x00\x00"

// checkPackage checks a zip of one executable for a platform.
func checkPackage(t *testing.T, body, platform string) error {
	t.Helper()
	system, arch, _ := strings.Cut(platform, "_")
	data := zipOf(t, member{name: "terraform-provider-widget_v1", body: body, mode: 0o755})
	_, err := CheckProvider(context.Background(), bytes.NewReader(data), int64(len(data)), Provider{"widget", system, arch})
	return err
}

func TestExecutablesRunWhereTheNameSays(t *testing.T) {
	linuxAmd64, linuxArm64, linux386 := elfFile(0, true, true, 62), elfFile(0, true, true, 183), elfFile(0, false, true, 3)
	for _, test := range []struct {
		body, platform string
		is             string // what it is instead; empty: it runs
	}{
		{linuxAmd64, "linux_amd64", ""},
		{linuxAmd64, "freebsd_amd64", ""}, // most name no system
		{linuxAmd64, "illumos_amd64", ""},
		{linuxAmd64, "linux_arm64", "Linux or another Unix on amd64 (ELF)"},
		{linuxAmd64, "linux_386", "Linux or another Unix on amd64 (ELF)"},
		{linuxAmd64, "darwin_amd64", "Linux or another Unix on amd64 (ELF)"},
		{linuxAmd64, "windows_amd64", "Linux or another Unix on amd64 (ELF)"},
		{linuxAmd64, "", ""},
		{linuxAmd64, "haiku_amd64", ""},
		{linuxAmd64, "linux_sparc64", ""},
		{linux386, "linux_amd64", ""}, // as 64-bit kernels do
		{linux386, "linux_arm64", "Linux or another Unix on 386 (ELF)"},
		{linuxArm64, "linux_arm64", ""},
		{linuxArm64, "android_arm64", ""},
		{linuxArm64, "linux_arm", "Linux or another Unix on arm64 (ELF)"},
		{elfFile(0, false, true, 62), "linux_amd64", ""}, // x32
		{elfFile(0, false, true, 40), "linux_arm", ""},
		{elfFile(0, false, true, 40), "linux_arm64", "Linux or another Unix on arm (ELF)"},
		{elfFile(0, true, false, 22), "linux_s390x", ""},
		{elfFile(0, true, true, 21), "linux_ppc64le", ""},
		{elfFile(0, true, false, 21), "linux_ppc64le", "Linux or another Unix on ppc64 (ELF)"},
		{elfFile(0, true, true, 243), "linux_riscv64", ""},
		{elfFile(0, true, true, 258), "linux_loong64", ""},
		{elfFile(0, false, false, 8), "linux_mips64", ""},
		{elfFile(0, false, true, 8), "linux_mips64le", ""},
		{elfFile(0, true, true, 8), "linux_mips64le", ""},
		{elfFile(0, true, false, 8), "linux_mipsle", "Linux or another Unix on mips64 (ELF)"},
		{elfFile(0, false, false, 2), "linux_amd64", "Linux or another Unix on machine 2 (ELF)"},
		{elfFile(3, true, true, 62), "linux_amd64", ""},
		{elfFile(3, true, true, 62), "android_amd64", ""},
		{elfFile(9, true, true, 62), "freebsd_amd64", ""},
		{elfFile(9, true, true, 62), "linux_amd64", "freebsd_amd64 (ELF)"},
		{elfFile(12, true, true, 62), "openbsd_amd64", ""},
		{elfFile(2, true, true, 62), "netbsd_amd64", ""},
		{elfFile(6, true, true, 62), "illumos_amd64", ""},
		{elfFile(6, true, true, 62), "openbsd_amd64", "solaris_amd64 (ELF)"},
		{machoFile(machoArm64), "darwin_arm64", ""},
		{machoFile(machoAmd64), "darwin_arm64", ""}, // by Rosetta
		{machoFile(machoArm64), "ios_arm64", ""},
		{machoFile(machoArm64), "darwin_amd64", "darwin_arm64 (Mach-O)"},
		{machoFile(machoArm64), "linux_arm64", "darwin_arm64 (Mach-O)"},
		{machoFile(18), "darwin_amd64", "darwin_machine 18 (Mach-O)"},
		{"\xfe\xed\xfa\xce\x00\x00\x00\x07", "linux_386", "darwin_386 (Mach-O)"},
		{fatFile(machoAmd64, machoArm64), "darwin_amd64", ""},
		{fatFile(machoAmd64, machoArm64), "darwin_arm64", ""},
		{fatFile(machoAmd64, machoArm64), "linux_amd64", "darwin_amd64 and darwin_arm64 (Mach-O)"},
		{fatFile(machoArm64), "darwin_amd64", "darwin_arm64 (Mach-O)"},
		{peFile(0x80, peAmd64), "windows_amd64", ""},
		{peFile(0x80, pe386), "windows_amd64", ""},
		{peFile(0x80, peAmd64), "windows_arm64", ""},
		{peFile(0x80, pe386), "windows_arm64", ""},
		{peFile(0x80, peArm), "windows_arm64", ""},
		{peFile(0x80, peArm64), "windows_amd64", "windows_arm64 (PE)"},
		{peFile(headSize-6, peArm64), "windows_amd64", "windows_arm64 (PE)"},
		{smallestPE, "windows_amd64", "windows_arm64 (PE)"},
		{linuxArm64[:20], "linux_amd64", "Linux or another Unix on arm64 (ELF)"},
		{fatFile(slices.Repeat([]uint32{machoArm64}, 30)...), "darwin_amd64", strings.Repeat("darwin_arm64 and ", 29) + "darwin_arm64 (Mach-O)"},
		{peFile(0x80, 0x1234), "windows_amd64", "windows_machine 4660 (PE)"},
		{peFile(0x80, peAmd64), "linux_amd64", "windows_amd64 (PE)"},

		// A file of an unknown format is accepted.
		{"#!/bin/sh\n", "windows_amd64", ""},
		{"x", "linux_amd64", ""},
		{linuxArm64[:19], "linux_amd64", ""},
		{fatFile(machoArm64)[:27], "linux_amd64", ""},
		{"\xca\xfe\xba\xbe\x00\x00\x00\x41 a class of Java" + strings.Repeat(" ", headSize), "linux_amd64", ""},
		{fatFile(slices.Repeat([]uint32{machoArm64}, 31)...), "darwin_amd64", ""},
		{smallestPE[:63], "windows_amd64", ""},
		{strings.Replace(peFile(0x80, peArm64), "MZ", "ZM", 1), "windows_amd64", ""},
		{"\xca\xfe\xba\xbe\x00\x00\x00\x00", "linux_amd64", ""},
		{peFile(headSize-5, peArm64), "windows_amd64", ""}, // further in than is looked at
		{strings.Replace(peFile(0x80, peArm64), "PE\x00", "LE\x00", 1), "windows_amd64", ""},
		{"MZ" + strings.Repeat("\xff", 70), "windows_amd64", ""},
	} {
		want := fmt.Sprintf(`"terraform-provider-widget_v1" is an executable for %s, and the package's name says %s: build it for that, or name the package after what it is.`, test.is, test.platform)
		if test.is == "" {
			want = "<nil>"
		}
		if got := fmt.Sprint(checkPackage(t, test.body, test.platform)); got != want {
			t.Errorf("%.8q for %s: got %s; want %s", test.body, test.platform, got, want)
		}
	}
}

// Every system runs executables of one format, and every architecture those of its own.
func TestNothingRunsEverywhere(t *testing.T) {
	elfAmd64, elfS390x := elfFile(0, true, true, 62), elfFile(0, true, false, 22)
	foreign := map[string]string{"linux_s390x": elfAmd64, "windows_amd64": elfAmd64, "darwin_amd64": elfAmd64, "ios_arm64": elfAmd64}
	for _, system := range []string{"android", "dragonfly", "freebsd", "illumos", "linux", "netbsd", "openbsd", "solaris"} {
		foreign[system+"_amd64"] = machoFile(machoAmd64)
	}
	for _, arch := range []string{"386", "arm", "arm64", "loong64", "mips", "mipsle", "mips64", "mips64le", "ppc64", "ppc64le", "riscv64"} {
		foreign["linux_"+arch] = elfS390x
	}
	for platform, body := range foreign {
		wantViolation(t, checkPackage(t, body, platform), "is an executable for ")
	}
}

// The test itself is an executable for where it runs.
func TestARealExecutable(t *testing.T) {
	body, err := os.ReadFile(os.Args[0])
	check(t, err)
	check(t, checkPackage(t, string(body), runtime.GOOS+"_"+runtime.GOARCH))
	for _, other := range []string{"linux_s390x", "darwin_amd64", "windows_amd64"} {
		if !strings.HasPrefix(other, runtime.GOOS) {
			wantViolation(t, checkPackage(t, string(body), other), "is an executable for")
		}
	}
}

// An executable that nobody may run is one on Windows alone.
func TestExecutableBit(t *testing.T) {
	const cure = "with which the clients unpack it and then cannot run it; set its executable bit (chmod +x) and zip it again on Linux or macOS."
	zipped := func(creator uint16, mode, attributes uint32) []byte {
		h := stored("terraform-provider-widget", "x")
		h.CreatorVersion, h.ExternalAttrs = creator<<8, mode<<16|attributes
		return rawZip(t, []byte("x"), h)
	}
	const fat, unix, ntfs, macOS = 0, 3, 10, 19
	for _, test := range []struct {
		data []byte
		says string // of the mode; empty: it runs
	}{
		{zipped(unix, 0o100755, 0), ""},
		{zipped(unix, 0o100100, 0), ""},
		{zipped(unix, 0o100001, 0), ""},
		{zipped(macOS, 0o100755, 0), ""},
		{zipped(unix, 0o100644, 0), "the mode 0644"},
		{zipped(macOS, 0o100600, 0), "the mode 0600"},
		{zipped(unix, 0, 0), "the mode 0000"},
		{zipped(fat, 0, 0x20), "no mode, as on Windows"},
		{zipped(fat, 0o100755, 0x20), "no mode, as on Windows"}, // which nobody reads there
		{zipped(ntfs, 0, 0x20), "no mode, as on Windows"},
	} {
		for _, system := range []string{"linux", "darwin", "freebsd", "unheard-of", "windows", ""} {
			_, err := CheckProvider(context.Background(), bytes.NewReader(test.data), int64(len(test.data)), Provider{"widget", system, "amd64"})
			want := fmt.Sprintf(`"terraform-provider-widget" is not executable: the zip gives it %s, %s`, test.says, cure)
			if test.says == "" || system == "windows" || system == "" {
				want = "<nil>"
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("on %q: got %s; want %s", system, got, want)
			}
		}
	}
}

// What cannot be read is said once, and nothing is made of what could be.
func TestAnExecutableThatCannotBeRead(t *testing.T) {
	h := stored("terraform-provider-widget", "x")
	h.SetMode(0o755)
	h.Method, h.UncompressedSize64 = zip.Deflate, 100
	var begun bytes.Buffer
	w, err := flate.NewWriter(&begun, flate.BestSpeed)
	check(t, err)
	_, err = w.Write([]byte(elfFile(0, true, true, 62)))
	check(t, errors.Join(err, w.Flush()))
	data := rawZip(t, begun.Bytes(), h)
	_, err = CheckProvider(context.Background(), bytes.NewReader(data), int64(len(data)), Provider{"widget", "darwin", "amd64"})
	if err == nil || strings.Contains(err.Error(), "executable") || strings.Contains(err.Error(), "more") {
		t.Errorf("got %v", err)
	}
}

// The check does not panic, whatever an executable begins with. A file of an unknown format
// runs on every platform.
func FuzzMachinesOf(f *testing.F) {
	for _, body := range []string{"", "#!", elfFile(0, true, true, 62), machoFile(machoArm64), fatFile(machoAmd64, machoArm64), peFile(0x80, peAmd64), peFile(headSize-24, 1)} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		made := machinesOf(head)
		for _, m := range made {
			if m.format == "" || m.arch == "" && m.unknown == "" || m.runsOn("linux", "amd64") && m.runsOn("darwin", "amd64") {
				t.Errorf("%+v", m)
			}
		}
		if len(made) > 0 && describeMachines(made) == "" {
			t.Error("it has no name")
		}
	})
}
