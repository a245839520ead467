package registry

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	tfaddr "github.com/hashicorp/terraform-registry-address"
	svchost "github.com/hashicorp/terraform-svchost"
)

// ModuleAddress names a module on this registry. It is always lower case: the
// clients keep the case that a person typed, and two modules whose addresses
// differ in case alone cannot exist.
type ModuleAddress struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	System    string `json:"system"`
}

// ParseModuleAddress reads a module address in any case, by the rules of the
// clients' own module sources. The error says what is wrong with it.
func ParseModuleAddress(namespace, name, system string) (ModuleAddress, error) {
	a := ModuleAddress{strings.ToLower(namespace), strings.ToLower(name), strings.ToLower(system)}
	if !isASCII(namespace) || !isASCII(name) || !isASCII(system) { // some other letters are ASCII in lower case
		return ModuleAddress{}, fmt.Errorf("%q is not a module address: it must be ASCII", a)
	}
	if isPlain(a.Namespace) && isPlain(a.Name) && isPlain(a.System) && !strings.Contains(a.System, "-") {
		return a, nil
	}
	parsed, err := tfaddr.ParseModuleSource("registry.example.com/" + a.String())
	if err != nil {
		return ModuleAddress{}, fmt.Errorf("%q is not a module address <namespace>/<name>/<system>: %w", a, err)
	}
	if (ModuleAddress{parsed.Package.Namespace, parsed.Package.Name, parsed.Package.TargetSystem}) != a {
		return ModuleAddress{}, fmt.Errorf("%q is not a module address <namespace>/<name>/<system>", a)
	}
	return a, nil
}

// String is namespace/name/system.
func (a ModuleAddress) String() string { return a.Namespace + "/" + a.Name + "/" + a.System }

// ProviderAddress names a provider. Namespace and type are lower case, as the
// clients send them.
type ProviderAddress struct {
	// Hostname is the origin registry of a mirrored provider, in lower case and
	// in punycode, as the clients send it to a mirror. It is empty where this
	// registry is the origin.
	Hostname string `json:"hostname,omitempty"`

	Namespace string `json:"namespace"`
	Type      string `json:"type"`
}

// maxProviderPart is the longest namespace or type of a provider, in bytes. The
// clients' rules have no limit, but S3's keys do: so it is that of module addresses.
const maxProviderPart = 64

// maxHostname is the longest name that DNS can have, in bytes.
const maxHostname = 253

// ParseHostname reads the hostname of a registry in any form that the clients
// understand, and returns it as they send it to a mirror: in lower case and in
// punycode.
//
// A hostname with a port is an error: no client can ask a mirror for it, because it
// takes the hostname for the scheme of a URL.
func ParseHostname(s string) (string, error) {
	if isPlainHostname(s) {
		return s, nil
	}
	host, err := svchost.ForComparison(svchost.ForDisplay(s)) // which reads punycode, too
	switch {
	case !utf8.ValidString(s):
		return "", fmt.Errorf("%q is not a hostname: it is not UTF-8", s)
	case strings.Contains(s, ":"):
		return "", fmt.Errorf("%q has a port: the clients cannot install providers of such a host from a mirror", s)
	case err != nil || !strings.Contains(string(host), ".") || len(host) > maxHostname:
		return "", fmt.Errorf("%q is not the hostname of a registry, such as registry.terraform.io", s)
	}
	return string(host), nil
}

// ParseMirroredAddress reads the address of a provider of another registry. Its
// hostname may be in any form that [ParseHostname] reads.
func ParseMirroredAddress(hostname, namespace, typ string) (ProviderAddress, error) {
	a, err := ParseProviderAddress(namespace, typ)
	if err != nil {
		return a, err
	}
	a.Hostname, err = ParseHostname(hostname)
	return a, err
}

// ParseProviderAddress reads the address of a provider of this registry by the
// rules of the clients' own provider sources, in ASCII and lower case. The error
// says what is wrong.
func ParseProviderAddress(namespace, typ string) (ProviderAddress, error) {
	a := ProviderAddress{Namespace: namespace, Type: typ}
	if isPlain(namespace) && isPlain(typ) && !strings.HasPrefix(typ, "terraform") {
		return a, nil
	}
	for _, part := range []string{namespace, typ} {
		if !isASCII(part) || part != strings.ToLower(part) {
			return ProviderAddress{}, fmt.Errorf("%q is not a provider address: %q must be lower-case ASCII", a, part)
		}
		if len(part) > maxProviderPart {
			return ProviderAddress{}, fmt.Errorf("%q is not a provider address: %q is longer than %d characters", a, part, maxProviderPart)
		}
	}
	// The host is there only because the library wants a whole source.
	if _, err := tfaddr.ParseProviderSource("registry.example.com/" + a.String()); err != nil {
		return ProviderAddress{}, fmt.Errorf("%q is not a provider address <namespace>/<type>: %w", a, err)
	}
	return a, nil
}

// Mirrored says whether another registry is the provider's origin.
func (a ProviderAddress) Mirrored() bool { return a.Hostname != "" }

// String is namespace/type, of a mirrored provider hostname/namespace/type.
func (a ProviderAddress) String() string {
	if a.Mirrored() {
		return a.Hostname + "/" + a.Namespace + "/" + a.Type
	}
	return a.Namespace + "/" + a.Type
}

// isPlain says whether a name has only lower-case letters and digits, and single dashes
// between them, as most names have. The clients' libraries allow such names of modules and
// providers; what they say of other names is asked each time, which costs ten times as much.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if isLetterOrDigit(c) || c == '-' && i > 0 && i < len(s)-1 && s[i-1] != '-' {
			continue
		}
		return false
	}
	return s != "" && len(s) <= maxProviderPart
}

// isPlainHostname says whether a hostname has two or more plain labels.
func isPlainHostname(s string) bool {
	const maxLabel = 63
	labels := 0
	for label := range strings.SplitSeq(s, ".") {
		if !isPlain(label) || len(label) > maxLabel {
			return false
		}
		labels++
	}
	return labels > 1 && len(s) <= maxHostname
}

func isLetterOrDigit(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII })
}

// PackageFilename is the name of a provider's package in SHA256SUMS and
// everywhere else: the clients look their checksum up by it.
func (a ProviderAddress) PackageFilename(v Version, p Platform) string {
	return a.filePrefix(v) + p.String() + ".zip"
}

// SHA256SUMSFilename is the name of a version's checksum document.
func (a ProviderAddress) SHA256SUMSFilename(v Version) string { return a.filePrefix(v) + "SHA256SUMS" }

// SignatureFilename is the name of the detached signature over SHA256SUMS.
func (a ProviderAddress) SignatureFilename(v Version) string {
	return a.SHA256SUMSFilename(v) + ".sig"
}

// ManifestFilename is the name of a release's registry manifest.
func (a ProviderAddress) ManifestFilename(v Version) string { return a.filePrefix(v) + "manifest.json" }

// DocsFilename is the name of the zip with a version's documentation. It is no package: its
// name has no platform.
func (a ProviderAddress) DocsFilename(v Version) string { return a.filePrefix(v) + "docs.zip" }

func (a ProviderAddress) filePrefix(v Version) string {
	return "terraform-provider-" + a.Type + "_" + v.String() + "_"
}

// Platform is an operating system and an architecture, as Go names them.
type Platform struct{ OS, Arch string }

// ParsePlatform reads the two parts of a platform, which are lower case.
func ParsePlatform(os, arch string) (Platform, error) {
	if !isPlatformPart(os) || !isPlatformPart(arch) {
		return Platform{}, fmt.Errorf("%q is not a platform such as linux_amd64, in lower case", os+"_"+arch)
	}
	return Platform{os, arch}, nil
}

func isPlatformPart(s string) bool {
	const most = 32
	return isPlain(s) && !strings.Contains(s, "-") && len(s) <= most
}

// String is os_arch, as in file names and mirror documents.
func (p Platform) String() string { return p.OS + "_" + p.Arch }

// MarshalText writes os_arch.
func (p Platform) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads os_arch.
func (p *Platform) UnmarshalText(text []byte) error {
	os, arch, _ := strings.Cut(string(text), "_")
	parsed, err := ParsePlatform(os, arch)
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}
