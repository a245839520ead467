package catalog

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

func version(t testing.TB, text string) registry.Version {
	t.Helper()
	v, err := registry.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// oneVersion is a catalog that holds one version, and counts what is asked.
type oneVersion struct {
	version registry.Version
	reads   int
}

func (c *oneVersion) ModuleVersions(context.Context, registry.ModuleAddress) (registry.Listing, error) {
	c.reads++
	return registry.Listing{{Version: c.version}}, nil
}

func (c *oneVersion) ModuleVersion(context.Context, registry.ModuleAddress, registry.Version) (registry.ModuleVersion, error) {
	c.reads++
	return registry.ModuleVersion{Version: c.version}, nil
}

func (c *oneVersion) ProviderVersions(context.Context, registry.ProviderAddress) (registry.Listing, error) {
	c.reads++
	return registry.Listing{{Version: c.version}}, nil
}

func (c *oneVersion) ProviderVersion(context.Context, registry.ProviderAddress, registry.Version) (registry.ProviderVersion, error) {
	c.reads++
	return registry.ProviderVersion{Version: c.version}, nil
}

// questions asks a reader everything there is to ask.
func questions(r *Reader, caller access.Caller, v registry.Version) map[string]error {
	ctx, answers := context.Background(), map[string]error{}
	_, answers["ModuleVersions"] = r.ModuleVersions(ctx, caller, registry.ModuleAddress{})
	_, answers["ModuleVersion"] = r.ModuleVersion(ctx, caller, registry.ModuleAddress{}, v)
	_, answers["ProviderVersions"] = r.ProviderVersions(ctx, caller, registry.ProviderAddress{})
	_, answers["ProviderVersion"] = r.ProviderVersion(ctx, caller, registry.ProviderAddress{}, v)
	return answers
}

func TestReaderRefusesNobody(t *testing.T) {
	catalog := &oneVersion{version: version(t, "1.0.0")}
	for question, err := range questions(NewReader(ReaderConfig{Catalog: catalog, Logger: slog.New(slog.DiscardHandler)}), access.Caller{}, catalog.version) {
		if !errors.Is(err, ErrUnauthorized) {
			t.Errorf("%s: %v, want ErrUnauthorized", question, err)
		}
	}
	if catalog.reads != 0 {
		t.Errorf("the catalog was read %d times", catalog.reads)
	}
}

func TestReaderReadsOncePerQuestion(t *testing.T) {
	catalog := &oneVersion{version: version(t, "1.0.0+b")}
	answers := questions(NewReader(ReaderConfig{Catalog: catalog, Logger: slog.New(slog.DiscardHandler)}), access.Anyone, catalog.version)
	for question, err := range answers {
		if err != nil {
			t.Errorf("%s: %v", question, err)
		}
	}
	if catalog.reads != len(answers) {
		t.Errorf("%d questions took %d reads", len(answers), catalog.reads)
	}
}

func TestReaderTellsBuildMetadataApart(t *testing.T) {
	catalog := &oneVersion{version: version(t, "1.0.0+b")}
	for _, other := range []string{"1.0.0", "1.0.0+c"} {
		answers := questions(NewReader(ReaderConfig{Catalog: catalog, Logger: slog.New(slog.DiscardHandler)}), access.Anyone, version(t, other))
		if err := answers["ModuleVersion"]; !errors.Is(err, registry.ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("module %s: %v", other, err)
		}
		if err := answers["ProviderVersion"]; !errors.Is(err, registry.ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("provider %s: %v", other, err)
		}
	}
}
