package archive

import (
	"cmp"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// headSize is how much of an executable is read: its platform is at its beginning. The
// packages debug/elf, debug/macho and debug/pe would read all of it.
const headSize = 4 << 10

// checkPlatform adds why an executable cannot run on the package's platform, if that is
// certain. It accepts an executable for another platform that the system also runs.
func (in *inspection) checkPlatform(f zipFile, p Provider) {
	if p.OS == "" {
		return
	}
	if p.OS != "windows" && f.Mode()&0o111 == 0 {
		in.violate("%s is not executable: the zip gives it %s, with which the clients unpack it and then cannot run it; set its executable bit (chmod +x) and zip it again on Linux or macOS.", quote(f.name), describeMode(f))
	}
	made := machinesOf(in.head(f))
	if len(made) == 0 || slices.ContainsFunc(made, func(m machine) bool { return m.runsOn(p.OS, p.Arch) }) {
		return
	}
	in.violate("%s is an executable for %s, and the package's name says %s_%s: build it for that, or name the package after what it is.", quote(f.name), describeMachines(made), p.OS, p.Arch)
}

// describeMode is the mode of an entry, which a zip that was made on Windows does not have.
func describeMode(f zipFile) string {
	const unix, macOS = 3, 19 // APPNOTE.TXT 4.4.2
	if by := f.CreatorVersion >> 8; by != unix && by != macOS {
		return "no mode, as on Windows"
	}
	return fmt.Sprintf("the mode %04o", f.Mode()&fs.ModePerm)
}

// head is the first bytes of a file. It is empty if the file cannot be read, which
// readZipFile reports.
func (in *inspection) head(f zipFile) []byte {
	rc, err := f.Open()
	if err != nil {
		return nil
	}
	defer rc.Close()
	head, err := io.ReadAll(io.LimitReader(rc, headSize))
	if err != nil {
		return nil
	}
	return head
}

// A machine is the platform for which an executable is built.
type machine struct {
	format  string // "ELF", "Mach-O" or "PE"
	os      string // for ELF only if the file says it; for other formats their one system
	arch    string // as Go names it; empty if it is not known here
	unknown string // describes an architecture that is not known
}

// describeMachines names the platforms of an executable.
func describeMachines(made []machine) string {
	var all []string
	for _, m := range made {
		arch := cmp.Or(m.arch, m.unknown)
		if m.os == "" { // an ELF file mostly does not say
			all = append(all, "Linux or another Unix on "+arch)
		} else {
			all = append(all, m.os+"_"+arch)
		}
	}
	return strings.Join(all, " and ") + " (" + made[0].format + ")"
}

// formats has the one format of executables that each system runs.
var formats = map[string]string{
	"android": "ELF", "dragonfly": "ELF", "freebsd": "ELF", "illumos": "ELF", "linux": "ELF", "netbsd": "ELF", "openbsd": "ELF", "solaris": "ELF",
	"darwin": "Mach-O", "ios": "Mach-O",
	"windows": "PE",
}

// alsoRuns has, by format and architecture, the other architectures whose executables run
// there: 32 bits on 64, and by emulation such as Rosetta.
var alsoRuns = map[string]map[string][]string{
	"ELF":    {"amd64": {"386"}, "mips64": {"mips"}, "mips64le": {"mipsle"}},
	"Mach-O": {"arm64": {"amd64"}},
	"PE":     {"amd64": {"386"}, "arm64": {"amd64", "386", "arm"}},
}

// runsOn says whether an executable may run on a platform. On an unknown one it may.
func (m machine) runsOn(system, arch string) bool {
	format, known := formats[system]
	if !known {
		return true
	}
	if format != m.format || m.os != "" && m.os != family(system) {
		return false
	}
	if !slices.Contains(knownArchitectures, arch) {
		return true
	}
	return m.arch == arch || slices.Contains(alsoRuns[format][arch], m.arch)
}

// family is the system whose executables a system runs.
func family(system string) string {
	switch system {
	case "android":
		return "linux"
	case "ios":
		return "darwin"
	case "illumos":
		return "solaris"
	default:
		return system
	}
}

// machinesOf is the platforms of an executable: several for a fat one, and none for a file
// of another format, such as a script.
func machinesOf(head []byte) []machine {
	switch {
	case len(head) >= 20 && string(head[:4]) == elf.ELFMAG:
		return []machine{elfMachine(head)}
	case len(head) >= 8 && binary.BigEndian.Uint32(head) == macho.MagicFat:
		return fatMachines(head)
	case len(head) >= 64 && string(head[:2]) == "MZ":
		return peMachines(head)
	}
	if len(head) >= 8 {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if magic := order.Uint32(head); magic == macho.Magic32 || magic == macho.Magic64 {
				return []machine{machoMachine(macho.Cpu(order.Uint32(head[4:])))}
			}
		}
	}
	return nil
}

// elfSystems are the systems that an ELF executable may name. Most do not name one.
var elfSystems = map[elf.OSABI]string{
	elf.ELFOSABI_LINUX: "linux", elf.ELFOSABI_FREEBSD: "freebsd", elf.ELFOSABI_NETBSD: "netbsd", elf.ELFOSABI_OPENBSD: "openbsd", elf.ELFOSABI_SOLARIS: "solaris",
}

// elfArchitectures has architectures by the machine of an ELF executable, its number of bits
// and its byte order.
var elfArchitectures = map[elfKind]string{
	{elf.EM_386, false, true}: "386", {elf.EM_X86_64, true, true}: "amd64", {elf.EM_X86_64, false, true}: "amd64",
	{elf.EM_ARM, false, true}: "arm", {elf.EM_AARCH64, true, true}: "arm64",
	{elf.EM_LOONGARCH, true, true}: "loong64",
	{elf.EM_MIPS, false, false}:    "mips", {elf.EM_MIPS, false, true}: "mipsle", {elf.EM_MIPS, true, false}: "mips64", {elf.EM_MIPS, true, true}: "mips64le",
	{elf.EM_PPC64, true, false}: "ppc64", {elf.EM_PPC64, true, true}: "ppc64le",
	{elf.EM_RISCV, true, true}: "riscv64", {elf.EM_S390, true, false}: "s390x",
}

// The numbers of architectures in Mach-O and PE.
var (
	machoArchitectures = map[macho.Cpu]string{macho.Cpu386: "386", macho.CpuAmd64: "amd64", macho.CpuArm: "arm", macho.CpuArm64: "arm64"}
	peArchitectures    = map[uint16]string{
		pe.IMAGE_FILE_MACHINE_I386: "386", pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARMNT: "arm", pe.IMAGE_FILE_MACHINE_ARM64: "arm64",
	}
)

// knownArchitectures are the architectures that executables can be distinguished by.
var knownArchitectures = []string{
	"386", "amd64", "arm", "arm64", "loong64", "mips", "mipsle", "mips64", "mips64le", "ppc64", "ppc64le", "riscv64", "s390x",
}

type elfKind struct {
	machine  elf.Machine
	is64     bool
	isLittle bool
}

func elfMachine(head []byte) machine {
	const machineAt = 18
	var order binary.ByteOrder = binary.LittleEndian
	isLittle := elf.Data(head[elf.EI_DATA]) != elf.ELFDATA2MSB
	if !isLittle {
		order = binary.BigEndian
	}
	found := elfKind{elf.Machine(order.Uint16(head[machineAt:])), elf.Class(head[elf.EI_CLASS]) == elf.ELFCLASS64, isLittle}
	return machine{
		format: "ELF", os: elfSystems[elf.OSABI(head[elf.EI_OSABI])],
		arch: elfArchitectures[found], unknown: fmt.Sprintf("machine %d", found.machine),
	}
}

func machoMachine(cpu macho.Cpu) machine {
	return machine{format: "Mach-O", os: "darwin", arch: machoArchitectures[cpu], unknown: fmt.Sprintf("machine %d", uint32(cpu))}
}

// fatMachines is the platforms of a fat executable. Java's class files begin with the same
// bytes, but then have a number that is larger than any fat file's count.
func fatMachines(head []byte) (all []machine) {
	const headerLen, archLen, maxArchitectures = 8, 20, 30
	count := binary.BigEndian.Uint32(head[4:])
	if count > maxArchitectures || len(head) < headerLen+int(count)*archLen {
		return nil
	}
	for at := range int(count) {
		all = append(all, machoMachine(macho.Cpu(binary.BigEndian.Uint32(head[headerLen+at*archLen:]))))
	}
	return all
}

// peMachines is the platform of a Windows executable, whose header comes after a program
// for DOS.
func peMachines(head []byte) []machine {
	const offsetAt, headerLen = 0x3c, 6
	at := binary.LittleEndian.Uint32(head[offsetAt:])
	if at > uint32(len(head)-headerLen) || string(head[at:at+4]) != "PE\x00\x00" {
		return nil
	}
	found := binary.LittleEndian.Uint16(head[at+4:])
	return []machine{{format: "PE", os: "windows", arch: peArchitectures[found], unknown: fmt.Sprintf("machine %d", found)}}
}
