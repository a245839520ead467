package registry

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	module, provider := ModuleAddress{"acme", "vpc", "aws"}, ProviderAddress{Namespace: "acme", Type: "widget"}
	mirrored := ProviderAddress{"registry.terraform.io", "acme", "widget"}
	v := version(t, "1.0.0+b")
	release := Release{SHA256: "5e", Signature: "51"}
	for got, want := range map[string]string{
		Subject{module, v}.LogPrefix():                                                    "registry/records/modules/acme/vpc/aws/1.0.0/",
		Subject{provider, v}.LogPrefix():                                                  "registry/records/providers/acme/widget/1.0.0/",
		RecordKey(Subject{provider, v}.LogPrefix(), 12):                                   "registry/records/providers/acme/widget/1.0.0/00000012.json",
		module.ArchiveKey(v, ModuleArchive{Format: "tar.gz", SHA256: "a1"}):               "registry/modules/acme/vpc/aws/1.0.0/a1.tar.gz",
		provider.PackageKey(v, Package{Platform: Platform{"linux", "arm"}, SHA256: "b2"}): "registry/providers/acme/widget/1.0.0/b2/terraform-provider-widget_1.0.0+b_linux_arm.zip",
		provider.DocsKey(v, Docs{SHA256: "d0"}):                                           "registry/providers/acme/widget/1.0.0/d0/terraform-provider-widget_1.0.0+b_docs.zip",
		provider.SHA256SUMSKey(v, release):                                                "registry/providers/acme/widget/1.0.0/5e/terraform-provider-widget_1.0.0+b_SHA256SUMS",
		provider.SignatureKey(v, release):                                                 "registry/providers/acme/widget/1.0.0/51/terraform-provider-widget_1.0.0+b_SHA256SUMS.sig",
		Subject{mirrored, v}.LogPrefix():                                                  "registry/records/mirror/registry.terraform.io/acme/widget/1.0.0/",
		mirrored.PackageKey(v, Package{Platform: Platform{"linux", "arm"}, SHA256: "b2"}): "registry/mirror/registry.terraform.io/acme/widget/1.0.0/b2/terraform-provider-widget_1.0.0+b_linux_arm.zip",
		provider.UploadKey("x.zip"):                                                       "providers/acme/widget/x.zip",
		mirrored.UploadKey("x.zip"):                                                       "mirror/registry.terraform.io/acme/widget/x.zip",
		OwnKeyKey("F0"):                                                                   "registry/keys/own/F0.asc",
		AuthorKeysPrefix("acme"):                                                          "registry/keys/authors/acme/",
		AuthorKeyKey("acme", "F0", "c3"):                                                  "registry/keys/authors/acme/F0/c3.asc",
		RevokedKeyKey("F0"):                                                               "registry/keys/untrusted/F0/revoked.asc",
		DistrustedKeyKey("F0"):                                                            "registry/keys/untrusted/F0/distrusted.json",
		OutcomeKey("modules/a/b/c/1.0.0.zip"):                                             "registry/outcomes/modules/a/b/c/1.0.0.zip.json",
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
		"acme/F0/c3.asc":                          false,
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
	for key, want := range map[string]ParsedRecordKey{
		"registry/records/modules/acme/vpc/aws/1.0.0-rc.1/00000007.json":                {Subject{ModuleAddress{"acme", "vpc", "aws"}, version(t, "1.0.0-rc.1")}, 7},
		"registry/records/providers/acme/widget/1.0.0/00000001.json":                    {Subject{ProviderAddress{Namespace: "acme", Type: "widget"}, version(t, "1.0.0")}, 1},
		"registry/records/mirror/registry.terraform.io/acme/widget/1.0.0/00000001.json": {Subject{ProviderAddress{"registry.terraform.io", "acme", "widget"}, version(t, "1.0.0")}, 1},
	} {
		got, err := ParseRecordKey(key)
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", key, got, err, want)
		}
		if back := RecordKey(got.LogPrefix(), got.Sequence); back != key {
			t.Errorf("%s was read as %s", key, back)
		}
	}
}

func TestParseRecordKeyRefuses(t *testing.T) {
	for _, key := range []string{
		"",
		"registry/records/",
		"registry/records/modules",
		"registry/records/modules/acme",
		"registry/records/providers/acme",
		"registry/records/mirror/registry.terraform.io",
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

// The error says what is wrong with a key.
func TestParseRecordKeySaysWhy(t *testing.T) {
	for key, want := range map[string]string{
		"registry/records/modules/acme/vpc/a-b/1.0.0/00000001.json":         "is not a module address",
		"registry/records/providers/acme/Widget/1.0.0/00000001.json":        "must be lower-case ASCII",
		"registry/records/mirror/localhost/acme/widget/1.0.0/00000001.json": "is not the hostname of a registry",
		"registry/records/modules/acme/vpc/aws/1.0/00000001.json":           "is not a full semantic version",
		"registry/records/modules/acme/vpc/aws/1.0.0/x.json":                "it has no number",
		"registry/records/modules/acme/vpc/aws/1.0.0/1.json":                "it would be",
		"records/modules/acme/vpc/aws/1.0.0/00000001.json":                  "is not the key of a record",
	} {
		if _, err := ParseRecordKey(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", key, err, want)
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
		if back := RecordKey(parsed.LogPrefix(), parsed.Sequence); back != key || parsed.Sequence < 1 {
			t.Errorf("%q was read as %q", key, back)
		}
	})
}

func TestOutcomeKey(t *testing.T) {
	long := strings.Repeat("x", 250)
	for upload, own := range map[string]bool{
		"modules/Acme/vpc/aws/1.0.0.tar.gz":     true,
		"modules/acme/vpc/aws/v1.zip":           true, // rejected, with an outcome where the uploader looks for it
		"modules/acme/vpc/aws/1.0.0.json.zip":   true,
		"modules/acme/vpc/aws/1.0.0.tgz.json":   true,
		"keys/acme/Jürgen's key, 2026.asc":      true,
		"keys/acme/" + long:                     true,
		"keys/acme/" + long + "x":               false,
		strings.Repeat("a/", 500) + "a":         true,  // 1,024 bytes with what comes around it
		strings.Repeat("a/", 500) + "ab":        false, // and 1,025
		"x.json":                                true,
		".json":                                 true,
		"modules/acme/vpc/aws/1.0.0.tgz.json/x": false,
		"modules/acme/vpc/aws/1.0.0.tgz.JSON/x": false,
		"x.json/y":                              false,
		".json/y":                               false,
		"a//b":                                  false,
		"/a":                                    false,
		"a/":                                    false,
		"":                                      false,
		"a/./b":                                 false,
		"a/../b":                                false,
		"..":                                    false,
		"a\nb":                                  false,
		"a\x7f":                                 false,
		"a\xff":                                 false,

		// The folder of a version may end as a document does.
		"providers/acme/widget/1.0.0-rc.json/terraform-provider-widget_1.0.0-rc.json_linux_amd64.zip": true,
		"providers/acme/widget/1.0.0-rc":              false,
		"providers/acme/1.0.0-rc":                     true,
		"providers/acme/widget/1.0.0+b":               false,
		"providers/acme/widget/1.0.0":                 true,
		"providers/acme/widget/1.0.0-rc/x":            true,
		"providers/acme/widget/README.md":             true,
		"providers/acme/widget/1.0.0.json/x.zip":      false,
		"providers/acme/widget/1.0.0-rc.json/a/x.zip": false,
		"modules/acme/widget/1.0.0-rc.json/x.zip":     false,
		"mirror/acme/widget/1.0.0-rc":                 true,
	} {
		got := OutcomeKey(upload)
		if is := got == "registry/outcomes/"+upload+".json"; is != own {
			t.Errorf("the outcome of %q is %s", upload, got)
		}
		if !own && !regexp.MustCompile(`^registry/outcomes-by-sha256/[0-9a-f]{64}\.json$`).MatchString(got) {
			t.Errorf("the outcome of %q is %s", upload, got)
		}
	}
}

// A file system can hold the outcomes of any two keys at once, also if it ignores case.
func FuzzOutcomesAreNotInEachOthersWay(f *testing.F) {
	f.Add("modules/a/b/c/1.0.0.tgz", "modules/a/b/c/1.0.0.tgz.json/x")
	f.Add("modules/a/b/c/1.0.0.tgz", "modules/a/b/c/1.0.0.tgz.JSON/x")
	f.Add("providers/a/b/1.0.0-rc", "providers/a/b/1.0.0-rc.json/terraform-provider-b_1.0.0-rc.json_linux_amd64.zip")
	f.Add("providers/a/b/1.0.0-rc", "providers/a/b/1.0.0-rc.JSON/x")
	f.Add("x", "x.json/../y")
	f.Add("outcomes-by-sha256/", "")
	f.Fuzz(func(t *testing.T, one, other string) {
		if one == other {
			return
		}
		a, b := OutcomeKey(one), OutcomeKey(other)
		if a == b {
			t.Errorf("%q and %q have one outcome, %s", one, other, a)
		}
		for _, key := range []string{a, b} {
			if path.Clean(key) != key || len(key) > 1024 || len(path.Base(key)) > 255 {
				t.Errorf("%s is not the path of a file", key)
			}
		}
		a, b = strings.ToLower(a), strings.ToLower(b)
		if strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/") {
			t.Errorf("%q and %q: %s or %s is the folder of the other", one, other, a, b)
		}
	})
}
