package inbox_test

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

func newWorldOn(t *testing.T, openStorage func(*testing.T) publishtest.Storage, openCatalog func(*testing.T) publishtest.EmptyCatalog) *world {
	t.Helper()
	return &world{publishtest.NewWorldOn(t, openStorage, openCatalog)}
}
