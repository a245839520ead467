package serve

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/pkg/registry"
)

// A node removes by itself what has been in the inbox for as long as it is told to keep
// it, and nothing where it is told to keep all.
func TestInboxIsPruned(t *testing.T) {
	const key = "modules/acme/vpc/aws/README.md" // which is ignored
	set := localSettings(t)
	n := &node{settings: set}
	r := startNode(t, n)
	if err := n.blobs.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
		t.Fatal(err)
	}
	r.log.Await(t, "upload ignored")
	eventually(t, func() error { // the outcome's document comes last
		_, err := n.blobs.Head(t.Context(), registry.OutcomeKey(key))
		return err
	})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(set.Data, datadir.S3, locals3.Bucket, key)
	old := time.Now().Add(-7*24*time.Hour - time.Minute)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	for _, days := range []int{0, 8, 7} {
		set.InboxDays = days
		r = startNode(t, &node{settings: set, firstPrune: time.Millisecond})
		if days == 7 {
			r.log.Await(t, "the inbox was pruned")
		} else {
			time.Sleep(50 * time.Millisecond)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) != (days == 7) {
			t.Errorf("kept for %d days: %v", days, err)
		}
	}
	if want := regexp.MustCompile(`level=INFO msg="the inbox was pruned" removed=1 bytes=1 older_than_days=7\n`); !want.MatchString(r.log.String()) {
		t.Errorf("it logged\n%s", r.log)
	}
}
