package publish_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/inbox"
	"github.com/larder-registry/larder/pkg/registry"
)

// picture is all that there is to see of a namespace: what is listed, each
// version with its SHA256SUMS, and of each upload its tags and the document of
// its outcome. It leaves out what differs between two runs that end the same
// (times, how many records it took, the registry's signatures), and calls the
// namespace acme. On the way it checks that all of it is whole.
func (w *world) picture(namespace string) string {
	w.Helper()
	var p strings.Builder
	last := ""
	for _, folder := range []string{"modules/", "providers/"} {
		for _, key := range w.KeysUnder(registry.RecordsPrefix + folder + namespace + "/") {
			record, err := registry.ParseRecordKey(key)
			if err != nil {
				w.Fatal(err)
			}
			if record.Sequence > 1 {
				continue
			}
			address, listing, version := w.picturePublished(record)
			if address != last {
				fmt.Fprintf(&p, "%s lists %s\n", address, listing)
			}
			fmt.Fprintf(&p, "%s %s is %s\n", address, record.Version, version)
			last = address
		}
	}
	for _, folder := range []string{"keys/", "modules/", "providers/"} {
		w.pictureUploads(&p, folder+namespace+"/")
	}
	return strings.ReplaceAll(p.String(), namespace, "acme")
}

// picturePublished is the listing of a module or provider, and one version of
// it, whose state in the catalog is what its records add up to.
func (w *world) picturePublished(of registry.ParsedRecordKey) (address, listing, version string) {
	w.Helper()
	replayed, state := of.New(), of.New()
	w.replay(replayed)
	entries, err := catalog.Listing(w.Context(), w.Index, of.Address)
	errState := catalog.Load(w.Context(), w.Index, state)
	address, err = of.Address.String(), errors.Join(err, errState)
	var sums string
	if s, ok := state.(*registry.ProviderVersion); ok {
		if len(s.Packages) == 0 && errors.Is(err, registry.ErrNotFound) {
			err = errState // its packages have not come
		}
		if err == nil && s.Release != nil {
			sums = w.Served(*s)
		}
		if !s.Settled() {
			w.Errorf("%s %s has packages that are not served", address, s.Version)
		}
	}
	if err != nil {
		w.Errorf("%s %s: %v", address, of.Version, err)
	}
	if !reflect.DeepEqual(state, replayed) {
		w.Errorf("the catalog has of %s\n%+v, its records have\n%+v", address, state, replayed)
	}
	return address, w.lasting(entries), w.lasting(state) + "\n" + sums
}

// replay applies all records of a version.
func (w *world) replay(s registry.State) {
	w.Helper()
	first := s.NextRecordKey()
	for range w.KeysUnder(first[:strings.LastIndex(first, "/")+1]) {
		var r registry.Record
		err := json.Unmarshal(w.Read(s.NextRecordKey()), &r)
		if err == nil {
			err = s.Apply(r)
		}
		if err != nil {
			w.Fatal(err)
		}
	}
}

// pictureUploads draws the word back: the tags of every object version, and the
// outcome that was written last of every key.
func (w *world) pictureUploads(p *strings.Builder, prefix string) {
	w.Helper()
	var objects []blob.Object
	for object, err := range w.Bucket.Versions(w.Context(), prefix, "") {
		if err != nil {
			w.Fatal(err)
		}
		objects = append(objects, object)
	}
	for n, object := range objects {
		fmt.Fprintf(p, "%s is tagged %v\n", object.Key, w.S3.Tags(w.T, object.Key, object.Version))
		if n > 0 && objects[n-1].Key == object.Key {
			continue
		}
		var outcome inbox.Outcome
		if err := json.Unmarshal(w.Read(registry.OutcomeKey(object.Key)), &outcome); err != nil || !w.Heard.Heard(outcome) {
			w.Errorf("the outcome of %s is %+v, %v; it was announced: %v", object.Key, outcome, err, w.Heard.Heard(outcome))
		}
		fmt.Fprintf(p, "%s has the outcome %s\n", object.Key, w.lasting(outcome))
	}
}

// lasting is what a value has in JSON, without what differs between runs that
// end the same.
func (w *world) lasting(value any) string {
	w.Helper()
	data, err := json.Marshal(value)
	var parsed any
	if err == nil {
		err = json.Unmarshal(data, &parsed)
	}
	if err == nil {
		prune(parsed)
		data, err = json.Marshal(parsed)
	}
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func prune(parsed any) {
	switch parsed := parsed.(type) {
	case []any:
		for _, element := range parsed {
			prune(element)
		}
	case map[string]any:
		for _, name := range []string{"time", "published", "version_id", "revision", "sequence", "signature"} {
			delete(parsed, name)
		}
		for _, element := range parsed {
			prune(element)
		}
	}
}
