package registry_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/oldertest"
	"github.com/larder-registry/larder/pkg/registry"
)

// TestOlderRecords reads the records that older versions have written, and their keys.
// Written again, each record is the same.
func TestOlderRecords(t *testing.T) {
	for key, data := range oldertest.Files(t, registry.RecordsPrefix) {
		if _, err := registry.ParseRecordKey(key); err != nil {
			t.Error(err)
		}
		var record registry.Record
		if err := json.Unmarshal(data, &record); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		again, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		if string(again) != strings.TrimSpace(string(data)) {
			t.Errorf("%s is written again as\n%s\nand was\n%s", key, again, data)
		}
	}
}
