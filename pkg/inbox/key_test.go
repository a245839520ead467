package inbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
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
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs.zip", "documentation of provider acme/widget 1.0.0"},
		{"providers/acme/widget/1.0.0-rc.1+b/terraform-provider-widget_1.0.0-rc.1+b_docs.zip", "documentation of provider acme/widget 1.0.0-rc.1+b"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs_amd64.zip", "provider acme/widget 1.0.0 for docs_amd64"},
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
		{"mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_docs.zip", "rejected: a mirror serves packages alone: their hashes stand in for SHA256SUMS and signature, and it has no documentation"},
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
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_amd64.tar.gz", `ignored: a provider package is a .zip file, and this is "terraform-provider-widget_1.0.0_linux_amd64.tar.gz": zip its executable, or of documentation its folder docs`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs.tar.gz", `ignored: a provider package is a .zip file, and this is "terraform-provider-widget_1.0.0_docs.tar.gz": zip its executable, or of documentation its folder docs`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_Docs.zip", `rejected: the documentation of a version is named terraform-provider-<type>_<version>_docs.zip, in lower case; this is "terraform-provider-widget_1.0.0_Docs.zip"`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs.ZIP", "rejected: the documentation of a version is named"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs.json", "ignored: the documentation of a version is named"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_docs", "ignored: <os>_<arch>"},
		{"providers/acme/widget/terraform-provider-widget_v1.0.0_docs.zip", "rejected: leading v"},
		{"providers/acme/widget/2.0.0/terraform-provider-widget_1.0.0_docs.zip", "rejected: version 1.0.0, but lies in the folder"},
		{"providers/acme/widget/terraform-provider-gadget_1.0.0_docs.zip", "rejected: terraform-provider-widget_"},
		{"providers/acme/widget/terraform-provider-widget_docs.zip", "rejected: <os>_<arch>"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUM", `ignored: the checksums of a release are named terraform-provider-<type>_<version>_SHA256SUMS, and their binary signature (gpg --detach-sign) the same with .sig; this is "terraform-provider-widget_1.0.0_SHA256SUM"`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_SHA256SUMS.asc", "ignored: the checksums of a release are named"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_checksums.txt", "ignored: the checksums of a release are named"},
		{"providers/acme/widget/terraform-provider-widget_v1.0.0_SHA256SUMS", "ignored: leading v"},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_x86_64.zip", `rejected: "linux_x86_64" is not a platform such as linux_amd64, in lower case: write linux_amd64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_Darwin_arm64.zip", `rejected: "Darwin_arm64" is not a platform such as linux_amd64, in lower case: write darwin_arm64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_macOS_x86_64.zip", `rejected: "macOS_x86_64" is not a platform such as linux_amd64, in lower case: write darwin_amd64`},
		{"providers/acme/widget/terraform-provider-widget_1.0.0_linux_a_b.zip", `rejected: "linux_a_b" is not a platform such as linux_amd64, in lower case`},
	} {
		u, err := ParseKey(test.key)
		got := u.String()
		var v *Verdict
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
	f.Add("providers/acme/widget/terraform-provider-widget_1.0.0_docs.zip")
	f.Add("providers/a/b/terraform-provider-b__.zip")
	f.Add("mirror/x.zip")
	f.Add("mirror/registry.terraform.io/hashicorp/time/terraform-provider-time_0.9.1_linux_amd64.zip")
	f.Add("mirror/registry.terraform.io/hashicorp/time/0.9.1.json")
	f.Fuzz(func(t *testing.T, key string) {
		u, err := ParseKey(key)
		var v *Verdict
		if err != nil && !errors.As(err, &v) {
			t.Fatalf("%q: %v", key, err)
		}
		if err == nil && u.Kind != AuthorKeys && u.Version.String() == "" {
			t.Fatalf("%q has no version", key)
		}
		if err == nil && strings.Contains(u.String(), "//") {
			t.Fatalf("%q became %s", key, u)
		}
	})
}

func TestModuleKey(t *testing.T) {
	address := registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	v, err := registry.ParseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	for filename, want := range map[string]string{
		"vpc.zip": ".zip", "dist/vpc-1.2.3.tar.gz": ".tar.gz", "vpc.TGZ": ".tgz", "vpc.tar": ".tar", "notes.txt": ".txt", "vpc": "",
	} {
		if got := ModuleKey(address, v, filename); got != "modules/acme/vpc/aws/1.2.3"+want {
			t.Errorf("%s: %s", filename, got)
		}
	}
}
