package upkeep_test

import (
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/publishtest"
	"github.com/larder-registry/larder/pkg/inbox"
)

// before calls do before the first call whose name begins so.
func before(prefix string, do func()) publishtest.CallFunc {
	done := false
	return func(name string, call func() error) error {
		if !done && strings.HasPrefix(name, prefix) {
			done = true
			do()
		}
		return call()
	}
}

// What is published after a walk has read a version's records is not set back.
func TestAReindexDoesNotSetBackWhatIsPublishedMeanwhile(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "linux_amd64"), publishtest.Widget("a"))
	p := w.Through(before("catalog: read acme/widget", func() {
		w.Want(w.Upload(publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Widget("b")), inbox.Published)
	}))
	if got := w.Walked(p.Reindex(t.Context(), "", false)); len(got) > 0 {
		t.Errorf("reindexed %q", got)
	}
	if s := w.Provider("acme", "widget", "1.0.0"); len(s.Packages) != 2 || !s.Settled() {
		t.Errorf("the catalog has %+v", s)
	}
}

// What is published while the walk is in the inbox is compared with the state of then.
func TestVerifyFindsWhatIsPublishedMeanwhile(t *testing.T) {
	w := newWorldOn(t, publishtest.InMemory, publishtest.OnBolt)
	w.Upload(publishtest.PackageKey("1.0.0", "darwin_arm64"), publishtest.Widget("a"))
	later := publishtest.PackageKey("1.0.0", "linux_amd64")
	w.S3.Upload(t, later, publishtest.Widget("b"), nil)
	p := w.Through(before("read registry/outcomes/"+later, func() {
		if err := w.PublishKey(t.Context(), later); err != nil {
			t.Error(err)
		}
	}))
	if found := w.Walked(p.Verify(t.Context(), "", false)); len(found) > 0 {
		t.Errorf("found %q", found)
	}
}
