package e2e

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusal is an upload that must be rejected. NS in its keys stands for a namespace that no other test uses.
type refusal struct {
	name   string
	given  map[string][]byte // what is published before
	key    string
	body   []byte
	reason string // what the reason has to say; letter case aside
}

const (
	label  = "modules/NS/label/null/"
	widget = "providers/NS/widget/terraform-provider-widget_1.0.0_"
	amd64  = widget + "linux_amd64.zip"
)

// Bad input is rejected with a plain reason in the tags. It is not listed, and the registry goes on.
func TestBadInputIsRejected(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	for _, group := range []struct {
		name     string
		refusals []refusal
	}{
		{"names", badNames(t)},
		{"module archives", badModules(t)},
		{"provider packages", badPackages(t)},
		{"conflicts", conflicts(t)},
		{"SHA256SUMS", badSums(t)},
		{"signatures and keys", badSignatures(t)},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, row := range group.refusals {
				t.Run(row.name, func(t *testing.T) { r.checkRefusal(t, row) })
			}
		})
	}
	if a := r.ask(t, http.MethodGet, "/.well-known/terraform.json"); a.status != http.StatusOK {
		t.Errorf("after all this, discovery answers %d", a.status)
	}
}

// checkRefusal uploads the row's object and wants it rejected and the listings as they were.
func (r *registry) checkRefusal(t *testing.T, row refusal) {
	t.Parallel()
	namespace := "refused-" + shaOf(answer{body: []byte(t.Name())})[:12]
	inNamespace := func(key string) string { return strings.Replace(key, "NS", namespace, 1) }
	for key, body := range row.given {
		r.publish(t, inNamespace(key), body)
	}
	listing := func() (modules, providers []byte) {
		return r.ask(t, http.MethodGet, "/v1/modules/"+namespace+"/label/null/versions").body,
			r.ask(t, http.MethodGet, "/v1/providers/"+namespace+"/widget/versions").body
	}
	modules, providers := listing()
	tags := r.expect(t, r.put(t, inNamespace(row.key), row.body, "team=platform"), rejected)
	checkReason(t, tags, row.reason)
	if tags["team"] != "platform" {
		t.Errorf("the user's own tag is gone: %v", tags)
	}
	if m, p := listing(); !bytes.Equal(m, modules) || !bytes.Equal(p, providers) {
		t.Errorf("the listings have changed to\n%s\n%s", m, p)
	}
}

// tagAlphabet is what S3 allows in the value of a tag.
var tagAlphabet = regexp.MustCompile(`^[\pL\pN\pZ_.:/=+\-@]{1,256}$`)

// checkReason wants a reason that has the right words and that S3 takes as a tag.
func checkReason(t testing.TB, tags map[string]string, want string) {
	t.Helper()
	reason := tags["larder-reason"]
	if !tagAlphabet.MatchString(reason) || !strings.Contains(strings.ToLower(reason), strings.ToLower(want)) {
		t.Errorf("the reason is %q, want it to say %q", reason, want)
	}
	t.Logf("reason: %s", reason)
}

func badNames(t testing.TB) []refusal {
	module, pkg := tinyModule(t, "fine"), providerZip(t, "widget", "1.0.0", "fine")
	const folder = "providers/NS/widget/"
	return []refusal{
		{name: "module version with a v", key: label + "v1.0.0.tar.gz", body: module, reason: "leading v"},
		{name: "module version with a leading zero", key: label + "1.01.0.tar.gz", body: module, reason: "zero"},
		{name: "module version of two parts", key: label + "1.0.tar.gz", body: module, reason: "version"},
		{name: "no module version", key: label + "latest.zip", body: module, reason: "version"},
		{name: "no system", key: "modules/NS/label/1.0.0.tar.gz", body: module, reason: "namespace"},
		{name: "system with a hyphen", key: "modules/NS/label/my-cloud/1.0.0.tar.gz", body: module, reason: "my-cloud"},
		{name: "namespace of 65 characters", key: "modules/" + strings.Repeat("a", 65) + "/label/null/1.0.0.zip", body: module, reason: "namespace"},
		{name: "archive of another kind", key: label + "1.0.0.tar.bz2", body: module, reason: ".tar.gz"},
		{name: "another type than the folder's", key: folder + "terraform-provider-gadget_1.0.0_linux_amd64.zip", body: pkg, reason: "terraform-provider-widget"},
		{name: "another version than the folder's", key: folder + "2.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip", body: pkg, reason: "2.0.0"},
		{name: "provider version with a v", key: folder + "terraform-provider-widget_v1.0.0_linux_amd64.zip", body: pkg, reason: "leading v"},
		{name: "provider version with a leading zero", key: folder + "terraform-provider-widget_1.0.01_linux_amd64.zip", body: pkg, reason: "zero"},
		{name: "no platform", key: folder + "terraform-provider-widget_1.0.0.zip", body: pkg, reason: "os_arch"},
		{name: "platform in upper case", key: folder + "terraform-provider-widget_1.0.0_Linux_AMD64.zip", body: pkg, reason: "lower case"},
		{name: "type in upper case", key: "providers/NS/Widget/terraform-provider-Widget_1.0.0_linux_amd64.zip", body: pkg, reason: "lower-case"},
		{name: "zip of another name", key: folder + "widget.zip", body: pkg, reason: "terraform-provider-widget"},
	}
}

func badModules(t testing.TB) []refusal {
	main := entry{name: "main.tf", body: []byte("# fine\n")}
	with := func(entries ...entry) []byte { return tarGzOf(t, append([]entry{main}, entries...)...) }
	whole := tarGzOf(t, main, entry{name: "noise", body: noise(64 << 10)})
	zipped := zipOf(t, main, entry{name: "noise", body: noise(64 << 10)})
	const targz, zip = label + "1.0.0.tar.gz", label + "1.0.0.zip"
	return []refusal{
		{name: "symlink", key: targz, body: with(entry{name: "link.tf", kind: tar.TypeSymlink, link: "/etc/passwd"}), reason: "link"},
		{name: "hard link", key: targz, body: with(entry{name: "link.tf", kind: tar.TypeLink, link: "main.tf"}), reason: "link"},
		{name: "device", key: targz, body: with(entry{name: "null", kind: tar.TypeChar}), reason: "null"},
		{name: "pipe", key: targz, body: with(entry{name: "pipe", kind: tar.TypeFifo}), reason: "pipe"},
		{name: "parent folder", key: targz, body: with(entry{name: "../evil.tf", body: []byte("x")}), reason: "../evil.tf"},
		{name: "absolute path", key: targz, body: with(entry{name: "/etc/evil.tf", body: []byte("x")}), reason: "/etc/evil.tf"},
		{name: "names that differ in case", key: targz, body: with(entry{name: "MAIN.tf", body: []byte("x")}), reason: "MAIN.tf"},
		{name: "names that differ in how they are spelled", key: targz, body: with(entry{name: "caf\u00e9.tf", body: []byte("x")}, entry{name: "cafe\u0301.tf", body: []byte("x")}), reason: "two spellings"},
		{name: "dot at the end", key: targz, body: with(entry{name: "main.tf.", body: []byte("x")}), reason: "main.tf."},
		{name: "format character", key: targz, body: with(entry{name: "main\u202eft.txt", body: []byte("x")}), reason: "U+202E"},
		{name: "drive letter in a single folder", key: targz, body: tarGzOf(t, entry{name: "wrap/main.tf", body: []byte("# fine\n")}, entry{name: "wrap/C:evil.tf", body: []byte("x")}), reason: "wrap/C:evil.tf"},
		{name: "device of Windows in a zip", key: zip, body: zipOf(t, main, entry{name: "modules/aux/main.tf", body: []byte("x")}), reason: "aux"},
		{name: "the same name twice", key: targz, body: with(main), reason: "main.tf"},
		{name: "symlink in a zip", key: zip, body: zipOf(t, main, entry{name: "link.tf", body: []byte("/etc/passwd"), mode: fs.ModeSymlink | 0o777}), reason: "link"},
		{name: "provider package", key: zip, body: providerZip(t, "widget", "1.0.0", "x"), reason: "providers/"},
		{name: "empty archive", key: targz, body: tarGzOf(t), reason: "no file"},
		{name: "empty zip", key: zip, body: zipOf(t), reason: "no file"},
		{name: "only a global header", key: targz, body: tarGzOf(t, entry{kind: tar.TypeXGlobalHeader}), reason: "no file"},
		{name: "0-byte file", key: targz, body: nil, reason: "empty"},
		{name: "0-byte zip", key: zip, body: nil, reason: "empty"},
		{name: "truncated", key: targz, body: whole[:len(whole)/2], reason: "truncated"},
		{name: "truncated zip", key: zip, body: zipped[:len(zipped)/2], reason: "zip"},
		{name: "another format than the name says", key: zip, body: whole, reason: "zip"},
		{name: "expands 200 times and more", key: targz, body: with(entry{name: "zeros", body: make([]byte, 64<<20)}), reason: "200"},
		{name: "expands beyond 256 MiB", key: targz, body: with(entry{name: "zeros", body: make([]byte, 257<<20)}, entry{name: "noise", body: noise(4 << 20)}), reason: "256"},
		{name: "more than 20,000 files", key: targz, body: with(manyFiles(20_000)...), reason: "20000"},
	}
}

// manyFiles are empty files of different names.
func manyFiles(count int) []entry {
	entries := make([]entry, count)
	for i := range entries {
		entries[i].name = fmt.Sprintf("files/%d.tf", i)
	}
	return entries
}

func badPackages(t testing.TB) []refusal {
	binary := executable("terraform-provider-widget_v1.0.0")
	with := func(entries ...entry) []byte { return zipOf(t, append([]entry{binary}, entries...)...) }
	whole := with(entry{name: "noise", body: noise(64 << 10)})
	return []refusal{
		{name: "executable in a folder", key: amd64, body: zipOf(t, executable("bin/terraform-provider-widget_v1.0.0")), reason: "terraform-provider-widget"},
		{name: "executable of another type", key: amd64, body: zipOf(t, executable("terraform-provider-gadget_v1.0.0")), reason: "terraform-provider-widget"},
		{name: "executable of a longer type", key: amd64, body: zipOf(t, executable("terraform-provider-widgets")), reason: "terraform-provider-widget"},
		{name: "executable that nobody may run", key: amd64, body: zipOf(t, entry{name: binary.name, body: binary.body, mode: 0o644}), reason: "executable bit"},
		{name: "executable for another platform", key: amd64, body: zipOf(t, entry{name: binary.name, body: []byte("\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00"), mode: 0o755}), reason: "arm64"},
		{name: "parent folder", key: amd64, body: with(entry{name: "../evil", body: []byte("x")}), reason: "../evil"},
		{name: "absolute path", key: amd64, body: with(entry{name: "/etc/evil", body: []byte("x")}), reason: "/etc/evil"},
		{name: "backslashes", key: amd64, body: with(entry{name: `..\evil`, body: []byte("x")}), reason: "evil"},
		{name: "name with a format character", key: amd64, body: with(entry{name: "README\u202edm.exe", body: []byte("x")}), reason: "U+202E"},
		{name: "names that differ in how they are spelled", key: amd64, body: with(entry{name: "caf\u00e9", body: []byte("x")}, entry{name: "cafe\u0301", body: []byte("x")}), reason: "two spellings"},
		{name: "symlink", key: amd64, body: with(entry{name: "link", body: []byte("/etc/passwd"), mode: fs.ModeSymlink | 0o777}), reason: "link"},
		{name: "the same name twice", key: amd64, body: with(binary), reason: "more than once"},
		{name: "encrypted", key: amd64, body: encryptedZip(t, binary), reason: "encrypted"},
		{name: "empty zip", key: amd64, body: zipOf(t), reason: "no file"},
		{name: "0-byte file", key: amd64, body: nil, reason: "empty"},
		{name: "truncated", key: amd64, body: whole[:len(whole)/2], reason: "zip"},
		{name: "no zip", key: amd64, body: []byte("#!/bin/sh\n"), reason: "zip"},
		{name: "expands 200 times and more", key: amd64, body: with(entry{name: "zeros", body: make([]byte, 64<<20)}), reason: "200"},
		{name: "expands beyond 8 GiB", key: amd64, body: vastZip(t, binary), reason: "8"},
		{name: "documentation without a page", key: widget + "docs.zip", body: with(), reason: "docs/"},
		{name: "documentation as tar.gz", key: widget + "docs.zip", body: tinyModule(t, "docs"), reason: "zip"},
		{name: "documentation of a version that is none", key: strings.Replace(widget, "1.0.0", "v1.0.0", 1) + "docs.zip", body: zipOf(t, entry{name: "docs/index.md", body: []byte("x")}), reason: "leading v"},
		{name: "manifest that is no JSON", key: widget + "manifest.json", body: []byte("version: 1"), reason: "JSON"},
	}
}

// encryptedZip makes a zip whose entry says that it is encrypted.
func encryptedZip(t testing.TB, e entry) []byte {
	t.Helper()
	header := &zip.FileHeader{
		Name: e.name, Flags: 1, CRC32: crc32.ChecksumIEEE(e.body),
		CompressedSize64: uint64(len(e.body)), UncompressedSize64: uint64(len(e.body)),
	}
	header.SetMode(e.permissions())
	return rawZip(t, rawMember{header, e.body})
}

// vastZip makes a zip that expands to a little over 8 GiB and yet less than 200 times: noise and many copies of one
// compressed run of zeros.
func vastZip(t testing.TB, binary entry) []byte {
	t.Helper()
	const run = 64 << 20
	zeros := make([]byte, run)
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	filler := noise(48 << 20)
	members := []rawMember{stored(binary.name, binary.body), stored("noise", filler)}
	sum := crc32.ChecksumIEEE(zeros)
	for i := range 8<<30/run + 1 {
		members = append(members, rawMember{&zip.FileHeader{
			Name: fmt.Sprintf("zeros-%d", i), Method: zip.Deflate, CRC32: sum,
			CompressedSize64: uint64(packed.Len()), UncompressedSize64: run,
		}, packed.Bytes()})
	}
	return rawZip(t, members...)
}

func conflicts(t testing.TB) []refusal {
	first, second := tinyModule(t, "first"), tinyModule(t, "second")
	module := map[string][]byte{label + "1.0.0.tar.gz": first}
	firstZip, secondZip := providerZip(t, "widget", "1.0.0", "first"), providerZip(t, "widget", "1.0.0", "second")
	pkg := map[string][]byte{amd64: firstZip}
	return []refusal{
		{name: "other module bytes", given: module, key: label + "1.0.0.tar.gz", body: second, reason: "published"},
		{name: "zip beside tar.gz", given: module, key: label + "1.0.0.zip", body: zipOf(t, entry{name: "main.tf"}), reason: "published"},
		{name: "module version that differs in build metadata", given: map[string][]byte{label + "1.0.0+a.tar.gz": first}, key: label + "1.0.0+b.tar.gz", body: second, reason: "metadata"},
		{name: "module name that differs in case", given: module, key: "modules/NS/Label/null/1.0.0.tar.gz", body: second, reason: "published"},
		{name: "other package bytes", given: pkg, key: amd64, body: secondZip, reason: "published"},
		{name: "other bytes in the version's folder", given: pkg, key: "providers/NS/widget/1.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip", body: secondZip, reason: "published"},
		{name: "package version that differs in build metadata", given: pkg, key: "providers/NS/widget/terraform-provider-widget_1.0.0+b_linux_amd64.zip", body: firstZip, reason: "metadata"},
	}
}

func badSums(t testing.TB) []refusal {
	pkg := providerZip(t, "widget", "1.0.0", "published")
	given := map[string][]byte{amd64: pkg}
	line := string(sumsOf(given))
	sum, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
	other := strings.Repeat("0", 64) + "  terraform-provider-widget_1.0.0_darwin_arm64.zip\n"
	var rows []refusal
	for _, row := range []struct{ name, sums, reason string }{
		{"blank line", line + "\n" + other, "blank"},
		{"blank line at the end", line + "\n", "blank"},
		{"lines that end in CR LF", sum + "  " + file + "\r\n", "carriage return"},
		{"binary mode", sum + " *" + file + "\n", "binary mode"},
		{"a file twice", line + line, "again"},
		{"hashes in upper case", strings.ToUpper(sum) + "  " + file + "\n", "lower case"},
		{"text after the lines", line + "-- \nAda\n", "line 2"},
		{"no end of the last line", sum + "  " + file, "last line"},
		{"nothing", "", "empty"},
	} {
		rows = append(rows, refusal{row.name, given, widget + "SHA256SUMS", []byte(row.sums), row.reason})
	}
	return rows
}

func badSignatures(t testing.TB) []refusal {
	ada := newAuthor(t)
	pkg := providerZip(t, "widget", "1.0.0", "signed")
	sums := sumsOf(map[string][]byte{amd64: pkg})
	key := ada.publicKey(t)
	given := map[string][]byte{amd64: pkg, "keys/NS/ada.asc": key}
	secret := []byte(ada.gpg(t, "--armor", "--export-secret-keys"))
	past := newAuthor(t)
	past.gpg(t, "--faked-system-time", "20200101T000000", "--quick-gen-key", "Past Author", "ed25519", "sign", "1y")
	signature := func(name string, sig []byte, reason string) refusal {
		return refusal{name, given, widget + "SHA256SUMS.sig", sig, reason}
	}
	keyFile := func(name string, body []byte, reason string) refusal {
		return refusal{name: name, key: "keys/NS/ada.asc", body: body, reason: reason}
	}
	return []refusal{
		signature("armored", ada.sign(t, sums, "--armor"), "armored"),
		signature("no signature", []byte("signed, Ada"), "signature"),
		signature("SHA-1", ada.sign(t, sums, "--digest-algo", "SHA1"), "SHA-1"),
		keyFile("secret key", secret, "private"),
		keyFile("secret key after a public one", slices.Concat(key, secret), "private"),
		keyFile("expired key", []byte(past.gpg(t, "--armor", "--export", "Past Author")), "expired"),
		keyFile("text before the key", slices.Concat([]byte("my key:\n"), key), "line 1"),
		keyFile("no key", []byte("ssh-ed25519 AAAA"), "key"),
		keyFile("a signature", ada.sign(t, sums, "--armor"), "key"),
	}
}

// A wrong signature is rejected once its key and its SHA256SUMS are here. A signature by a missing key is pending.
// Meanwhile the registry's own is served.
func TestSignatureThatDoesNotHold(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada, eve := newAuthor(t), newAuthor(t)
	release := newRelease(t, ada, "forged")
	r.publishAll(t, release.packages)
	r.publish(t, "keys/forged/ada.asc", ada.publicKey(t))
	r.put(t, release.sumsKey, release.sums)

	otherBytes := r.put(t, release.sigKey, ada.sign(t, []byte("other bytes")))
	checkReason(t, r.expect(t, otherBytes, rejected), "signature does not match")
	unknownKey := r.put(t, release.sigKey, eve.sign(t, release.sums))
	if status := r.verdict(t, unknownKey)["larder-status"]; status != pending {
		t.Errorf("the signature by a key that is not here is %s, want %s", status, pending)
	}
	checkWhole(t, r, "forged/widget", "1.0.0", release.packages)
}

// An author's release must not contradict what is published.
func TestSignedSHA256SUMSThatContradicts(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	ada := newAuthor(t)
	for namespace, change := range map[string]func(line string) string{
		"left-out":   func(string) string { return "" },
		"other-hash": func(line string) string { return strings.Repeat("0", 64) + line[64:] },
	} {
		release := newRelease(t, ada, namespace)
		r.publishAll(t, release.packages)
		r.publish(t, "keys/"+namespace+"/ada.asc", ada.publicKey(t))

		darwin, linux, _ := strings.Cut(string(release.sums), "\n")
		sums := []byte(darwin + "\n" + change(linux))
		r.put(t, release.sigKey, ada.sign(t, sums))
		tags := r.expect(t, r.put(t, release.sumsKey, sums), rejected)
		checkReason(t, tags, "terraform-provider-widget_1.0.0_linux_amd64.zip")
		checkWhole(t, r, namespace+"/widget", "1.0.0", release.packages)
	}
}

// A file that does not lie where packages belong is ignored. So is a file that cannot be a package.
func TestStrayFilesAreIgnored(t *testing.T) {
	t.Parallel()
	checkIgnored(t, sharedRegistry(t),
		"modules/stray/label/null/CHANGELOG.md",
		"providers/stray/widget/1.0.0/notes.txt",
		"keys/stray/README",
		"mirror/stray/README",
	)
}

// On one machine, uploads outside the inbox are ignored, too. On AWS they cause no event.
func TestStrayFilesOutsideTheInboxAreIgnored(t *testing.T) {
	t.Parallel()
	checkIgnored(t, startNode(t).registry, "README.md", "backup/terraform-provider-widget_1.0.0_linux_amd64.zip", "provider/stray/widget/terraform-provider-widget_1.0.0_linux_amd64.zip")
}

// checkIgnored uploads a file under each key, and wants it ignored.
func checkIgnored(t testing.TB, r *registry, keys ...string) {
	t.Helper()
	for _, key := range keys {
		tags := r.expect(t, r.put(t, key, []byte("stray"), "team=platform&cost=42"), ignored)
		if tags["team"] != "platform" || tags["cost"] != "42" {
			t.Errorf("%s: the user's own tags are gone: %v", key, tags)
		}
		checkReason(t, tags, "")
	}
	if got := r.moduleVersions(t, "stray/label/null"); len(got) != 0 {
		t.Errorf("listed: %v", got)
	}
}
