package boltcatalog_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/registry"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var made = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func openAccess(t testing.TB, path string) *boltcatalog.Access {
	t.Helper()
	a, err := boltcatalog.OpenAccess(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func newAccess(t testing.TB) *boltcatalog.Access {
	t.Helper()
	return openAccess(t, filepath.Join(t.TempDir(), "access.db"))
}

func token(t testing.TB, expires time.Time) access.Token {
	t.Helper()
	scopes, err := access.ParseScopes([]string{"read *"})
	if err != nil {
		t.Fatal(err)
	}
	_, id := access.NewToken()
	return access.Token{ID: id, Name: "ci", Owner: "alice", Origin: access.ByOperator, Scopes: scopes, Created: made, Expires: expires}
}

// kept is the path of a closed file with a token, a rule and a ticket in it,
// and the token.
func kept(t testing.TB) (string, access.Token) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.db")
	a, err := boltcatalog.OpenAccess(path)
	if err != nil {
		t.Fatal(err)
	}
	token := token(t, time.Time{})
	err = errors.Join(
		a.CreateToken(t.Context(), token),
		a.AddRule(t.Context(), access.Rule{Name: "ci", Scopes: token.Scopes}),
		a.KeepTicket(t.Context(), token.ID, []byte("data"), time.Now().Add(time.Hour)),
		a.Close(),
	)
	if err != nil {
		t.Fatal(err)
	}
	return path, token
}

func TestAccess(t *testing.T) {
	a := newAccess(t)
	catalogtest.Access(t, catalogtest.AccessDriver{Store: a, SetPage: a.SetPage, SetClock: a.SetClock})
}

func TestLookups(t *testing.T) {
	c, a := open(t, filepath.Join(t.TempDir(), "catalog.db")), newAccess(t)
	catalogtest.Lookups(t, catalogtest.LookupDriver{Index: c.WithTokens(a), Store: a})
}

// A catalog by itself finds no token, whatever the lookup has had before.
func TestNoTokens(t *testing.T) {
	c := open(t, filled(t, 1, 1))
	_, id := access.NewToken()
	for _, wanted := range []bool{true, false} {
		lookup := access.Lookup{ID: id, Token: &access.Token{ID: id}, Wanted: func(found *access.Token) bool { return wanted && found == nil }}
		listing, err := catalogtest.Listing(t.Context(), c, widget, &lookup)
		if lookup.Token != nil || (err == nil) != wanted || errors.Is(err, registry.ErrNotFound) == wanted || (len(listing) > 0) != wanted {
			t.Errorf("wanted %t: %v, %v, found %+v", wanted, listing, err, lookup.Token)
		}
	}
}

// TestAccessStays checks that tokens are there after the next start, without the
// catalog, in a file that is the owner's alone.
func TestAccessStays(t *testing.T) {
	path, want := kept(t)
	edit(t, path, func(tx *bbolt.Tx) error { // a ticket without data, good for ever
		return tx.Bucket([]byte("tickets")).Put([]byte(strings.Repeat("0", 2*len(want.ID))), bytes.Repeat([]byte{0x7f}, 8))
	})
	a := openAccess(t, path)
	if data, err := a.TakeTicket(t.Context(), access.ID{}); err != nil || len(data) > 0 {
		t.Errorf("the ticket without data is %q, %v", data, err)
	}
	if got, err := a.Token(t.Context(), want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the token is %+v, %v, want %+v", got, err, want)
	}
	if data, err := a.TakeTicket(t.Context(), want.ID); err != nil || string(data) != "data" {
		t.Errorf("the ticket is %q, %v", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v, want mode 0600", info.Mode(), err)
	}
}

// TestNoteUseAgain checks that the second use on a day costs no write.
func TestNoteUseAgain(t *testing.T) {
	path, want := kept(t)
	a := openAccess(t, path)
	if err := a.NoteUse(t.Context(), want.ID, "2026-11-21"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.NoteUse(t.Context(), want.ID, "2026-11-21"), a.NoteUse(t.Context(), token(t, made).ID, "2026-11-21")); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed (%v)", err)
	}
}

// TestSweepTokens checks that an expired token is removed once it has been listed for
// long enough, and that tokens are swept only once in a while.
func TestSweepTokens(t *testing.T) {
	a, now := newAccess(t), made
	a.SetClock(func() time.Time { return now })
	short, eternal, ofJob := token(t, made.Add(time.Hour)), token(t, time.Time{}), token(t, made.Add(time.Hour))
	another := token(t, short.Expires)
	ofJob.Origin = access.ByExchange
	create := func(token access.Token) {
		t.Helper()
		if err := a.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	create(short)
	create(another)
	create(eternal)
	create(ofJob)
	for _, step := range []struct {
		at   time.Time
		want error
	}{
		{short.Expires.Add(access.KeepExpired - 1), nil},
		{short.Expires.Add(access.KeepExpired), nil}, // a moment after the last time
		{short.Expires.Add(access.KeepExpired - 2).Add(24 * time.Hour), nil},
		{short.Expires.Add(access.KeepExpired - 1).Add(24 * time.Hour), access.ErrNotFound},
	} {
		now = step.at
		create(token(t, time.Time{}))
		for _, token := range []access.Token{short, another} {
			if _, err := a.Token(t.Context(), token.ID); !errors.Is(err, step.want) {
				t.Errorf("%v after it expired: %v, want %v", now.Sub(short.Expires), err, step.want)
			}
		}
		if _, err := a.Token(t.Context(), ofJob.ID); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("%v after it expired, the token of a job: %v", now.Sub(short.Expires), err)
		}
	}
	if _, err := a.Token(t.Context(), eternal.ID); err != nil {
		t.Error(err)
	}
}

// TestFull checks that those who begin to log in cannot fill the disk, and that
// there is room again when their tickets are taken, or expire.
func TestFull(t *testing.T) {
	a, now := newAccess(t), made
	a.SetClock(func() time.Time { return now })
	a.SetMaxTickets(3)
	keep := func(lifetime time.Duration) (access.ID, error) {
		_, id := access.NewToken()
		return id, a.KeepTicket(t.Context(), id, nil, now.Add(lifetime))
	}
	var last access.ID
	for n := range 3 {
		var err error
		if last, err = keep(time.Duration(n+1) * time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := keep(time.Minute); !errors.Is(err, access.ErrFull) {
		t.Errorf("one more: %v, want ErrFull", err)
	}
	if _, err := a.TakeTicket(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	_, afterTaken := keep(time.Hour)
	now = now.Add(2 * time.Minute)
	_, afterExpired := keep(time.Hour)
	_, afterExpiredToo := keep(time.Hour)
	_, full := keep(time.Hour)
	if afterTaken != nil || afterExpired != nil || afterExpiredToo != nil || !errors.Is(full, access.ErrFull) {
		t.Errorf("after one was taken: %v, after two expired: %v, %v, %v", afterTaken, afterExpired, afterExpiredToo, full)
	}
}

// TestSweepDamaged checks that a token which cannot be read is not removed with the
// expired ones: somebody has to see the error.
func TestSweepDamaged(t *testing.T) {
	path, damaged := kept(t)
	edit(t, path, func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("tokens")).Put([]byte(damaged.ID.String()), []byte(`{"expires":"2006-01-02T15:04:05Z","scopes":["write *"]}`))
	})
	a := openAccess(t, path)
	if err := a.CreateToken(t.Context(), token(t, time.Time{})); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Token(t.Context(), damaged.ID); err == nil || errors.Is(err, access.ErrNotFound) {
		t.Errorf("the damaged token: %v", err)
	}
}

// TestAccessIsNotWritten checks that a failed write is an error, and leaves nothing.
func TestAccessIsNotWritten(t *testing.T) {
	a := newAccess(t)
	late := token(t, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)) // a year that JSON has no time for
	for call, err := range map[string]error{
		"CreateToken": a.CreateToken(t.Context(), late),
		"AddRule":     a.AddRule(t.Context(), access.Rule{}), // without a name there is no key
	} {
		if err == nil {
			t.Errorf("%s succeeded", call)
		}
	}
	tokens, _, err := a.Tokens(t.Context(), "")
	rules, rulesErr := a.Rules(t.Context())
	if err = errors.Join(err, rulesErr); err != nil || len(tokens)+len(rules) > 0 {
		t.Errorf("there are %v and %v, %v", tokens, rules, err)
	}
}

// TestAccessClosed checks that every call on a closed file is an error.
func TestAccessClosed(t *testing.T) {
	path, token := kept(t)
	a, err := boltcatalog.OpenAccess(path)
	if err = errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	_, tokenErr := a.Token(t.Context(), token.ID)
	_, rulesErr := a.Rules(t.Context())
	_, ticketErr := a.TakeTicket(t.Context(), token.ID)
	for call, err := range map[string]error{
		"Token": tokenErr, "Rules": rulesErr, "TakeTicket": ticketErr, "RevokeToken": a.RevokeToken(t.Context(), token.ID),
		"NoteUse": a.NoteUse(t.Context(), token.ID, "2026-11-21"),
	} {
		if !errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
			t.Errorf("%s = %v, want that the file is closed", call, err)
		}
	}
}

// refusedAccess checks that a file is refused with a reason and what to do, which
// is not what to do about a catalog.
func refusedAccess(t *testing.T, path string, want ...string) {
	t.Helper()
	a, err := boltcatalog.OpenAccess(path)
	if err == nil {
		t.Fatalf("OpenAccess succeeded: %v", a.Close())
	}
	for _, part := range append(want, path) {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("OpenAccess = %q, want %q in it", err, part)
		}
	}
	if strings.Contains(err.Error(), "nothing is lost") {
		t.Errorf("OpenAccess = %q", err)
	}
}

func TestOpenAccessRefuses(t *testing.T) {
	path, _ := kept(t)
	openAccess(t, path)
	refusedAccess(t, path, "another larder has it open")
	refusedAccess(t, filled(t, 1, 1), "no tokens and rules of this version", "backup", "ends all tokens")
	other, _ := kept(t)
	refused(t, other, "no catalog of this version")

	put := func(bucket, key, value string) func(tx *bbolt.Tx) error {
		return func(tx *bbolt.Tx) error { return tx.Bucket([]byte(bucket)).Put([]byte(key), []byte(value)) }
	}
	for name, tt := range map[string]struct {
		change func(tx *bbolt.Tx) error
		want   string
	}{
		"newer":      {put("meta", "format", "larder access 2"), "no tokens and rules of this version"},
		"no bucket":  {func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("tickets")) }, "no tokens and rules of this version"},
		"bad token":  {put("tokens", "00", "{"), "damaged"},
		"bad rule":   {put("rules", "x", "{"), "damaged"},
		"bad ticket": {put("tickets", "00", "1234567"), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := kept(t)
			edit(t, path, tt.change)
			refusedAccess(t, path, tt.want, "backup", "ends all tokens")
		})
	}
	t.Run("text", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "access.db")
		if err := os.WriteFile(path, []byte("this is no file of tokens\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refusedAccess(t, path, "damaged", "backup")
	})
}

// TestAccessDamaged checks that an item which cannot be read is an error, also
// for those who ask beside it, and a token can be revoked nonetheless.
func TestAccessDamaged(t *testing.T) {
	path, token := kept(t)
	edit(t, path, func(tx *bbolt.Tx) error {
		return errors.Join(tx.Bucket([]byte("tokens")).Put([]byte(token.ID.String()), []byte(`{"scopes":["write *"]}`)),
			tx.Bucket([]byte("rules")).Put([]byte("ci"), []byte(`{"lifetime":"long"}`)))
	})
	a, c := openAccess(t, path), open(t, filled(t, 1, 1))
	lookup := access.Lookup{ID: token.ID}
	_, tokenErr := a.Token(t.Context(), token.ID)
	_, _, tokensErr := a.Tokens(t.Context(), "")
	_, rulesErr := a.Rules(t.Context())
	_, lookupErr := catalogtest.Listing(t.Context(), c.WithTokens(a), widget, &lookup)
	for call, err := range map[string]error{
		"Token": tokenErr, "Tokens": tokensErr, "Rules": rulesErr, "Beside": lookupErr, "NoteUse": a.NoteUse(t.Context(), token.ID, "2026-11-21"),
	} {
		if err == nil || !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s = %v, want advice", call, err)
		}
	}
	if err := errors.Join(a.RevokeToken(t.Context(), token.ID), a.RemoveRule(t.Context(), "ci")); err != nil || lookup.Token != nil {
		t.Errorf("revoke and remove: %v; found %v", err, lookup.Token)
	}
}

// A copy has what there was when it was made, and is no less private.
func TestCopyAccess(t *testing.T) {
	a := openAccess(t, filepath.Join(t.TempDir(), "access.db"))
	before := access.Token{ID: access.ID{1}, Name: "before", Created: time.Unix(1, 0).UTC()}
	path := filepath.Join(t.TempDir(), "copy")
	err := errors.Join(a.CreateToken(t.Context(), before), a.CopyTo(t.Context(), path),
		a.CreateToken(t.Context(), access.Token{ID: access.ID{2}, Name: "after"}))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	copied := openAccess(t, path)
	if got, _, err := copied.Tokens(t.Context(), ""); err != nil || !reflect.DeepEqual(got, []access.Token{before}) {
		t.Errorf("the copy has %+v, %v", got, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.CopyTo(cancelled, path+"2"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
