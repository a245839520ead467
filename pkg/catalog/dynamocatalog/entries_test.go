package dynamocatalog_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// met is an entry that a walk met, or its error.
type met struct {
	text, cursor string
	err          error
}

func walked(t *testing.T, c *dynamocatalog.Catalog, after string) (all []met) {
	t.Helper()
	for entry, err := range c.Entries(t.Context(), after) {
		m := met{text: fmt.Sprint(entry.Subject.Version, " ", entry.Seen), cursor: entry.Cursor, err: err}
		if entry.Subject.Address != nil {
			m.text = fmt.Sprint(entry.Subject.Address, " ", m.text)
		}
		all = append(all, m)
	}
	return all
}

func texts(all []met) (texts []string) {
	for _, m := range all {
		texts = append(texts, m.text)
	}
	return texts
}

// put writes an item as another program might.
func (b table) put(t *testing.T, pk, sk string, attributes map[string]types.AttributeValue) {
	t.Helper()
	i := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: pk}, "SK": &types.AttributeValueMemberS{Value: sk}}
	maps.Copy(i, attributes)
	if _, err := b.engine.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.name, Item: i}); err != nil {
		t.Fatal(err)
	}
}

// TestOneSided checks that a version is met that only the listing has, or has at
// a higher revision than its state, and nothing that is not the catalog's.
func TestOneSided(t *testing.T) {
	states := catalogtest.Provider(widget, 2, 3)
	b := mistaken(t, states)
	for _, foreign := range [][2]string{{"A#token", "V#1.0.0"}, {"P#acme/Widget", "V#1.0.0"}, {"M#acme/widget", "LIST"}, {"P#" + widget.String(), "V#1.0"}, {"P#" + widget.String(), "X"}} {
		b.put(t, foreign[0], foreign[1], nil)
	}
	c, a, token := b.open(t, nil), b.openAccess(t, nil), token(t)
	err := errors.Join(
		a.CreateToken(t.Context(), token), a.AddRule(t.Context(), access.Rule{Name: "ci", Scopes: token.Scopes}), a.KeepTicket(t.Context(), token.ID, nil, made),
	)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(walked(t, c, ""))
	if want := []string{"acme/widget 0.0.0 {4 9}", "acme/widget 0.1.0 {0 5}"}; !slices.Equal(got, want) {
		t.Errorf("the walk meets %q, want %q", got, want)
	}
}

// TestWalkRequests walks through more than DynamoDB reads at once. The walk must yield every
// version once, also if a page ends inside of a partition. It takes a Scan for each page,
// and a Query for each partition.
func TestWalkRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	count := &transport{}
	c := b.open(t, count)
	var want []string
	for _, typ := range []string{"one", "two"} {
		for _, p := range catalogtest.Provider(registry.ProviderAddress{Namespace: "acme", Type: typ}, 5, 1) {
			p.Release.Keys[0].ASCIIArmor = noise(480_000, letters)
			if err := catalogtest.Put(t.Context(), c, p); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("acme/%s %s {2 2}", typ, p.Version))
		}
	}
	count.take()
	all := walked(t, c, "")
	if got := slices.Sorted(slices.Values(texts(all))); !slices.Equal(got, want) {
		t.Errorf("the walk meets %q, want %q", got, want)
	}
	requests := map[string]int{}
	for _, operation := range count.take() {
		requests[operation]++
	}
	if requests["Scan"] < 3 || requests["Scan"] > 6 || requests["Query"] != 2 || len(requests) != 2 {
		t.Errorf("it took %v, want some 4 Scans and 2 Queries", requests)
	}
	for i, m := range all {
		if rest := texts(walked(t, c, m.cursor)); !slices.Equal(rest, texts(all[i+1:])) {
			t.Errorf("after %s comes %q, want %q", m.text, rest, texts(all[i+1:]))
		}
	}
}

// TestWalkDespiteForeignItems checks that a walk yields an error for an item that cannot be
// read, and goes on after it; and that a new walk can begin there.
func TestWalkDespiteForeignItems(t *testing.T) {
	b := newTable(t)
	c := b.open(t, nil)
	for _, typ := range []string{"broken", "one", "two", "widget"} {
		for _, p := range catalogtest.Provider(registry.ProviderAddress{Namespace: "acme", Type: typ}, 2, 1) {
			if err := catalogtest.Put(t.Context(), c, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.put(t, "P#acme/broken", "LIST", nil)
	b.put(t, "P#"+widget.String(), "V#0.0.0", nil)
	all := walked(t, c, "")
	want := []string{
		"acme/broken  {0 0}", "acme/one 0.0.0 {2 2}", "acme/one 0.1.0 {2 2}", "acme/two 0.0.0 {2 2}", "acme/two 0.1.0 {2 2}",
		"acme/widget 0.0.0 {0 2}", "acme/widget 0.1.0 {2 2}",
	}
	if got := slices.Sorted(slices.Values(texts(all))); !slices.Equal(got, want) {
		t.Fatalf("the walk meets %q, want %q", got, want)
	}
	for i, m := range all {
		failed := m.text == want[0] || m.text == want[5]
		if failed != (m.err != nil && strings.Contains(m.err.Error(), "build the catalog again")) {
			t.Errorf("%s: %v, want advice: %t", m.text, m.err, failed)
		}
		if rest := texts(walked(t, c, m.cursor)); !slices.Equal(rest, texts(all[i+1:])) {
			t.Errorf("after %s comes %q, want %q", m.text, rest, texts(all[i+1:]))
		}
	}
}

// TestWalkDespiteFaults fails each request of a walk: once, which the caller
// does not notice, and for good, which ends it.
func TestWalkDespiteFaults(t *testing.T) {
	b := newTable(t)
	seed(t, b)
	for at := 1; at <= 2; at++ {
		for _, f := range passing {
			if got := walked(t, b.open(t, &transport{pick: f.only(at)}), ""); len(got) != 1 || got[0].err != nil {
				t.Errorf("%s, request %d: %+v", f.name, at, got)
			}
		}
		for _, f := range final {
			got := walked(t, b.open(t, &transport{pick: f.only(at)}), "")
			if len(got) != 1 || got[0].err == nil || got[0].cursor != "" || !strings.Contains(got[0].err.Error(), f.code) {
				t.Errorf("%s, request %d: %+v", f.name, at, got)
			}
		}
	}
	b.name += "-another"
	if got := walked(t, b.open(t, nil), ""); len(got) != 1 || got[0].err == nil || !strings.Contains(got[0].err.Error(), "no table") {
		t.Errorf("without a table: %+v", got)
	}
}
