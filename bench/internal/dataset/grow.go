package dataset

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"go.etcd.io/bbolt"
)

// Partition is the name of a module's partition in the catalogs.
func (m Module) Partition() string { return "M#" + m.Address.String() }

// Partition is the name of a provider's partition in the catalogs.
func (p Provider) Partition() string {
	if p.Address.Mirrored() {
		return "R#" + p.Address.String()
	}
	return "P#" + p.Address.String()
}

// ListingName is the name of the item with a listing.
const ListingName = "LIST"

// VersionName is the name of the item with a version's state.
func VersionName(n int) string { return "V#" + Version(n).Key() }

// Grown is how many versions each partition has whose listing must grow.
func Grown() map[string]int {
	grown := map[string]int{}
	for _, p := range Providers(0) {
		if p.Versions > 1 {
			grown[p.Partition()] = p.Versions
		}
	}
	for _, m := range Modules(0) {
		if m.Versions > 1 {
			grown[m.Partition()] = m.Versions
		}
	}
	return grown
}

// Grow makes of the stored listing of one version that of the first n versions. All are as
// the one is. The answers are checked before they are timed, and so is this.
func Grow(document []byte, n int) ([]byte, error) {
	var listing map[string]json.RawMessage
	if err := json.Unmarshal(document, &listing); err != nil {
		return nil, err
	}
	var versions []map[string]any
	if err := json.Unmarshal(listing["versions"], &versions); err != nil {
		return nil, err
	}
	if len(versions) != 1 {
		return nil, fmt.Errorf("the listing has %d versions instead of one", len(versions))
	}
	all := make([]json.RawMessage, n)
	for n := range all {
		versions[0]["version"] = Version(n).String()
		entry, err := json.Marshal(versions[0])
		if err != nil {
			return nil, err
		}
		all[n] = entry
	}
	var err error
	if listing["versions"], err = json.Marshal(all); err != nil {
		return nil, err
	}
	return json.Marshal(listing)
}

// GrowCompressed is [Grow] for a document in gzip.
func GrowCompressed(data []byte, n int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if document, err = Grow(document, n); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(document)
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// GrowFile is [Grow] in the file of a node's catalog.
func GrowFile(path string) error {
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.Update(func(tx *bbolt.Tx) error {
		items := tx.Bucket([]byte("items"))
		if items == nil {
			return fmt.Errorf("%s has no items", path)
		}
		for partition, n := range Grown() {
			key := []byte(partition + " " + ListingName)
			document, err := Grow(items.Get(key), n)
			if err != nil {
				return err
			}
			if err := items.Put(key, document); err != nil {
				return err
			}
		}
		return nil
	})
}
