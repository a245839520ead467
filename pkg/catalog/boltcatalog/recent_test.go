package boltcatalog_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"unsafe"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// A value is copied once, and not for each read, until somebody writes.
func TestRecentValues(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "catalog.db"))
	m := registry.ModuleVersion{Address: registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}, Version: registrytest.Version(t, "1.0.0"), Revision: 1}
	read := func() []byte {
		t.Helper()
		s, err := c.State(t.Context(), m.Subject(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Stored()
	}
	put := func(m registry.ModuleVersion) {
		t.Helper()
		if err := catalogtest.Put(t.Context(), c, m); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.State(t.Context(), m.Subject(), nil); !errors.Is(err, registry.ErrNotFound) {
		t.Fatal(err)
	}
	put(m)
	first, second := read(), read()
	if unsafe.SliceData(first) != unsafe.SliceData(second) {
		t.Error("the second read has copied the value")
	}
	other := m
	other.Version = registrytest.Version(t, "1.1.0")
	put(other)
	if third := read(); !bytes.Equal(third, first) {
		t.Errorf("another version changes %s to %s", first, third)
	}
	m.Revision = 2
	put(m)
	if fourth := read(); bytes.Equal(fourth, first) {
		t.Errorf("a new revision is read as %s", fourth)
	}
	missing := registry.Subject{Address: m.Address, Version: registrytest.Version(t, "9.0.0")}
	if _, err := c.State(t.Context(), missing, nil); !errors.Is(err, registry.ErrNotFound) {
		t.Error(err)
	}
}

// A token is what it is at that moment, also right after it was read.
func TestRecentTokens(t *testing.T) {
	a := newAccess(t)
	scopes, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		t.Fatal(err)
	}
	_, id := access.NewToken()
	want := access.Token{ID: id, Name: "ci", Owner: "ops", Scopes: scopes}
	check := func(what string, err error) {
		t.Helper()
		for range 2 {
			if got, errRead := a.Token(t.Context(), id); !errors.Is(errRead, err) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the token is %+v, %v, want %+v, %v", what, got, errRead, want, err)
			}
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check("before it is made", access.ErrNotFound)
	do(a.CreateToken(t.Context(), want))
	check("made", nil)
	do(a.NoteUse(t.Context(), id, "2026-11-22"))
	want.Used = "2026-11-22"
	check("used", nil)
	do(a.RevokeToken(t.Context(), id))
	check("revoked", access.ErrNotFound)
	want.Used = ""
	do(a.CreateToken(t.Context(), want))
	check("made again", nil)
}
