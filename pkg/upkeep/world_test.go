package upkeep_test

import (
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
)

// world is a registry and its users, with what the tests of this room need besides.
type world struct{ *publishtest.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{publishtest.NewWorld(t)}
}

// withDirectory builds the directory, as the start of a registry does.
func (w *world) withDirectory() {
	w.Helper()
	if err := w.BuildDirectory(w.Context()); err != nil {
		w.Fatal(err)
	}
}

func newWorldOn(t *testing.T, openStorage func(*testing.T) publishtest.Storage, openCatalog func(*testing.T) publishtest.EmptyCatalog) *world {
	t.Helper()
	return &world{publishtest.NewWorldOn(t, openStorage, openCatalog)}
}

func onBothCatalogs(t *testing.T, test func(w *world)) {
	t.Helper()
	publishtest.OnBothCatalogs(t, func(w *publishtest.World) { test(&world{w}) })
}
