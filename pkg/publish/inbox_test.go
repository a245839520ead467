package publish

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	for _, test := range []struct{ key, want string }{
		{"modules/acme/vpc/aws/1.2.3.zip", "module acme/vpc/aws 1.2.3"},
		{"modules/acme/vpc/aws/1.2.3.tar.gz", "module acme/vpc/aws 1.2.3"},
		{"modules/acme/vpc/aws/1.2.3.tgz", "module acme/vpc/aws 1.2.3"},
		{"modules/Acme/VPC/aws/1.2.3-rc.1+build.5.tgz", "module acme/vpc/aws 1.2.3-rc.1+build.5"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", "provider acme/widget 1.0.0 for linux_amd64"},
		{"providers/acme/widget/1.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip", "provider acme/widget 1.0.0 for linux_amd64"},
		{"providers/acme/big-widget/terraform-provider-big-widget_1.0.0-rc.1+b_linux_arm64.zip", "provider acme/big-widget 1.0.0-rc.1+b for linux_arm64"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUMS", "SHA256SUMS of provider acme/widget 1.0.0"},
		{"providers/acme/widget/1.0.0/terraform-provider-widget_1.0.0_SHA256SUMS.sig", "signature of provider acme/widget 1.0.0"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_manifest.json", "manifest of provider acme/widget 1.0.0"},
		{"keys/acme/release-2026.asc", "signing keys of acme"},

		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_linux_amd64.zip", "provider registry.terraform.io/hashicorp/time 0.9.1 for linux_amd64"},
		{"mirror/registry.terraform.io/hashicorp/time/0.9.1.json", "mirror document of provider registry.terraform.io/hashicorp/time 0.9.1"},

		{"mirror/x.zip", "rejected: mirror/<hostname>/<namespace>/<type>/"},
		{"mirror/x", "ignored: mirror/<hostname>/<namespace>/<type>/"},
		{"mirror/", "ignored: mirror/<hostname>/<namespace>/<type>/"},
		{"mirror/registry.terraform.io/time/terraform-provider-time_0.9.1_linux_amd64.zip", "rejected: mirror/<hostname>/<namespace>/<type>/"},
		{"mirror/registry.terraform.io/hashicorp/time/0.9.1/terraform-provider-time_0.9.1_linux_amd64.zip", "rejected: mirror/<hostname>/<namespace>/<type>/"},
		{"mirror/localhost/hashicorp/time/terraform-provider-time_0.9.1_linux_amd64.zip", "rejected: not the hostname"},
		{"mirror/localhost/hashicorp/time/0.9.1.json", "ignored: not the hostname"},
		{"mirror/registry.terraform.io/hashicorp/time/index.json", "ignored: not the document of a version"},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-null_0.9.1_linux_amd64.zip", "rejected: terraform-provider-time_"},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_SHA256SUMS", "ignored: packages alone"},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_v0.9.1_linux_amd64.zip", "rejected: leading v"},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_linux.zip", "rejected: <os>_<arch>"},
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1-" + strings.Repeat("x", 250) + "_linux_amd64.zip", "rejected: 250 are allowed"},
		{"keys/acme/", "ignored: .asc"},
		{"providers/", "ignored: providers/<namespace>/<type>/"},
		{"providers/x.zip", "rejected: providers/<namespace>/<type>/"},

		{"modules/acme/vpc/aws/v1.2.3.zip", "rejected: leading v"},
		{"modules/acme/vpc/aws/01.2.3.zip", "rejected: not a full semantic version"},
		{"modules/acme/vpc/aws/1.2.zip", "rejected: not a full semantic version"},
		{"modules/acme/vpc/aws/latest.tar.gz", "rejected: not a full semantic version"},
		{"modules/acme/vpc/aws/1.2.3.tar", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.tar.xz", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.ZIP", "rejected: lower case"},
		{"modules/acme/vpc/aws/1.2.3.Tar.GZ", "rejected: lower case"},
		{"modules/acme/vpc/aws/1.2.3.gz", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.bz2", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.xz", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.zst", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.lz", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.lzma", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.tbz2", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.txz", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.tzst", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.7z", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.rar", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/aws/1.2.3.jar", "rejected: .zip, .tar.gz or .tgz"},
		{"modules/acme/vpc/1.2.3.zip", "rejected: modules/<namespace>/<name>/<system>/<version>.zip"},
		{"modules/1.2.3.zip", "rejected: modules/<namespace>/<name>/<system>/<version>.zip"},
		{"modules/acme/vpc/aws/extra/1.2.3.zip", "rejected: modules/<namespace>"},
		{"modules/acme/vpc/aws-west/1.2.3.zip", "rejected: target system"},
		{"modules/-acme/vpc/aws/1.2.3.zip", "rejected: namespace"},
		{"modules/acme//aws/1.2.3.zip", "rejected: not a module address"},
		{"modules/" + strings.Repeat("a", 65) + "/vpc/aws/1.2.3.zip", "rejected: between one and 64"},
		{"providers/acme/widget/terraform-provider-gadget_1.0.0_linux_amd64.zip", "rejected: terraform-provider-widget_"},
		{"providers/acme/widget/2.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip", "rejected: version 1.0.0, but lies in the folder"},
		{"providers/acme/widget/terraform-provider-widget_v1.0.0_linux_amd64.zip", "rejected: leading v"},
		{"providers/acme/widget/terraform-provider-widget_1.00.0_linux_amd64.zip", "rejected: leading zeros"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_Linux_x86_64.zip", "rejected: not a platform"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux.zip", "rejected: <os>_<arch>"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0.zip", "rejected: <os>_<arch>"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.ZIP", "rejected: <os>_<arch>"},
		{"providers/Acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", "rejected: lower-case"},
		{"providers/acme/terraform-widget/terraform-provider-terraform-widget_1.0.0_linux_amd64.zip", "rejected: terraform-"},
		{"providers/terraform-provider-widget_1.0.0_linux_amd64.zip", "rejected: providers/<namespace>/<type>/"},
		{"providers/acme/widget/1.0.0/linux/terraform-provider-widget_1.0.0_linux_amd64.zip", "rejected: providers/<namespace>/<type>/"},
		{"keys/release.asc", "rejected: keys/<namespace>/"},
		{"keys/acme/2026/release.asc", "rejected: keys/<namespace>/"},
		{"keys/Acme/release.asc", "rejected: not a provider namespace"},

		{"providers/acme/widget/README.md", "ignored: named"},
		{"providers/acme/widget/checksums.txt", "ignored: named"},
		{"providers/acme/widget/artifacts.json", "ignored: named"},
		{"providers/acme/widget/2.0.0/terraform-provider-widget_1.0.0_SHA256SUMS", "ignored: folder"},
		{"modules/acme/vpc/aws/README.md", "ignored: not an archive"},
		{"modules/", "ignored: not an archive"},
		{"keys/acme/README", "ignored: .asc"},
		{"notes.txt", "ignored: modules/, providers/"},
		{"", "ignored: modules/, providers/"},

		// What is nearly right is told what would be.
		{"provider/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this is under provider/: upload it to providers/"},
		{"Providers/acme/widget/x", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this is under Providers/: upload it to providers/"},
		{"module/acme/vpc/aws/1.0.0.zip", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this is under module/: upload it to modules/"},
		{"key/acme/x.asc", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this is under key/: upload it to keys/"},
		{"mirrors/x", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this is under mirrors/: upload it to mirror/"},
		{"/providers/acme/widget/x.zip", "ignored: uploads go under modules/, providers/, mirror/ or keys/; this key begins with a slash: leave it out"},
		{"dist/terraform-provider-widget_1.0.0_linux_amd64.zip", "ignored: uploads go under modules/, providers/, mirror/ or keys/; a provider's files go to providers/<namespace>/<type>/"},
		{"keys", "ignored: modules/, providers/"},
		{"keys/acme/author.gpg", `ignored: an author's public key is armored, in an .asc file (gpg --armor --export), and this is "author.gpg"`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.tar.gz", `ignored: a provider package is a .zip file, and this is "terraform-provider-widget_1.0.0_linux_amd64.tar.gz": zip its executable`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUM", `ignored: the checksums of a release are named terraform-provider-<type>_<version>_SHA256SUMS, and their binary signature (gpg --detach-sign) the same with .sig; this is "terraform-provider-widget_1.0.0_SHA256SUM"`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUMS.asc", "ignored: the checksums of a release are named"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_checksums.txt", "ignored: the checksums of a release are named"},
		{"providers/acme/widget/terraform-provider-widget_v1.0.0_SHA256SUMS", "ignored: leading v"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_x86_64.zip", `rejected: "linux_x86_64" is not a platform such as linux_amd64, in lower case: write linux_amd64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_Darwin_arm64.zip", `rejected: "Darwin_arm64" is not a platform such as linux_amd64, in lower case: write darwin_arm64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_macOS_x86_64.zip", `rejected: "macOS_x86_64" is not a platform such as linux_amd64, in lower case: write darwin_amd64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_a_b.zip", `rejected: "linux_a_b" is not a platform such as linux_amd64, in lower case`},
	} {
		u, err := parseKey(test.key)
		got := u.String()
		var v *verdict
		if errors.As(err, &v) {
			got = v.Error()
		} else if err != nil {
			t.Errorf("%s: %v is no verdict", test.key, err)
		}
		status, words, isVerdict := strings.Cut(test.want, ": ")
		if isVerdict && (!strings.HasPrefix(got, status+": ") || !strings.Contains(got, words)) || !isVerdict && got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.key, got, test.want)
		}
	}
}

// A key never makes the parser fail in another way than by a verdict, and what
// it lets through has an address that could be asked for.
func FuzzParseKey(f *testing.F) {
	f.Add("modules/acme/vpc/aws/1.2.3.tar.gz")
	f.Add("providers/acme/widget/1.0.0/terraform-provider-widget_1.0.0_linux_amd64.zip")
	f.Add("providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUMS.sig")
	f.Add("keys/acme/x.asc")
	f.Add("providers/a/b/terraform-provider-b__.zip")
	f.Add("mirror/x.zip")
	f.Add("mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_linux_amd64.zip")
	f.Add("mirror/registry.terraform.io/hashicorp/time/0.9.1.json")
	f.Fuzz(func(t *testing.T, key string) {
		u, err := parseKey(key)
		var v *verdict
		if err != nil && !errors.As(err, &v) {
			t.Fatalf("%q: %v", key, err)
		}
		if err == nil && u.kind != authorKeys && u.version.String() == "" {
			t.Fatalf("%q has no version", key)
		}
		if err == nil && strings.Contains(u.String(), "//") {
			t.Fatalf("%q became %s", key, u)
		}
	})
}

func TestTagValue(t *testing.T) {
	for _, test := range []struct {
		reasons []string
		want    string
	}{
		{nil, ""},
		{[]string{`version "v1" has a leading v: write "1"`}, "version v1 has a leading v: write 1"},
		{[]string{"The file is empty (0 bytes).", "b", "c"}, "The file is empty - 0 bytes. - and 2 more"},
		{[]string{"a link, not a file; really"}, "a link - not a file - really"},
		{[]string{"schön\n"}, "sch n"},
		{[]string{"it has other bytes (sha256 " + strings.Repeat("0a", 32) + "; this file: " + strings.Repeat("1f", 32) + "): publish a new one"}, "it has other bytes: publish a new one"},
		{[]string{"another hash (h1:" + strings.Repeat("A", 43) + "=; the package: h1:" + strings.Repeat("B", 43) + "=)"}, "another hash"},
		{[]string{"sign anew (gpg --detach-sign)"}, "sign anew - gpg --detach-sign"},
		{[]string{"goes to providers/<namespace>/<type>/"}, "goes to providers/NAMESPACE/TYPE/"},
		{[]string{"under terraform-provider-<type>_<any name>.zip"}, "under terraform-provider-TYPE_ANY NAME.zip"},
		{[]string{strings.Repeat("x", 300)}, strings.Repeat("x", 256)},
		{[]string{strings.Repeat("x", 300), "b"}, strings.Repeat("x", 243) + " - and 1 more"},
	} {
		got := TagValue(test.reasons)
		if got != test.want {
			t.Errorf("TagValue(%q) = %q, want %q", test.reasons, got, test.want)
		}
		if len(got) > 256 || strings.ContainsFunc(strings.ReplaceAll(got, " ", ""), notInTags) {
			t.Errorf("TagValue(%q) = %q is not within S3's alphabet and length", test.reasons, got)
		}
	}
}

// An outcome is news where any of its version, status and reasons is.
func TestRepeats(t *testing.T) {
	last := Outcome{Key: "a", Version: "1", Status: Pending, Reasons: []string{"x", "y"}, By: "one"}
	for name, test := range map[string]struct {
		change func(*Outcome)
		want   bool
	}{
		"nothing":        {func(*Outcome) {}, true},
		"who, and when":  {func(o *Outcome) { o.By, o.Time = "two", now() }, true},
		"the version":    {func(o *Outcome) { o.Version = "2" }, false},
		"the status":     {func(o *Outcome) { o.Status = Rejected }, false},
		"a reason":       {func(o *Outcome) { o.Reasons = []string{"x", "z"} }, false},
		"another reason": {func(o *Outcome) { o.Reasons = []string{"x"} }, false},
	} {
		o := last
		if test.change(&o); o.repeats(last) != test.want {
			t.Errorf("where %s is another, it repeats the last: %v", name, !test.want)
		}
	}
}

// Only what is judged together with other files is looked at again.
func TestPassing(t *testing.T) {
	const file = "providers/acme/widget/terraform-provider-widget_1.0.0_"
	for key, rejectedPasses := range map[string]bool{
		file + "SHA256SUMS": true, file + "SHA256SUMS.sig": true, file + "manifest.json": true,
		file + "linux_amd64.zip": false, "modules/acme/vpc/aws/1.0.0.zip": false, "keys/acme/key.asc": false, "mirror/example.com/acme/widget/1.0.0.json": false, "x": false,
	} {
		for status, want := range map[Status]bool{Pending: true, Rejected: rejectedPasses, Published: false, Ignored: false} {
			if got := passing(Outcome{Key: key, Status: status}); got != want {
				t.Errorf("%s that is %s passes: %v", key, status, got)
			}
		}
	}
}

// A reconcile ends after eleven failures in a row: what is wrong with a version
// itself is none, and what goes well ends the row.
func TestFailuresInARow(t *testing.T) {
	broken, ofVersion := errors.New("the storage is broken"), faulty{errors.New("the version is")}
	var f failures
	for n, err := range slices.Concat(
		slices.Repeat([]error{broken}, 10), []error{nil}, slices.Repeat([]error{ofVersion}, 11),
		slices.Repeat([]error{broken}, 5), []error{ofVersion}, slices.Repeat([]error{broken}, 5),
	) {
		if err := f.count(err); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if err := f.count(broken); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "11 failures in a row: ") {
		t.Errorf("after the eleventh: %v", err)
	}
}
