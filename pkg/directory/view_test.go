package directory_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/boltcatalog"
	"github.com/larder-registry/larder/pkg/directory"
	"github.com/larder-registry/larder/pkg/registry"
)

// filled is a world with some modules and providers.
func filled(t testing.TB) *world {
	w := newWorld(t, openBolt(t))
	w.contents.of = map[string]directory.Description{
		"module acme/vpc/aws 1.0.0":         {Text: "A network with subnets, by «Größe».", Inputs: []string{"cidr_block", "enableDNS"}, Outputs: []string{"vpc_id"}, Resources: []string{"aws_vpc", "aws_subnet"}},
		"module acme/vpc-peering/aws 1.0.0": {Text: "Connects one vpc with another.", Inputs: []string{"peer_vpc_id"}, Resources: []string{"aws_vpc_peering_connection"}},
		"module acme/storage/aws 1.0.0":     {Text: "Buckets.", Resources: []string{"aws_network_acl", "aws_s3_bucket", "aws_s3_bucket_policy"}},
		"module other/bucket/gcp 1.0.0":     {Text: "A place for objects, not in S3, and no vpc.", Resources: []string{"google_storage_bucket"}},
		"module vpc/tools/azurerm 1.0.0":    {Text: "Of the team that has networks."},
		"provider acme/widget 1.0.0":        {Text: "Widgets.", Resources: []string{"widget", "widget_set"}},
	}
	for i, address := range []string{"acme/vpc/aws", "acme/vpc-peering/aws", "acme/storage/aws", "other/bucket/gcp", "vpc/tools/azurerm"} {
		w.publish(t, moduleVersion(t, address, "1.0.0", 1, (i*2)%5))
	}
	w.publish(t, providerVersion(t, "acme/widget", "1.0.0"), providerVersion(t, "other/gadget", "1.0.0"))
	return w
}

func TestSearch(t *testing.T) {
	w := filled(t)
	const all = "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws other/bucket/gcp vpc/tools/azurerm"
	for _, tt := range []struct {
		q    directory.Query
		want string
	}{
		{directory.Query{}, all},
		{directory.Query{Folder: registry.Modules}, all},
		{directory.Query{Folder: registry.Providers}, "acme/widget other/gadget"},
		{directory.Query{Folder: registry.Mirror}, ""},
		{directory.Query{Newest: true}, "acme/storage/aws vpc/tools/azurerm acme/vpc-peering/aws other/bucket/gcp acme/vpc/aws"},
		{directory.Query{Newest: true, Text: "vpc"}, "vpc/tools/azurerm acme/vpc-peering/aws other/bucket/gcp acme/vpc/aws"},

		{directory.Query{Namespace: "acme"}, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws"},
		{directory.Query{Namespace: "acm"}, ""},
		{directory.Query{Namespace: "acme/vpc"}, ""},
		{directory.Query{Namespace: "acme/vpc/aws"}, ""},
		{directory.Query{Name: "vpc/aws"}, ""},
		{directory.Query{Name: "vpc"}, "acme/vpc/aws"},
		{directory.Query{System: "gcp"}, "other/bucket/gcp"},
		{directory.Query{Namespace: "acme", Name: "vpc", System: "gcp"}, ""},
		{directory.Query{Namespace: "acme", Text: "bucket"}, "acme/storage/aws"},
		{directory.Query{Folder: registry.Providers, Name: "widget"}, "acme/widget"},
		{directory.Query{Folder: registry.Providers, Text: "widget_s"}, "acme/widget"},

		// Name, then the beginning of a name, then the address, then the description, then names.
		{directory.Query{Text: "vpc"}, "acme/vpc/aws acme/vpc-peering/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: "VPC"}, "acme/vpc/aws acme/vpc-peering/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: "vp"}, "acme/vpc-peering/aws acme/vpc/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: "pc"}, ""},
		{directory.Query{Text: "bucket"}, "other/bucket/gcp acme/storage/aws"},
		{directory.Query{Text: "storage"}, "acme/storage/aws other/bucket/gcp"},
		{directory.Query{Text: "network"}, "acme/vpc/aws vpc/tools/azurerm acme/storage/aws"},
		{directory.Query{Text: "networks"}, "vpc/tools/azurerm"},
		{directory.Query{Text: "vpc aws"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "aws vpc"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "vpc nothing"}, ""},
		{directory.Query{Text: "vpc-peering"}, "acme/vpc-peering/aws"},
		{directory.Query{Text: "peering"}, "acme/vpc-peering/aws"},
		{directory.Query{Text: "acme/vpc"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "acme/vp"}, "acme/vpc-peering/aws acme/vpc/aws"},
		{directory.Query{Text: "acme/vpc/aws"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "acme/vpc/"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "aws_s3_bucket"}, "acme/storage/aws"},
		{directory.Query{Text: "s3_bucket"}, "acme/storage/aws other/bucket/gcp"},
		{directory.Query{Text: "aws_s3_buck"}, "acme/storage/aws"},
		{directory.Query{Text: "aws_vpc"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "peer_vpc"}, "acme/vpc-peering/aws"},

		// What people write around what they look for, and the names of repositories.
		{directory.Query{Text: "a VPC module for aws"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "terraform acme with"}, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws"},
		{directory.Query{Text: "terraform module"}, ""},
		{directory.Query{Text: "for"}, "other/bucket/gcp"},
		{directory.Query{Text: "with"}, "acme/vpc-peering/aws acme/vpc/aws"},
		{directory.Query{Text: "terraform-aws-vpc"}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: "terraform-acme"}, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws"},
		{directory.Query{Text: "terraform-provider-widget", Folder: registry.Providers}, "acme/widget"},
		{directory.Query{Text: "subnet cidr"}, "acme/vpc/aws"},
		{directory.Query{Text: "enabledns"}, "acme/vpc/aws"},
		{directory.Query{Text: "größe"}, "acme/vpc/aws"},
		{directory.Query{Text: "GRÖSSE"}, ""},
		{directory.Query{Text: "röße"}, ""},

		{directory.Query{Text: "'vpc'"}, "acme/vpc/aws acme/vpc-peering/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: `"acme/vpc/aws"`}, "acme/vpc/aws acme/vpc-peering/aws"},
		{directory.Query{Text: " '' "}, all},
		{directory.Query{Text: "\xff/,"}, all},
		{directory.Query{Text: strings.Repeat("vpc ", 16) + "nothing"}, "acme/vpc/aws acme/vpc-peering/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: strings.Repeat("vpc ", 15) + "nothing"}, ""},
		{directory.Query{Text: strings.Repeat(" ", 253) + "vpcnothing"}, "acme/vpc/aws acme/vpc-peering/aws vpc/tools/azurerm other/bucket/gcp"},
		{directory.Query{Text: strings.Repeat(" ", 252) + "vpcnothing"}, ""},
	} {
		if got := addresses(w.list(t, tt.q)); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.q, got, tt.want)
		}
	}
}

// TestDeprecatedIsFoundLast has three modules that fit as well. Who lists all finds them in their
// place.
func TestDeprecatedIsFoundLast(t *testing.T) {
	w := newWorld(t, openBolt(t))
	for _, address := range []string{"acme/vpc/aws", "new/vpc/aws", "old/vpc-peering/aws"} {
		v := moduleVersion(t, address, "1.0.0", 1, 0)
		if address == "acme/vpc/aws" {
			v.Standing = registry.Standing{State: registry.Deprecated, Message: "use new/vpc/aws"}
		}
		w.publish(t, v)
	}
	for text, want := range map[string]string{
		"vpc": "new/vpc/aws acme/vpc/aws old/vpc-peering/aws",
		"":    "acme/vpc/aws new/vpc/aws old/vpc-peering/aws",
	} {
		if got := addresses(w.list(t, directory.Query{Text: text})); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, openBolt(t))
	for i := range 20 {
		w.publish(t, moduleVersion(t, fmt.Sprintf("acme/m%02d/aws", i), "1.0.0", 1, 0))
	}
	for _, tt := range []struct{ offset, limit, first, count int }{
		{0, 0, 0, 15}, {0, 3, 0, 3}, {18, 3, 18, 2}, {15, 0, 15, 5}, {20, 3, 0, 0}, {100, 3, 0, 0}, {-5, -1, 0, 15}, {0, 1 << 62, 0, 20}, {5, 1<<63 - 1, 5, 15},
	} {
		page, err := w.view.List(t.Context(), access.Anyone, directory.Query{Offset: tt.offset, Limit: tt.limit})
		if err != nil || page.Total != 20 || len(page.Entries) != tt.count || tt.count > 0 && page.Entries[0].Address.String() != fmt.Sprintf("acme/m%02d/aws", tt.first) {
			t.Errorf("%+v: %d of %d, %v", tt, len(page.Entries), page.Total, err)
		}
	}
}

// TestWhoSeesWhat has callers with scopes of all kinds. What they may not read is not counted
// either, and its names find nothing.
func TestWhoSeesWhat(t *testing.T) {
	w := filled(t)
	tokens, err := boltcatalog.OpenAccess(filepath.Join(t.TempDir(), "access.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tokens.Close() })
	index := w.index.Index.(*boltcatalog.Catalog).WithTokens(tokens)
	view := directory.NewView(catalog.NewReader(catalog.ReaderConfig{Catalog: index, Directory: index, TokenUses: tokens, Logger: slog.New(slog.DiscardHandler)}))
	issue := func(expires time.Duration, scopes ...string) access.Caller {
		t.Helper()
		parsed, err := access.ParseScopes(scopes)
		if err != nil {
			t.Fatal(err)
		}
		_, id := access.NewToken()
		now := time.Now().UTC()
		if err := tokens.CreateToken(t.Context(), access.Token{ID: id, Name: "ci", Owner: "alice", Scopes: parsed, Created: now.Add(-time.Hour), Expires: now.Add(expires)}); err != nil {
			t.Fatal(err)
		}
		return access.Bearer(id)
	}
	_, unknown := access.NewToken()
	for name, tt := range map[string]struct {
		caller             access.Caller
		err                error
		modules, providers string
		vpc                int // how many are found
	}{
		"anyone":        {access.Anyone, nil, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws other/bucket/gcp vpc/tools/azurerm", "acme/widget other/gadget", 4},
		"nobody":        {access.Caller{}, catalog.ErrUnauthorized, "", "", 0},
		"unknown":       {access.Bearer(unknown), catalog.ErrUnauthorized, "", "", 0},
		"expired":       {issue(-time.Minute, "read *"), catalog.ErrUnauthorized, "", "", 0},
		"everything":    {issue(time.Hour, "read *"), nil, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws other/bucket/gcp vpc/tools/azurerm", "acme/widget other/gadget", 4},
		"a namespace":   {issue(time.Hour, "read modules:acme/*"), nil, "acme/storage/aws acme/vpc-peering/aws acme/vpc/aws", "", 2},
		"one module":    {issue(time.Hour, "read modules:acme/vpc/aws"), nil, "acme/vpc/aws", "", 1},
		"two scopes":    {issue(time.Hour, "read modules:other/*", "read providers:acme/*"), nil, "other/bucket/gcp", "acme/widget", 1},
		"a mirror":      {issue(time.Hour, "read mirror:*"), nil, "", "", 0},
		"what is not":   {issue(time.Hour, "read modules:none/*"), nil, "", "", 0},
		"all providers": {issue(time.Hour, "read providers:*"), nil, "", "acme/widget other/gadget", 0},
	} {
		for _, ask := range []struct {
			q     directory.Query
			want  string
			total int
		}{
			{directory.Query{Limit: 100}, tt.modules, len(strings.Fields(tt.modules))},
			{directory.Query{Limit: 100, Folder: registry.Providers}, tt.providers, len(strings.Fields(tt.providers))},
			{directory.Query{Limit: 100, Text: "vpc", Offset: 100}, "", tt.vpc},
		} {
			page, err := view.List(t.Context(), tt.caller, ask.q)
			if !errors.Is(err, tt.err) || addresses(page.Entries) != ask.want || page.Total != ask.total {
				t.Errorf("%s, %+v: %q of %d, %v, want %q of %d, %v", name, ask.q, addresses(page.Entries), page.Total, err, ask.want, ask.total, tt.err)
			}
		}
	}
}

// TestViewReadsWhatChanged checks what a view asks the index.
func TestViewReadsWhatChanged(t *testing.T) {
	w := filled(t)
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"cold", func() {}, "DirectoryHead DirectoryShards"},
		{"warm", func() {}, "DirectoryHead"},
		{"warm, a search", func() {}, "DirectoryHead"},
		{"one more", func() { w.publish(t, moduleVersion(t, "acme/new/aws", "1.0.0", 1, 0)) }, "DirectoryHead DirectoryShards"},
		{"the same again", func() { w.publish(t, moduleVersion(t, "acme/new/aws", "1.0.0", 1, 0)) }, "DirectoryHead"},
	} {
		step.do()
		w.index.take()
		if got := w.list(t, directory.Query{Text: "acme"}); len(got) < 3 {
			t.Errorf("%s: %q", step.name, addresses(got))
		}
		if got := w.index.take(); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
}

// TestViewDespiteFaults fails each call. The caller is told, and the next one is answered.
func TestViewDespiteFaults(t *testing.T) {
	broken := errors.New("broken")
	for _, failing := range []string{"DirectoryHead", "DirectoryShards"} {
		w := filled(t)
		w.index.fail = func(call string, _ int) error {
			if call == failing {
				return broken
			}
			return nil
		}
		if page, err := w.view.List(t.Context(), access.Anyone, directory.Query{}); !errors.Is(err, broken) || len(page.Entries) > 0 || page.Total > 0 {
			t.Errorf("%s fails: %v, %v", failing, page, err)
		}
		w.index.fail = nil
		if got := w.list(t, directory.Query{}); len(got) != 5 {
			t.Errorf("after %s has failed: %q", failing, addresses(got))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filled(t).view.List(ctx, access.Anyone, directory.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// slow is a reader whose shards wait for the test, and are older than the head at first.
type slow struct {
	directory.Reader
	reads atomic.Int32
	wait  chan struct{}
	old   int32 // how many of the first reads find nothing
}

func (s *slow) DirectoryShards(ctx context.Context, numbers []int) ([]catalog.DirectoryShard, error) {
	n := s.reads.Add(1)
	if s.wait != nil {
		select {
		case <-s.wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	shards, err := s.Reader.DirectoryShards(ctx, numbers)
	if n <= s.old {
		for i := range shards {
			shards[i] = catalog.DirectoryShard{Number: shards[i].Number}
		}
	}
	return shards, err
}

func newSlow(t *testing.T) *slow {
	w := filled(t)
	return &slow{Reader: catalog.NewReader(catalog.ReaderConfig{Catalog: w.index.Index, Directory: w.index.Index, Logger: slog.New(slog.DiscardHandler)})}
}

// TestManyShareOneLoad has many callers ask a cold view at once. One who gives up leaves the
// others their answer.
func TestManyShareOneLoad(t *testing.T) {
	s := newSlow(t)
	s.wait = make(chan struct{})
	view := directory.NewView(s)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := view.List(ctx, access.Anyone, directory.Query{})
		first <- err
	}()
	for s.reads.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller who gave up: %v", err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if page, err := view.List(t.Context(), access.Anyone, directory.Query{}); err != nil || page.Total != 5 {
				t.Errorf("%d, %v", page.Total, err)
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	close(s.wait)
	wg.Wait()
	if reads := s.reads.Load(); reads != 1 {
		t.Errorf("the shards were read %d times", reads)
	}
}

// TestShardsOlderThanTheHead has a store that shows the head of a transaction before the shard.
// They are read again, but not for ever, and by the next caller once more.
func TestShardsOlderThanTheHead(t *testing.T) {
	for _, tt := range []struct {
		old   int32
		total int
		reads int32
	}{{2, 5, 3}, {100, 0, 4}} {
		s := newSlow(t)
		s.old = tt.old
		view := directory.NewView(s)
		page, err := view.List(t.Context(), access.Anyone, directory.Query{})
		if reads := s.reads.Load(); err != nil || page.Total != tt.total || reads != tt.reads {
			t.Errorf("%d old reads: %d, %v after %d reads, want %+v", tt.old, page.Total, err, reads, tt)
		}
		s.old = 0
		if page, err := view.List(t.Context(), access.Anyone, directory.Query{}); err != nil || page.Total != 5 {
			t.Errorf("%d old reads: the next caller is answered %d, %v", tt.old, page.Total, err)
		}
	}
}

// TestDirectoryBeginsAgain removes the catalog under a view: what is built then has lower
// revisions.
func TestDirectoryBeginsAgain(t *testing.T) {
	w := newWorld(t, openBolt(t))
	address := "acme/vpc/aws"
	for i := range 5 {
		w.publish(t, moduleVersion(t, address, fmt.Sprintf("1.%d.0", i), 1, 0))
	}
	if got := w.list(t, directory.Query{}); len(got) != 1 || got[0].Versions != 5 {
		t.Fatalf("%+v", got)
	}
	w.index.Index = openBolt(t)
	if got := w.list(t, directory.Query{}); len(got) != 0 {
		t.Errorf("an empty directory has %+v", got)
	}
	w.publish(t, moduleVersion(t, address, "2.0.0", 1, 0))
	if got := w.list(t, directory.Query{}); len(got) != 1 || got[0].Versions != 1 {
		t.Errorf("the new directory has %+v", got)
	}
}
