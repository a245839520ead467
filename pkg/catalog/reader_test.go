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

func (c *oneVersion) Listing(context.Context, registry.Address, *access.Lookup) (Snapshot[*registry.Listing], error) {
	c.reads++
	return oneListed(c.version), nil
}

func (c *oneVersion) State(context.Context, registry.Subject, *access.Lookup) (Snapshot[registry.State], error) {
	c.reads++
	return onlyVersion(c.version), nil
}

// oneListed is the snapshot of a listing with one version.
func oneListed(v registry.Version) Snapshot[*registry.Listing] {
	return NewSnapshot([]byte(v.String()), func(_ []byte, into *registry.Listing) error {
		*into = registry.Listing{{Version: v}}
		return nil
	})
}

// onlyVersion is the snapshot of a state with nothing but a version.
func onlyVersion(v registry.Version) Snapshot[registry.State] {
	return NewSnapshot([]byte(v.String()), func(_ []byte, into registry.State) error {
		switch s := into.(type) {
		case *registry.ModuleVersion:
			*s = registry.ModuleVersion{Address: s.Address, Version: v}
		case *registry.ProviderVersion:
			*s = registry.ProviderVersion{Address: s.Address, Version: v}
		}
		return nil
	})
}

// decoded is the error of a question and, if it has an answer, that of decoding it.
func decoded[T any](found Snapshot[*T], err error) error {
	if err != nil {
		return err
	}
	return found.Decode(new(T))
}

// questions asks a reader everything there is to ask.
func questions(r *Reader, caller access.Caller, v registry.Version) map[string]error {
	ctx, answers := context.Background(), map[string]error{}
	answers["Listing of a module"] = decoded(r.Listing(ctx, caller, registry.ModuleAddress{}))
	answers["ModuleVersion"] = decoded(r.ModuleVersion(ctx, caller, registry.ModuleAddress{}, v))
	answers["Listing of a provider"] = decoded(r.Listing(ctx, caller, registry.ProviderAddress{}))
	answers["ProviderVersion"] = decoded(r.ProviderVersion(ctx, caller, registry.ProviderAddress{}, v))
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
