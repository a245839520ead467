package versionlog_test

import (
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/registry"
)

// Where others are always first, a publisher gives up, for the event to come again.
func TestARecordIsNotTriedForEver(t *testing.T) {
	w := publishtest.NewWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	tries := 0
	p := w.Through(publishtest.CallFunc(func(name string, do func() error) error {
		if strings.HasPrefix(name, "create "+registry.RecordsPrefix) {
			tries++
			return blob.ErrExists
		}
		return do()
	}))
	key := publishtest.PackageKey("1.0.0", "linux_amd64")
	_, err := p.Publish(t.Context(), blob.Object{Key: key, Version: w.S3.Upload(t, key, publishtest.Widget("a"), nil)})
	if err == nil || !strings.Contains(err.Error(), "00000001.json: others were first 1000 times") || tries != 1000 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// A key of the registry's own that cannot be read is an error, and says which.
func TestAnOwnKeyThatCannotBeRead(t *testing.T) {
	w := publishtest.NewWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Put(registry.OwnKeyKey("F0"), []byte("no key"))
	if keys, err := w.OwnKeys(t.Context()); err == nil || !strings.Contains(err.Error(), "read the key "+registry.OwnKeyKey("F0")+": ") || keys != nil {
		t.Errorf("the registry's own keys are %v, %v", keys, err)
	}
}
