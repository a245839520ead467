package registry

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/larder-registry/larder/pkg/access"
)

// oneVersion is a catalog that holds one version, and counts what is asked.
type oneVersion struct {
	version Version
	reads   int
}

func (c *oneVersion) ModuleVersions(context.Context, ModuleAddress) (Listing, error) {
	c.reads++
	return Listing{{Version: c.version}}, nil
}

func (c *oneVersion) ModuleVersion(context.Context, ModuleAddress, Version) (ModuleVersion, error) {
	c.reads++
	return ModuleVersion{Version: c.version}, nil
}

func (c *oneVersion) ProviderVersions(context.Context, ProviderAddress) (Listing, error) {
	c.reads++
	return Listing{{Version: c.version}}, nil
}

func (c *oneVersion) ProviderVersion(context.Context, ProviderAddress, Version) (ProviderVersion, error) {
	c.reads++
	return ProviderVersion{Version: c.version}, nil
}

// questions asks a reader everything there is to ask.
func questions(r *Reader, caller access.Caller, v Version) map[string]error {
	ctx, answers := context.Background(), map[string]error{}
	_, answers["ModuleVersions"] = r.ModuleVersions(ctx, caller, ModuleAddress{})
	_, answers["ModuleVersion"] = r.ModuleVersion(ctx, caller, ModuleAddress{}, v)
	_, answers["ProviderVersions"] = r.ProviderVersions(ctx, caller, ProviderAddress{})
	_, answers["ProviderVersion"] = r.ProviderVersion(ctx, caller, ProviderAddress{}, v)
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
		if err := answers["ModuleVersion"]; !errors.Is(err, ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("module %s: %v", other, err)
		}
		if err := answers["ProviderVersion"]; !errors.Is(err, ErrNotFound) || !errors.Is(err, ErrOtherBuild) {
			t.Errorf("provider %s: %v", other, err)
		}
	}
}
