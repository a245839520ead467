package registry

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	module, provider := ModuleAddress{"acme", "vpc", "aws"}, ProviderAddress{Namespace: "acme", Type: "widget"}
	mirrored := ProviderAddress{"registry.terraform.io", "acme", "widget"}
	v := version(t, "1.0.0+b")
	release := Release{SHA256: "5e", Signature: "51"}
	for got, want := range map[string]string{
		module.LogPrefix(v):                  "registry/records/modules/acme/vpc/aws/1.0.0/",
		provider.LogPrefix(v):                "registry/records/providers/acme/widget/1.0.0/",
		RecordKey(provider.LogPrefix(v), 12): "registry/records/providers/acme/widget/1.0.0/00000012.json",
		module.ArchiveKey(v, ModuleArchive{"tar.gz", "a1", "", 0, ""}):                    "registry/modules/acme/vpc/aws/1.0.0/a1.tar.gz",
		provider.PackageKey(v, Package{Platform: Platform{"linux", "arm"}, SHA256: "b2"}): "registry/providers/acme/widget/1.0.0/b2/terraform-provider-widget_1.0.0+b_linux_arm.zip",
		provider.SHA256SUMSKey(v, release):                                                "registry/providers/acme/widget/1.0.0/5e/terraform-provider-widget_1.0.0+b_SHA256SUMS",
		provider.SignatureKey(v, release):                                                 "registry/providers/acme/widget/1.0.0/51/terraform-provider-widget_1.0.0+b_SHA256SUMS.sig",
		mirrored.LogPrefix(v):                                                             "registry/records/mirror/registry.terraform.io/acme/widget/1.0.0/",
		mirrored.PackageKey(v, Package{Platform: Platform{"linux", "arm"}, SHA256: "b2"}): "registry/mirror/registry.terraform.io/acme/widget/1.0.0/b2/terraform-provider-widget_1.0.0+b_linux_arm.zip",
		OwnKeyKey("F0"):                       "registry/keys/own/F0.asc",
		AuthorKeysPrefix("acme"):              "registry/keys/authors/acme/",
		AuthorKeyKey("acme", "F0", "c3"):      "registry/keys/authors/acme/F0/c3.asc",
		RevokedKeyKey("F0"):                   "registry/keys/untrusted/F0/revoked.asc",
		DistrustedKeyKey("F0"):                "registry/keys/untrusted/F0/distrusted.json",
		OutcomeKey("modules/a/b/c/1.0.0.zip"): "registry/outcomes/modules/a/b/c/1.0.0.zip.json",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestParseAuthorKeyKey(t *testing.T) {
	for key, want := range map[string]bool{
		AuthorKeyKey("acme", "F0", "c3"):          true,
		"registry/keys/authors/acme/F0":           false,
		"registry/keys/authors/acme/F0/c3/d4.asc": false,
		OwnKeyKey("F0"):                           false,
		RevokedKeyKey("F0"):                       false,
	} {
		namespace, fingerprint, ok := ParseAuthorKeyKey(key)
		if ok != want || ok && (namespace != "acme" || fingerprint != "F0") || !ok && namespace+fingerprint != "" {
			t.Errorf("%s reads as %q, %q, %v", key, namespace, fingerprint, ok)
		}
	}
}

func TestLongestKeyFitsS3(t *testing.T) {
	part := strings.Repeat("a", 64)
	a, err := ParseMirroredAddress(strings.Repeat("a.", 125)+"com", part, part)
	if err != nil {
		t.Fatal(err)
	}
	v := version(t, "1.0.0-"+strings.Repeat("a", MaxVersionLength-len("1.0.0-")))
	platform, err := ParsePlatform(part[:32], part[:32])
	if err != nil {
		t.Fatal(err)
	}
	if key := a.PackageKey(v, Package{Platform: platform, SHA256: part}); len(key) > 1024 {
		t.Errorf("a key has %d bytes, S3 takes 1024", len(key))
	}
}

func TestParseRecordKey(t *testing.T) {
	module, err := ParseRecordKey("registry/records/modules/acme/vpc/aws/1.0.0-rc.1/00000007.json")
	if err != nil || module.Provider != nil || module.Module == nil || *module.Module != (ModuleAddress{"acme", "vpc", "aws"}) ||
		module.Version.String() != "1.0.0-rc.1" || module.Sequence != 7 {
		t.Errorf("a module's record: %+v, %v", module, err)
	}
	provider, err := ParseRecordKey("registry/records/providers/acme/widget/1.0.0/00000001.json")
	if err != nil || provider.Module != nil || provider.Provider == nil || *provider.Provider != (ProviderAddress{Namespace: "acme", Type: "widget"}) ||
		provider.Version.String() != "1.0.0" || provider.Sequence != 1 {
		t.Errorf("a provider's record: %+v, %v", provider, err)
	}
}

func TestParseRecordKeyOfAMirror(t *testing.T) {
	key := "registry/records/mirror/registry.terraform.io/acme/widget/1.0.0/00000001.json"
	mirrored, err := ParseRecordKey(key)
	if err != nil || mirrored.Module != nil || *mirrored.Provider != (ProviderAddress{"registry.terraform.io", "acme", "widget"}) ||
		RecordKey(mirrored.LogPrefix(), mirrored.Sequence) != key {
		t.Errorf("a mirrored provider's record: %+v, %v", mirrored, err)
	}
}

func TestParseRecordKeyRefuses(t *testing.T) {
	for _, key := range []string{
		"",
		"registry/records/",
		"modules/acme/vpc/aws/1.0.0/00000001.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/",
		"registry/records/modules/acme/vpc/aws/1.0.0/1.json",
		"registry/records/mirror/acme/widget/1.0.0/00000001.json",
		"registry/records/mirror/Registry.terraform.io/acme/widget/1.0.0/00000001.json",
		"registry/records/mirror/example.com:8443/acme/widget/1.0.0/00000001.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/00000000.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/-0000001.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/+0000001.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/00000001",
		"registry/records/modules/acme/vpc/aws/1.0.0/00000001.json.json",
		"registry/records/modules/acme/vpc/aws/1.0.0/x/00000001.json",
		"registry/records/modules/acme/vpc/aws/1.0/00000001.json",
		"registry/records/modules/acme/vpc/aws/1.0.0+b/00000001.json",
		"registry/records/modules/Acme/vpc/aws/1.0.0/00000001.json",
		"registry/records/modules/acme/vpc/aws//00000001.json",
		"registry/records/modules/acme/widget/1.0.0/00000001.json",
		"registry/records/providers/acme/widget/v1.0.0/00000001.json",
		"registry/records/providers/acme/Widget/1.0.0/00000001.json",
		"registry/records/providers/acme/vpc/aws/1.0.0/00000001.json",
		"registry/records/keys/acme/widget/1.0.0/00000001.json",
	} {
		if parsed, err := ParseRecordKey(key); err == nil || parsed != (ParsedRecordKey{}) {
			t.Errorf("%q was accepted as %+v", key, parsed)
		}
	}
}

func FuzzParseRecordKey(f *testing.F) {
	f.Add("registry/records/modules/acme/vpc/aws/1.0.0/00000001.json")
	f.Add("registry/records/providers/acme/widget/1.0.0-rc.1/00000123.json")
	f.Add("registry/records/providers/acme/widget/1.0.0+b/-0000001.json")
	f.Add("registry/records/modules/a/b/c//1.0.0/00000001.json")
	f.Fuzz(func(t *testing.T, key string) {
		parsed, err := ParseRecordKey(key)
		if err != nil {
			return
		}
		var prefix string
		switch {
		case parsed.Module != nil && parsed.Provider == nil:
			prefix = parsed.Module.LogPrefix(parsed.Version)
		case parsed.Provider != nil && parsed.Module == nil:
			prefix = parsed.Provider.LogPrefix(parsed.Version)
		default:
			t.Fatalf("%q has not one address: %+v", key, parsed)
		}
		if back := RecordKey(prefix, parsed.Sequence); back != key || parsed.Sequence < 1 {
			t.Errorf("%q was read as %q", key, back)
		}
	})
}
