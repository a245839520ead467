package authorkeys_test

import (
	"errors"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/authorkeys"
	"github.com/larder-registry/larder/pkg/registry"
)

// No key that the registry has ever signed with is an author's.
func TestDistrustOfAFormerOwnKey(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	author := publishtest.NewAuthor(t, packet.Config{})
	w.Upload(publishtest.AuthorFile, publishtest.Exported(t, author))
	w.Put(registry.OwnKeyKey(publishtest.FingerprintOf(author)), publishtest.Exported(t, author))
	if changed, err := w.Keys.Distrust(t.Context(), publishtest.FingerprintOf(author)); changed || !errors.Is(err, authorkeys.ErrOwnKey) {
		t.Errorf("DistrustKey() = %v, %v", changed, err)
	}
	if got := w.KeysUnder(registry.UntrustedKeysPrefix); len(got) > 0 {
		t.Errorf("there is %q", got)
	}
}
