package catalog

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// oneVersion is a catalog that holds one version, and counts what is asked.
type oneVersion struct {
	version registry.Version
	reads   int
}

func (c *oneVersion) Listing(context.Context, registry.Address, *access.Lookup) (registry.Listing, error) {
	c.reads++
	return registry.Listing{{Version: c.version}}, nil
}

func (c *oneVersion) Load(_ context.Context, s registry.State, _ *access.Lookup) error {
	c.reads++
	setVersion(s, c.version)
	return nil
}

// setVersion fills a state with nothing but a version.
func setVersion(s registry.State, v registry.Version) {
	switch s := s.(type) {
	case *registry.ModuleVersion:
		*s = registry.ModuleVersion{Address: s.Address, Version: v}
	case *registry.ProviderVersion:
		*s = registry.ProviderVersion{Address: s.Address, Version: v}
	}
}

// questions asks a reader everything there is to ask.
func questions(r *Reader, caller access.Caller, v registry.Version) map[string]error {
	ctx, answers := context.Background(), map[string]error{}
	_, answers["Listing of a module"] = r.Listing(ctx, caller, registry.ModuleAddress{})
	_, answers["ModuleVersion"] = r.ModuleVersion(ctx, caller, registry.ModuleAddress{}, v)
	_, answers["Listing of a provider"] = r.Listing(ctx, caller, registry.ProviderAddress{})
	_, answers["ProviderVersion"] = r.ProviderVersion(ctx, caller, registry.ProviderAddress{}, v)
	return answers
}

func TestReaderRefusesNobody(t *testing.T) {
	catalog := &oneVersion{version: registrytest.Version(t, "1.0.0")}
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
	catalog := &oneVersion{version: registrytest.Version(t, "1.0.0+b")}
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
	catalog := &oneVersion{version: registrytest.Version(t, "1.0.0+b")}
	for _, other := range []string{"1.0.0", "1.0.0+c"} {
		answers := questions(NewReader(ReaderConfig{Catalog: catalog, Logger: slog.New(slog.DiscardHandler)}), access.Anyone, registrytest.Version(t, other))
		if err := answers["ModuleVersion"]; !errors.Is(err, registry.ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("module %s: %v", other, err)
		}
		if err := answers["ProviderVersion"]; !errors.Is(err, registry.ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("provider %s: %v", other, err)
		}
	}
}
