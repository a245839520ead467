package upkeep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
)

// A reconcile ends after eleven failures in a row: what is wrong with a version
// itself is none, and what goes well ends the row.
func TestFailuresInARow(t *testing.T) {
	broken, ofVersion := errors.New("the storage is broken"), fmt.Errorf("the version: %w", catalog.ErrNoRoom)
	var f failures
	for n, err := range slices.Concat(
		slices.Repeat([]error{broken}, 10), []error{nil}, slices.Repeat([]error{ofVersion}, 11),
		slices.Repeat([]error{broken}, 5), []error{ofVersion}, slices.Repeat([]error{broken}, 5),
	) {
		if err := f.count(err); err != nil {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if err := f.count(broken); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "11 failures in a row: ") {
		t.Errorf("after the eleventh: %v", err)
	}
}
