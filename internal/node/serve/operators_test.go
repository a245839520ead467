package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/keyfile"
	"github.com/larder-registry/larder/internal/reach"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/signing"
)

// ask asks a node like an operator's command.
func (r *running) ask(t *testing.T, request control.Request) control.Answer {
	t.Helper()
	registry, err := reach.Find(t.Context(), reach.Options{Data: r.data})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := registry.Ask(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// keys are the IDs of the node's own keys in each role.
func (r *running) keys(t *testing.T) (current, replaced []string) {
	t.Helper()
	for _, key := range r.ask(t, control.Request{Keys: &control.Part{}}).Walked.Keys {
		switch key.Role {
		case control.Current:
			current = append(current, key.KeyID)
		case control.Replaced:
			replaced = append(replaced, key.KeyID)
		}
	}
	return current, replaced
}

// file is what lies in the data folder under a name.
func (r *running) file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.data, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAnswersOperators(t *testing.T) {
	r := start(t, localSettings(t))
	info, err := os.Stat(filepath.Join(r.data, datadir.Socket))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	if walked := r.ask(t, control.Request{Verify: &control.Verify{}}).Walked; walked.Next != "" || len(walked.Findings) > 0 {
		t.Errorf("%+v", walked)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.data, datadir.Socket)); !os.IsNotExist(err) {
		t.Errorf("after a stop, %v: the socket tells of a node that does not serve", err)
	}
}

// Where there can be no socket, the registry is served as it always was.
func TestServesWithoutSocket(t *testing.T) {
	set := localSettings(t)
	if err := os.MkdirAll(filepath.Join(set.Data, datadir.Socket, "something else"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := start(t, set)
	if log := r.log.String(); !strings.Contains(log, "operators' commands") || !strings.Contains(log, datadir.Socket) {
		t.Errorf("the log does not say why commands do not reach it:\n%s", log)
	}
	if r.env(t, "LARDER_HOST") == "" {
		t.Error("it does not serve")
	}
}

// A data folder whose path is too long for a socket has one all the same: the
// bucket's storage works from within it, and so does its process.
func TestDeepDataFolder(t *testing.T) {
	set := localSettings(t)
	set.Data = filepath.Join(set.Data, strings.Repeat("d", 200))
	r := start(t, set)
	r.ask(t, control.Request{Keys: &control.Part{}})
}

// Keys are changed one after the other, also by several who ask at once, every
// private key is kept, and the last one is found again.
func TestRotate(t *testing.T) {
	set := localSettings(t)
	r := start(t, set)
	first, _ := r.keys(t)
	firstPrivate := r.file(t, datadir.SigningKey)
	made := make([]string, 2)
	var asking sync.WaitGroup
	for i := range made {
		asking.Go(func() { made[i] = r.ask(t, control.Request{Rotate: &control.Rotate{}}).Rotated.KeyID })
	}
	asking.Wait()
	current, replaced := r.keys(t)
	if len(current) != 1 || !slices.Contains(made, current[0]) || made[0] == made[1] {
		t.Fatalf("made %q, and the current one is %q", made, current)
	}
	before := made[0]
	if before == current[0] {
		before = made[1]
	}
	if !slices.Contains(replaced, first[0]) || !slices.Contains(replaced, before) || len(replaced) != 2 {
		t.Errorf("replaced %q, want %q and %q", replaced, first, before)
	}
	if !bytes.Equal(r.file(t, "signing-key-"+first[0]+".pem"), firstPrivate) {
		t.Error("the first private key was not kept")
	}
	info, err := os.Stat(filepath.Join(r.data, "signing-key-"+before+".pem"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the second private key has mode %v, %v", info.Mode(), err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if again, _ := start(t, set).keys(t); !slices.Equal(again, current) {
		t.Errorf("after a restart it signs with %q, want %q", again, current)
	}
}

// Wherever a rotation was ended, the next start finds a key, and the next
// rotation goes on with the one that was made.
func TestRotationThatWasEnded(t *testing.T) {
	keys := t.TempDir()
	old, next := newKeyFile(t, keys, "old"), newKeyFile(t, keys, "next")
	for name, test := range map[string]struct {
		files   map[string][]byte // of the data folder; KEPT stands for the name of the kept key
		current []byte            // after the start
		rotated []byte            // and after a rotation; nil for a new key
	}{
		"with a new key":      {map[string][]byte{datadir.SigningKey: old, datadir.NextSigningKey: next}, old, next},
		"with both names":     {map[string][]byte{datadir.SigningKey: old, datadir.NextSigningKey: next, "KEPT": old}, old, next},
		"after the new stood": {map[string][]byte{datadir.SigningKey: next, "KEPT": old}, next, nil},
	} {
		t.Run(name, func(t *testing.T) {
			set := localSettings(t)
			for name, data := range test.files {
				if name == "KEPT" {
					name = "signing-key-" + keyID(t, old) + ".pem"
				}
				if err := os.WriteFile(filepath.Join(set.Data, name), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := start(t, set)
			if current, _ := r.keys(t); current[0] != keyID(t, test.current) {
				t.Errorf("it signs with %q after the start", current)
			}
			got := r.ask(t, control.Request{Rotate: &control.Rotate{}}).Rotated.KeyID
			if test.rotated != nil && got != keyID(t, test.rotated) {
				t.Errorf("it signs with %q after the rotation", got)
			}
			for _, data := range [][]byte{old, test.current} {
				if kept := r.file(t, "signing-key-"+keyID(t, data)+".pem"); !bytes.Equal(kept, data) {
					t.Error("a key was not kept")
				}
			}
			if current, _ := r.keys(t); current[0] != got || keyID(t, r.file(t, datadir.SigningKey)) != got {
				t.Errorf("it signs with %q, want %s", current, got)
			}
		})
	}
}

// A rotation that fails leaves the key that was.
func TestRotationFails(t *testing.T) {
	r := start(t, localSettings(t))
	before, _ := r.keys(t)
	if err := os.WriteFile(filepath.Join(r.data, datadir.NextSigningKey), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	registry, err := reach.Find(t.Context(), reach.Options{Data: r.data})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Ask(t.Context(), control.Request{Rotate: &control.Rotate{}}); err == nil || !strings.Contains(err.Error(), datadir.NextSigningKey) {
		t.Errorf("got %v", err)
	}
	if after, replaced := r.keys(t); !slices.Equal(after, before) || len(replaced) > 0 {
		t.Errorf("before %q, after it %q and %q", before, after, replaced)
	}
}

// newKeyFile is a new private key, as a data folder has it.
func newKeyFile(t *testing.T, folder, name string) []byte {
	t.Helper()
	path := filepath.Join(folder, name)
	if _, _, err := signing.LoadOrCreate(path); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keyID is the ID of the public key that belongs to a private one.
func keyID(t *testing.T, data []byte) string {
	t.Helper()
	return publicKey(t, data).KeyID
}

// publicKey is the public key that belongs to a private one.
func publicKey(t *testing.T, data []byte) signing.PublicKey {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.Load(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return key.PublicKey()
}
