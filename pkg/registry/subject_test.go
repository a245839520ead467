package registry

import "testing"

func TestSubject(t *testing.T) {
	v := version(t, "1.0.0+b")
	for want, address := range map[string]Address{
		"module acme/vpc/aws":                        ModuleAddress{"acme", "vpc", "aws"},
		"provider acme/widget":                       ProviderAddress{Namespace: "acme", Type: "widget"},
		"provider registry.terraform.io/acme/widget": ProviderAddress{"registry.terraform.io", "acme", "widget"},
	} {
		subject := Subject{address, v}
		if got := subject.String(); got != want+" 1.0.0+b" {
			t.Errorf("%s 1.0.0+b is called %s", want, got)
		}
		if got := (Subject{Address: address}).String(); got != want {
			t.Errorf("%s is called %s", want, got)
		}
		if s := subject.New(); s.Subject() != subject || s.Listed().Revision != 0 || s.NextRecordKey() != RecordKey(subject.LogPrefix(), 1) {
			t.Errorf("a version of %s before its first record is %+v, and its next record %s", want, s, s.NextRecordKey())
		}
		parsed, err := ParseAddress(address.Folder(), address.String())
		if err != nil || parsed != address {
			t.Errorf("%s in %s is read as %v, %v", address, address.Folder(), parsed, err)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, tt := range []struct {
		folder  Folder
		address string
	}{
		{Modules, "acme/widget"}, {Modules, "acme/vpc/aws/x"}, {Modules, "acme/v pc/aws"}, {Modules, ""},
		{Providers, "acme"}, {Providers, "registry.terraform.io/acme/widget"}, {Providers, "acme/Widget"},
		{Mirror, "acme/widget"}, {Mirror, "localhost/acme/widget"}, {Mirror, "registry.terraform.io/acme/widget/x"},
		{"keys", "acme/widget"}, {"", "acme/widget"},
	} {
		if a, err := ParseAddress(tt.folder, tt.address); err == nil {
			t.Errorf("%s in %s is read as %v", tt.address, tt.folder, a)
		}
	}
}

// A module version is listed at once, a provider version as soon as one of its packages
// can be served, and a mirrored one as soon as it has a package.
func TestListable(t *testing.T) {
	pkg := Record{Kind: KindPackage, Version: version(t, "1.0.0"), Package: &Package{Platform: Platform{"linux", "amd64"}}}
	other := Record{Kind: KindPackage, Version: version(t, "1.0.0"), Package: &Package{Platform: Platform{"linux", "arm64"}}}
	manifest := Record{Kind: KindManifest, Version: version(t, "1.0.0"), Manifest: &Manifest{}}
	release := Record{Kind: KindRelease, Version: version(t, "1.0.0"), Release: &Release{}}
	archive := Record{Kind: KindModule, Version: version(t, "1.0.0"), Module: &ModuleArchive{}}
	provider, mirrored := ProviderAddress{Namespace: "acme", Type: "widget"}, ProviderAddress{"example.com", "acme", "widget"}
	for name, tt := range map[string]struct {
		address Address
		log     []Record
		want    bool
	}{
		"a module":              {ModuleAddress{"acme", "vpc", "aws"}, []Record{archive}, true},
		"nothing":               {provider, nil, false},
		"a manifest":            {provider, []Record{manifest}, false},
		"an unsigned package":   {provider, []Record{pkg}, false},
		"a package to come":     {provider, []Record{release}, false},
		"a signed package":      {provider, []Record{pkg, release}, true},
		"another to be signed":  {provider, []Record{pkg, release, other}, true},
		"what a mirror has":     {mirrored, []Record{pkg}, true},
		"a mirror with nothing": {mirrored, nil, false},
	} {
		state := tt.address.New(version(t, "1.0.0"))
		for _, r := range tt.log {
			if err := state.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := state.Listable(); got != tt.want {
			t.Errorf("%s: listable is %t", name, got)
		}
		if _, module := state.(*ModuleVersion); !module && tt.want != (len(state.Listed().Platforms) > 0) {
			t.Errorf("%s: it is listed with %v", name, state.Listed().Platforms)
		}
	}
}
