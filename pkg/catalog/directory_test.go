package catalog

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/registry"
)

// DirectoryHead implements Directory.
func (w *withTokens) DirectoryHead(_ context.Context, lookup *access.Lookup) (head DirectoryHead, err error) {
	if err := w.answer(lookup); err != nil {
		return head, err
	}
	head[7] = 3
	return head, nil
}

// DirectoryShards implements Directory.
func (w *withTokens) DirectoryShards(_ context.Context, numbers []int) (shards []DirectoryShard, err error) {
	for _, number := range numbers {
		shards = append(shards, DirectoryShard{Number: number})
	}
	return shards, w.failsData
}

func newDirectoryGate(t *testing.T, remember time.Duration) *gate {
	t.Helper()
	g := newGate(t, remember)
	g.Reader.directory = g.withTokens
	return g
}

var (
	vpc      = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
	widget   = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	mirrored = registry.ProviderAddress{Hostname: "registry.terraform.io", Namespace: "hashicorp", Type: "time"}
)

// list asks for the directory, and says how it was asked for that, and which of three
// addresses the caller may know of.
func (g *gate) list(t *testing.T, caller access.Caller) (asked, allowed string, err error) {
	t.Helper()
	g.asked = nil
	admitted, err := g.Reader.Directory(t.Context(), caller)
	if err != nil {
		if admitted.Allowed != nil || admitted.Head != (DirectoryHead{}) {
			t.Errorf("with %v: %v", err, admitted)
		}
		return strings.Join(g.asked, ", "), "", err
	}
	if admitted.Head[7] != 3 {
		t.Errorf("the head is %v", admitted.Head)
	}
	var all []string
	for _, a := range []registry.Address{vpc, widget, mirrored} {
		if admitted.Allowed(a) {
			all = append(all, a.String())
		}
	}
	return strings.Join(g.asked, ", "), strings.Join(all, " "), nil
}

func TestDirectoryForEveryCaller(t *testing.T) {
	g := newDirectoryGate(t, time.Minute)
	stale := g.issue(t, "read *")
	expired := g.issued[stale]
	expired.Expires = g.at
	g.issued[stale] = expired
	_, unknown := access.NewToken()
	log := func(who, rest string) string {
		return "level=INFO msg=access who=" + who + " what=list allowed=" + rest + "\n"
	}
	who := func(id access.ID) string { return `"token \"ci\" of alice (` + id.Short() + `)"` }
	all, modules, nothing := g.issue(t, "read *"), g.issue(t, "read modules:acme/*", "read providers:other/*"), g.issue(t, "read modules:none/*")
	for name, tt := range map[string]struct {
		caller         access.Caller
		err            error
		asked, allowed string
		log            string
	}{
		"anyone":   {access.Anyone, nil, "alone", "acme/vpc/aws acme/widget registry.terraform.io/hashicorp/time", ""},
		"nobody":   {access.Caller{}, ErrUnauthorized, "", "", log("nobody", `false why="there is no token"`)},
		"no token": {access.Authenticate([]string{"Basic x"}), ErrUnauthorized, "", "", log("nobody", `false why="the Authorization header has no bearer token"`)},
		"unknown":  {access.Bearer(unknown), ErrUnauthorized, "beside", "", log(`"unknown token (`+unknown.Short()+`)"`, `false why="the token that was sent is unknown here, or was revoked"`)},
		"expired":  {access.Bearer(stale), ErrUnauthorized, "beside", "", log(who(stale), `false why="the token that was sent has expired"`)},
		"nothing":  {access.Bearer(nothing), nil, "beside, use 2026-11-21", "", log(who(nothing), `true why=""`)},
		"modules":  {access.Bearer(modules), nil, "beside, use 2026-11-21", "acme/vpc/aws", log(who(modules), `true why=""`)},
		"all":      {access.Bearer(all), nil, "beside, use 2026-11-21", "acme/vpc/aws acme/widget registry.terraform.io/hashicorp/time", log(who(all), `true why=""`)},
	} {
		g.log.Reset()
		asked, allowed, err := g.list(t, tt.caller)
		if !errors.Is(err, tt.err) || asked != tt.asked || allowed != tt.allowed || g.log.String() != tt.log {
			t.Errorf("%s: %v, asked %q, allowed %q, logged %s, want %+v", name, err, asked, allowed, g.log.String(), tt)
		}
	}
}

// A token is remembered from one kind of question to the other.
func TestDirectoryRemembers(t *testing.T) {
	g := newDirectoryGate(t, time.Minute)
	one, other := g.issue(t, "read modules:*"), g.issue(t, "read providers:*")
	for range 2 {
		if asked, allowed, err := g.list(t, access.Bearer(one)); err != nil || allowed != "acme/vpc/aws" {
			t.Errorf("asked %q, allowed %q, %v", asked, allowed, err)
		}
	}
	if asked, _, err := g.list(t, access.Bearer(one)); err != nil || asked != "alone" {
		t.Errorf("the third time: asked %q, %v", asked, err)
	}
	if _, err := g.ask(t, access.Bearer(one)); !errors.Is(err, ErrDenied) {
		t.Errorf("a provider is read: %v", err)
	}
	if asked, err := g.ask(t, access.Bearer(other)); err != nil || asked != "beside, use 2026-11-21" {
		t.Errorf("asked %q, %v", asked, err)
	}
	if asked, allowed, err := g.list(t, access.Bearer(other)); err != nil || asked != "alone" || allowed != "acme/widget" {
		t.Errorf("asked %q, allowed %q, %v", asked, allowed, err)
	}
	g.at = g.at.Add(time.Hour)
	if _, _, err := g.list(t, access.Bearer(other)); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("after the token has expired: %v", err)
	}
}

// An outage is not a refusal, and is not remembered. Without a directory, nothing is asked.
func TestDirectoryThatFails(t *testing.T) {
	broken := errors.New("broken")
	g := newDirectoryGate(t, time.Minute)
	id := g.issue(t, "read *")
	for _, fails := range []*error{&g.failsWhole, &g.failsData} {
		*fails = broken
		for _, caller := range []access.Caller{access.Anyone, access.Bearer(id)} {
			if _, _, err := g.list(t, caller); !errors.Is(err, broken) || errors.Is(err, ErrUnauthorized) || g.log.Len() > 0 {
				t.Errorf("%v, logged %s", err, g.log.String())
			}
		}
		if _, _, err := g.list(t, access.Caller{}); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("nobody: %v", err)
		}
		g.log.Reset()
		*fails = nil
	}
	g.failsData = broken
	if _, err := g.Reader.DirectoryShards(t.Context(), []int{1}); !errors.Is(err, broken) {
		t.Errorf("shards: %v", err)
	}
	g.failsData = nil
	if shards, err := g.Reader.DirectoryShards(t.Context(), []int{1, 9}); err != nil || len(shards) != 2 || shards[1].Number != 9 {
		t.Errorf("shards are %v, %v", shards, err)
	}
	g.Reader.uses = nil
	if _, _, err := g.list(t, access.Bearer(id)); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("without tokens: %v", err)
	}
	g.Reader.directory = nil
	_, shardsErr := g.Reader.DirectoryShards(t.Context(), []int{1})
	if _, _, err := g.list(t, access.Anyone); !errors.Is(err, errNoDirectory) || !errors.Is(shardsErr, errNoDirectory) {
		t.Errorf("without a directory: %v, %v", err, shardsErr)
	}
}
