package dynamocatalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
)

func TestDirectory(t *testing.T) {
	catalogtest.Directory(t, func(t *testing.T) catalogtest.DirectoryDriver {
		c := newTable(t).open(t, nil)
		return catalogtest.DirectoryDriver{Index: c, Store: c.Access()}
	})
}

func directoryShard(number int, revision uint64) catalog.DirectoryShard {
	return catalog.DirectoryShard{Number: number, Revision: revision, Data: fmt.Appendf(nil, "%d of %d", revision, number)}
}

// allShards are the numbers of all shards.
func allShards() (all []int) {
	for number := range catalog.DirectoryShards {
		all = append(all, number)
	}
	return all
}

// TestDirectoryRequests checks what the calls of the directory cost.
func TestDirectoryRequests(t *testing.T) {
	count := &transport{}
	c := newTable(t).open(t, count)
	for _, step := range []struct {
		name string
		call func() error
		want []string
	}{
		{"head", func() error { _, err := c.DirectoryHead(t.Context(), nil); return err }, []string{"GetItem, consistent"}},
		{"head and token", func() error { _, err := c.DirectoryHead(t.Context(), &access.Lookup{}); return err }, []string{"BatchGetItem of 2, consistent"}},
		{"no shard", func() error { _, err := c.DirectoryShards(t.Context(), nil); return err }, nil},
		{"one shard", func() error { _, err := c.DirectoryShards(t.Context(), []int{3}); return err }, []string{"BatchGetItem of 1, consistent"}},
		{"all shards", func() error { _, err := c.DirectoryShards(t.Context(), allShards()); return err }, []string{"BatchGetItem of 100, consistent", "BatchGetItem of 100, consistent", "BatchGetItem of 56, consistent"}},
		{"put", func() error { return c.PutDirectoryShard(t.Context(), directoryShard(3, 1)) }, []string{"TransactWriteItems"}},
	} {
		if err := step.call(); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		if got := count.take(); !slices.Equal(got, step.want) {
			t.Errorf("%s took %q, want %q", step.name, got, step.want)
		}
	}
}

// TestDirectoryDespiteFaults fails the request of each call: once, which the caller does not
// notice, and for good.
func TestDirectoryDespiteFaults(t *testing.T) {
	b := newTable(t)
	revision := uint64(0)
	calls := map[string]func(c *dynamocatalog.Catalog) error{
		"head": func(c *dynamocatalog.Catalog) error {
			head, err := c.DirectoryHead(t.Context(), nil)
			if err == nil && head[3] != revision {
				return fmt.Errorf("it is %d", head[3])
			}
			return err
		},
		"head and token": func(c *dynamocatalog.Catalog) error {
			head, err := c.DirectoryHead(t.Context(), &access.Lookup{})
			if err == nil && head[3] != revision {
				return fmt.Errorf("it is %d", head[3])
			}
			return err
		},
		"shards": func(c *dynamocatalog.Catalog) error {
			shards, err := c.DirectoryShards(t.Context(), []int{3})
			if err == nil && shards[0].Revision != revision {
				return fmt.Errorf("it is %v", shards[0])
			}
			return err
		},
		"put": func(c *dynamocatalog.Catalog) error {
			shards, err := b.open(t, nil).DirectoryShards(t.Context(), []int{3})
			if err != nil {
				return err
			}
			revision = shards[0].Revision
			if err := c.PutDirectoryShard(t.Context(), directoryShard(3, revision+1)); err != nil {
				return err
			}
			revision++
			return nil
		},
	}
	for name, call := range calls {
		for _, f := range passing {
			if err := call(b.open(t, &transport{pick: f.only(1)})); err != nil {
				t.Errorf("%s, %s: %v", name, f.name, err)
			}
		}
		for _, f := range final {
			if err := call(b.open(t, &transport{pick: f.only(1)})); codeOf(err) != f.code || errors.Is(err, catalog.ErrChanged) {
				t.Errorf("%s, %s: %v, want %s", name, f.name, err, f.code)
			}
			if f.done && name == "put" {
				revision++
			}
		}
	}
}

// TestDirectoryUnprocessedKeys checks that keys which DynamoDB leaves unprocessed are asked for
// again, but not for ever.
func TestDirectoryUnprocessedKeys(t *testing.T) {
	b := newTable(t)
	c := b.open(t, nil)
	for number := range 20 {
		if err := c.PutDirectoryShard(t.Context(), directoryShard(number, 1)); err != nil {
			t.Fatal(err)
		}
	}
	slow := &lazy{each: 2}
	shards, err := b.open(t, slow).DirectoryShards(t.Context(), allShards()[:30])
	if err != nil || slow.requests != 15 {
		t.Errorf("two at a time: %d requests, %v", slow.requests, err)
	}
	for number, shard := range shards {
		if want := uint64(1); shard.Number != number || (shard.Revision == want) != (number < 20) {
			t.Errorf("shard %d is %v", number, shard)
		}
	}
	nothing := &lazy{}
	_, err = b.open(t, nothing).DirectoryShards(t.Context(), []int{1, 2})
	if err == nil || !strings.Contains(err.Error(), "too much to do") || nothing.requests != dynamocatalog.MaxReads {
		t.Errorf("nothing at all: %d requests, %v", nothing.requests, err)
	}
}

// TestDirectoryHeadIsBusy checks that a put which meets another one at the head is sent again,
// until the context ends or it was sent often enough.
func TestDirectoryHeadIsBusy(t *testing.T) {
	b := newTable(t)
	busy := fault{code: "TransactionConflictException", status: http.StatusBadRequest}
	twice := &transport{pick: func(number int) (fault, bool) { return busy, number <= 2 }}
	if err := b.open(t, twice).PutDirectoryShard(t.Context(), directoryShard(1, 1)); err != nil || len(twice.take()) != 3 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := b.open(t, &transport{pick: func(number int) (fault, bool) {
		if number == 3 {
			cancel()
		}
		return busy, true
	}})
	if err := c.PutDirectoryShard(ctx, directoryShard(2, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestForeignDirectory checks that what cannot be read is an error with advice.
func TestForeignDirectory(t *testing.T) {
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	type item = map[string]types.AttributeValue
	for name, tt := range map[string]struct {
		partition string
		item      item
	}{
		"no such shard":     {"D#HEAD", item{"s256": number("1")}},
		"no shard's name":   {"D#HEAD", item{"x1": number("1")}},
		"negative revision": {"D#HEAD", item{"s1": number("-1")}},
		"no revision":       {"D#1", item{"data": &types.AttributeValueMemberB{Value: []byte("x")}}},
	} {
		b := newTable(t)
		tt.item["PK"], tt.item["SK"] = &types.AttributeValueMemberS{Value: tt.partition}, &types.AttributeValueMemberS{Value: "D"}
		if _, err := b.engine.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &b.name, Item: tt.item}); err != nil {
			t.Fatal(err)
		}
		c := b.open(t, nil)
		_, err := c.DirectoryHead(t.Context(), nil)
		if tt.partition != "D#HEAD" {
			_, err = c.DirectoryShards(t.Context(), []int{1})
		}
		if err == nil || !strings.Contains(err.Error(), "build the catalog again") {
			t.Errorf("%s: %v, want advice", name, err)
		}
	}
}
