package versionlog_test

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

func onBothCatalogs(t *testing.T, test func(w *world)) {
	t.Helper()
	publishtest.OnBothCatalogs(t, func(w *publishtest.World) { test(&world{w}) })
}
