package dynamocatalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

func TestMain(m *testing.M) { os.Exit(dynamotest.Run(m)) }

var (
	_ catalog.Index = (*dynamocatalog.Catalog)(nil)

	widget = registry.ProviderAddress{Namespace: "acme", Type: "widget"}
	vpc    = registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aws"}
)

// table is a fresh one.
type table struct {
	name   string
	engine *dynamotest.Engine
}

func newTable(t testing.TB) table {
	t.Helper()
	engine := dynamotest.Start(t)
	return table{engine.CreateTable(t), engine}
}

// open is the catalog in the table, as a process of its own would have it.
func (b table) open(t testing.TB, carry http.RoundTripper) *dynamocatalog.Catalog {
	t.Helper()
	c, err := dynamocatalog.New(dynamocatalog.Config{
		Table: b.name, Region: b.engine.Region, Credentials: b.engine.Credentials(), Endpoint: b.engine.Endpoint, Transport: carry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openAccess is the access in the table, in the same way.
func (b table) openAccess(t testing.TB, carry http.RoundTripper) *dynamocatalog.Access {
	t.Helper()
	return b.open(t, carry).Access()
}

// items is the items of a partition, by SK.
func (b table) items(t testing.TB, partition string) map[string]map[string]types.AttributeValue {
	t.Helper()
	out, err := b.engine.Client().Query(t.Context(), &dynamodb.QueryInput{
		TableName:                 &b.name,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("PK = :partition"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":partition": &types.AttributeValueMemberS{Value: partition}},
	})
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]map[string]types.AttributeValue{}
	for _, i := range out.Items {
		items[i["SK"].(*types.AttributeValueMemberS).Value] = i
	}
	return items
}

// size is an item's, as DynamoDB counts it, but for numbers, which it counts
// lower.
func size(i map[string]types.AttributeValue) int {
	total := 0
	for name, value := range i {
		total += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			total += len(v.Value)
		case *types.AttributeValueMemberN:
			total += len(v.Value) + 1
		case *types.AttributeValueMemberB:
			total += len(v.Value)
		}
	}
	return total
}

func vpcVersion(t testing.TB, v string, revision int) registry.ModuleVersion {
	t.Helper()
	return registry.ModuleVersion{
		Address: vpc, Version: registrytest.Version(t, v), Revision: revision,
		Archive: registry.ModuleArchive{Format: "zip", SHA256: strings.Repeat("ab", 32)},
	}
}

func listingOf(states []registry.ProviderVersion) registry.Listing {
	var listing registry.Listing
	for _, p := range states {
		listing = append(listing, p.Listed())
	}
	return listing
}

func TestCatalog(t *testing.T) {
	catalogtest.Test(t, func(t *testing.T) catalog.Index { return newTable(t).open(t, nil) })
}

// TestOneRequestPerRead checks that a question is one request, however much is
// published, and whether or not there is an answer.
func TestOneRequestPerRead(t *testing.T) {
	b := newTable(t)
	count := &transport{}
	c := b.open(t, count)
	ctx := t.Context()
	states := catalogtest.Provider(widget, 1000, 14)
	listing := listingOf(states)
	newest := states[len(states)-1]
	m := vpcVersion(t, "1.0.0", 1)
	if err := errors.Join(c.Fill(ctx, widget, 0, listing[:999]), catalogtest.Put(ctx, c, newest), catalogtest.Put(ctx, c, m)); err != nil {
		t.Fatal(err)
	}
	unknown := registrytest.Version(t, "9.9.9")
	for name, ask := range map[string]func() (got, want any, err error){
		"Query: 1,000 versions": func() (any, any, error) { l, err := catalog.Listing(ctx, c, widget); return l, listing, err },
		"GetItem: provider": func() (any, any, error) {
			p, err := catalogtest.ProviderVersion(ctx, c, widget, newest.Version)
			return p, newest, err
		},
		"Query: one version": func() (any, any, error) {
			l, err := catalog.Listing(ctx, c, vpc)
			return l, registry.Listing{m.Listed()}, err
		},
		"GetItem: module": func() (any, any, error) {
			got, err := catalogtest.ModuleVersion(ctx, c, vpc, m.Version)
			return got, m, err
		},
		"GetItem: unknown version": func() (any, any, error) {
			_, err := catalogtest.ProviderVersion(ctx, c, widget, unknown)
			return errors.Is(err, registry.ErrNotFound), true, nil
		},
		"Query: unknown module": func() (any, any, error) {
			_, err := catalog.Listing(ctx, c, registry.ModuleAddress{Namespace: "acme", Name: "vpc", System: "aw"})
			return errors.Is(err, registry.ErrNotFound), true, nil
		},
	} {
		count.take()
		got, want, err := ask()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		operation, _, _ := strings.Cut(name, ":")
		if operations := count.take(); !slices.Equal(operations, []string{operation}) {
			t.Errorf("%s took %v", name, operations)
		}
	}
}

// TestRequestsPerPut checks how many requests a put takes.
func TestRequestsPerPut(t *testing.T) {
	count := &transport{}
	c := newTable(t).open(t, count)
	states := catalogtest.Provider(widget, 2, 3)
	unlisted := states[1]
	unlisted.Release, unlisted.Revision = nil, 1
	for _, step := range []struct {
		name  string
		state registry.ProviderVersion
		want  []string
	}{
		{"the first version", states[0], []string{"PutItem", "Query, consistent", "PutItem"}},
		{"the same again", states[0], []string{"PutItem", "Query, consistent"}},
		{"one of which nothing can be served", unlisted, []string{"PutItem"}},
		{"and its release", states[1], []string{"PutItem", "Query, consistent", "PutItem"}},
	} {
		count.take()
		if err := catalogtest.Put(t.Context(), c, step.state); err != nil {
			t.Fatal(err)
		}
		if got := count.take(); !slices.Equal(got, step.want) {
			t.Errorf("%s took %v, want %v", step.name, got, step.want)
		}
	}
}

// TestSizes checks that what the package says of sizes stays true.
func TestSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	b := newTable(t)
	c := b.open(t, nil)
	for _, tt := range []struct{ versions, platforms, limit int }{
		{400, 12, 1_500},
		{1000, 14, 3_500},
		{10_000, 14, 33_000},
	} {
		a := registry.ProviderAddress{Namespace: "acme", Type: fmt.Sprint("t", tt.versions)}
		states := catalogtest.Provider(a, tt.versions, tt.platforms)
		if err := c.Fill(t.Context(), a, 0, listingOf(states)); err != nil {
			t.Fatal(err)
		}
		items := b.items(t, "P#"+a.String())
		got := size(items["LIST"])
		t.Logf("LIST of %d versions for %d platforms: %d bytes", tt.versions, tt.platforms, got)
		if len(items) != 1 || got > tt.limit || got < tt.limit/2 {
			t.Errorf("the listing of %d × %d is %d items, the first of %d bytes; want 1 of up to %d", tt.versions, tt.platforms, len(items), got, tt.limit)
		}
	}
	p := realistic(t)
	if err := catalogtest.Put(t.Context(), c, p); err != nil {
		t.Fatal(err)
	}
	got := size(b.items(t, "P#"+widget.String())["V#"+p.Version.Key()])
	t.Logf("V# of a version with %d packages: %d bytes", len(p.Packages), got)
	if got > 3_500 || got < 1_500 {
		t.Errorf("a version with 14 packages is an item of %d bytes, want some 3,000", got)
	}
}

// realistic is a version whose hashes and key compress as little as real ones.
func realistic(t testing.TB) registry.ProviderVersion {
	t.Helper()
	p := catalogtest.Provider(widget, 1, 14)[0]
	p.Packages = slices.Clone(p.Packages)
	for i := range p.Packages {
		p.Packages[i].SHA256, p.Packages[i].H1 = noise(64, "0123456789abcdef"), "h1:"+noise(44, letters)
		p.Packages[i].Size = 20_000_000 + int64(i)*123_457
	}
	release := *p.Release
	release.SHA256, release.Signature = noise(64, "0123456789abcdef"), noise(64, "0123456789abcdef")
	release.Keys = []registry.SigningKey{{KeyID: "0123456789ABCDEF", ASCIIArmor: noise(1_650, letters)}}
	p.Release = &release
	return p
}

// TestSameVersionAtOnce checks that one of two states of the same revision is stored, whole,
// and that both puts succeed.
func TestSameVersionAtOnce(t *testing.T) {
	b := newTable(t)
	for round := range 20 {
		v := fmt.Sprintf("1.0.%d", round)
		one, other := vpcVersion(t, v, 1), vpcVersion(t, v, 1)
		other.Archive.SHA256 = strings.Repeat("cd", 32)
		var wg sync.WaitGroup
		for _, m := range []registry.ModuleVersion{one, other} {
			c := b.open(t, nil)
			wg.Go(func() {
				if err := catalogtest.Put(t.Context(), c, m); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := catalogtest.ModuleVersion(t.Context(), b.open(t, nil), vpc, one.Version)
		if err != nil || !reflect.DeepEqual(got, one) && !reflect.DeepEqual(got, other) {
			t.Errorf("%s is %+v, %v", v, got, err)
		}
	}
	if listing, err := catalog.Listing(t.Context(), b.open(t, nil), vpc); err != nil || len(listing) != 20 {
		t.Errorf("listed: %v, %v", listing, err)
	}
}

// TestManyAtOnce checks that whatever is put at once is listed.
func TestManyAtOnce(t *testing.T) {
	tests := []struct{ writers, each int }{{20, 20}, {100, 1}}
	if testing.Short() {
		tests = []struct{ writers, each int }{{8, 5}}
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d writers of %d", tt.writers, tt.each), func(t *testing.T) {
			b := newTable(t)
			count := &transport{}
			var want registry.Listing
			var wg sync.WaitGroup
			for w := range tt.writers {
				var states []registry.ModuleVersion
				for n := range tt.each {
					states = append(states, vpcVersion(t, fmt.Sprintf("1.%d.%d", w, n), 1))
					want = append(want, states[n].Listed())
				}
				c := b.open(t, count)
				wg.Go(func() {
					for _, m := range states {
						if err := catalogtest.Put(t.Context(), c, m); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			t.Logf("%d requests for %d versions", len(count.take()), len(want))
			if got, err := catalog.Listing(t.Context(), b.open(t, nil), vpc); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d versions are listed, %v; want %d", len(got), err, len(want))
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	_, err := dynamocatalog.New(dynamocatalog.Config{})
	for _, want := range []string{"Table", "Region", "Credentials"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, want %q in it", err, want)
		}
	}
}

// TestNoTable checks that the error for a wrong name says so, and that it does not look like
// an empty catalog.
func TestNoTable(t *testing.T) {
	b := newTable(t)
	b.name += "-another"
	c := b.open(t, nil)
	_, listErr := catalog.Listing(t.Context(), c, vpc)
	_, stateErr := catalogtest.ModuleVersion(t.Context(), c, vpc, registrytest.Version(t, "1.0.0"))
	for name, err := range map[string]error{
		"listing": listErr, "state": stateErr, "put": catalogtest.Put(t.Context(), c, vpcVersion(t, "1.0.0", 1)),
	} {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no table %q in region us-east-1", b.name)) || errors.Is(err, registry.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForeignItems checks that an item which cannot be read is an error with
// advice, for readers and writers.
func TestForeignItems(t *testing.T) {
	data := func(text string) types.AttributeValue {
		return &types.AttributeValueMemberB{Value: compressed(t, text)}
	}
	one := &types.AttributeValueMemberN{Value: "1"}
	type item = map[string]types.AttributeValue
	for name, tt := range map[string]struct {
		sk   string
		item item
	}{
		"no data":             {"LIST", item{"revision": one, "chunks": one}},
		"no gzip":             {"LIST", item{"revision": one, "chunks": one, "data": &types.AttributeValueMemberB{Value: []byte("[]")}}},
		"cut gzip":            {"LIST", item{"revision": one, "chunks": one, "data": &types.AttributeValueMemberB{Value: compressed(t, "{}")[:15]}}},
		"no listing":          {"LIST", item{"revision": one, "chunks": one, "data": data(`"x"`)}},
		"no such set":         {"LIST", item{"revision": one, "chunks": one, "data": data(`{"versions":[{"version":"1.0.0","revision":1,"set":0}]}`)}},
		"no revision":         {"LIST", item{"chunks": one, "data": data(`{}`)}},
		"no chunks":           {"LIST", item{"revision": one, "data": data(`{}`)}},
		"only a later chunk":  {"LIST#1", item{"revision": one, "chunks": one, "data": data(`{}`)}},
		"a version's data":    {"V#1.0.0", item{"revision": &types.AttributeValueMemberS{Value: "1"}, "data": data(`{"version":1}`)}},
		"a version's no data": {"V#1.0.0", item{"revision": one}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTable(t)
			tt.item["PK"], tt.item["SK"] = &types.AttributeValueMemberS{Value: "M#" + vpc.String()}, &types.AttributeValueMemberS{Value: tt.sk}
			if _, err := b.engine.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.name, Item: tt.item}); err != nil {
				t.Fatal(err)
			}
			c := b.open(t, nil)
			_, listErr := catalog.Listing(t.Context(), c, vpc)
			_, stateErr := catalogtest.ModuleVersion(t.Context(), c, vpc, registrytest.Version(t, "1.0.0"))
			errs := []error{stateErr}
			if strings.HasPrefix(tt.sk, "LIST") {
				errs = []error{listErr, catalogtest.Put(t.Context(), c, vpcVersion(t, "1.0.0", 1))}
			}
			for _, err := range errs {
				if err == nil || !strings.Contains(err.Error(), "build the catalog again") {
					t.Errorf("%v, want advice", err)
				}
			}
		})
	}
}

// TestCancelledWhileBusy checks that waiting for others ends with the context.
func TestCancelledWhileBusy(t *testing.T) {
	b := newTable(t)
	ctx, cancel := context.WithCancel(t.Context())
	busy := fault{code: "TransactionConflictException", status: http.StatusBadRequest}
	c := b.open(t, &transport{pick: func(number int) (fault, bool) {
		if number == 7 { // the third time that the listing was to be put
			cancel()
		}
		return busy, number > 1 && number%2 == 1
	}})
	if err := catalogtest.Put(ctx, c, vpcVersion(t, "1.0.0", 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
}

func BenchmarkProviderVersions(bench *testing.B) {
	b := newTable(bench)
	c := b.open(bench, nil)
	if err := c.Fill(bench.Context(), widget, 0, listingOf(catalogtest.Provider(widget, 400, 12))); err != nil {
		bench.Fatal(err)
	}
	for bench.Loop() {
		if _, err := catalog.Listing(bench.Context(), c, widget); err != nil {
			bench.Fatal(err)
		}
	}
}
