package publishtest

import (
	"log/slog"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// InDirectory is what lists and searches have: "acme/vpc/aws 1.1.0 of 2: what it says".
func (w *World) InDirectory() (found []string) {
	w.Helper()
	view := directory.NewView(catalog.NewReader(catalog.ReaderConfig{Catalog: w.Index, Directory: w.Index, Logger: slog.New(slog.DiscardHandler)}))
	for _, folder := range []registry.Folder{registry.Modules, registry.Providers} {
		page, err := view.List(w.Context(), access.Anyone, directory.Query{Folder: folder, Limit: 100})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range page.Entries {
			line := e.Address.String() + " " + e.Newest.String()
			if e.Description != "" {
				line += ": " + e.Description
			}
			found = append(found, line)
		}
	}
	return found
}
