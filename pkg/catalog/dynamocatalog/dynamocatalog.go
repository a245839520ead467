// Package dynamocatalog keeps the catalog in one DynamoDB table. The table is
// an index and nothing else: all of it can be built again from the records in
// the bucket.
//
// # Items
//
// A module or provider is a partition, under a key that no other address can
// have. It has its listing, and each of its versions without build metadata:
//
//	PK                              SK             attributes
//	M#<namespace>/<name>/<system>   LIST           revision, chunks, data
//	P#<namespace>/<type>            LIST#1, …      revision, data
//	                                V#<version>    revision, data
//
// PK and SK are strings, revision and chunks are numbers, data is JSON,
// compressed by gzip. A version's revision is that of its state; a listing's
// counts its changes. [TableSchema] is the table.
//
// # Reading
//
// Every question is one request. A version is one item, read by its key
// (GetItem); a listing is the items whose SK begins with LIST (Query), most
// often one. There is no index.
//
// Reads are eventually consistent, which costs half. What they may miss is what
// was published within the last second or so, as if they had come before it;
// and a publisher that reads an old state adds the later records to it from
// their log. The one read whose age matters is that of a listing which is about
// to be replaced: it is consistent.
//
// Who walks through all versions takes one Scan for each MiB of the table, and a
// Query for each listing. A Scan comes to the items of a partition one after the
// other, in the order of SK; it takes PK, SK and revision alone, since the table
// may hold other things that are nobody's to read in passing.
//
// # Writing
//
// A state is put on the condition that none of its revision or a higher one is
// there. Then its entry is merged into the listing, which is put on the
// condition that its revision is still the one that was read; where it is not,
// both begin again after a random, growing pause. So a version is never listed
// before it can be asked for, and a writer that dies between the two is made
// good by whoever puts the same state again. A new state costs three requests,
// a known one two.
//
// Who corrects a version changes the state and the listing in one transaction,
// on the conditions that the state's revision is the one that was seen, and the
// listing's the one that was read; where the latter is not, it is read again. A
// listing of which nothing is left stays, for its revision must not be had
// twice, and is answered as if it were not there.
//
// # Sizes and limits
//
// Measured, in bytes of a whole item:
//
//	LIST of    400 versions for 12 platforms     1,230
//	LIST of  1,000 versions for 14 platforms     2,970
//	LIST of 10,000 versions for 14 platforms    28,500
//	V# of 14 packages and an RSA-4096 key        2,970
//
// An item of DynamoDB has at most 400 KiB, and one Query reads up to 1 MiB. So
// a listing of more than 300 KiB (some 100,000 versions) is cut into up to three
// chunks: the first one in LIST, the others in LIST#1 and LIST#2. They change
// in one transaction, and each has the listing's revision: a reader that
// meets two revisions reads again. What is longer still is an error for whoever
// would write it, and so is a state of more than 400 KiB.
//
// # Permissions on AWS
//
// dynamodb:Query for listings, dynamodb:GetItem for versions, and for the
// publisher dynamodb:PutItem, dynamodb:DeleteItem and dynamodb:Scan too, on the
// table. All but the Scan can be held to the partitions above by
// dynamodb:LeadingKeys, and the Scan, which has none, to the attributes PK, SK
// and revision: by dynamodb:Attributes, with SPECIFIC_ATTRIBUTES for
// dynamodb:Select.
package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

const (
	// maxAttempts is how often a request is sent, the first time included.
	maxAttempts = 6

	// requestTimeout is for one time that a request is sent, its answer
	// included.
	requestTimeout = 5 * time.Second
)

// Config says which table, where it is, and as whom to use it.
type Config struct {
	// Table is the name of the table. Required.
	Table string

	// Region is the table's AWS region. Required.
	Region string

	// Credentials sign the requests. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL of another DynamoDB than Amazon's. Empty: Amazon's
	// for the region.
	Endpoint string

	// Transport carries the requests. Nil: the AWS SDK's own.
	Transport http.RoundTripper
}

func (c Config) validate() error {
	var errs []error
	if c.Table == "" {
		errs = append(errs, errors.New("no Table is set"))
	}
	if c.Region == "" {
		errs = append(errs, errors.New("no Region is set"))
	}
	if c.Credentials == nil {
		errs = append(errs, errors.New("no Credentials are set"))
	}
	return errors.Join(errs...)
}

// Catalog is a [registry.Catalog] in a table, and the index of whoever
// publishes to it.
type Catalog struct {
	client *dynamodb.Client
	table  string
}

var _ registry.Catalog = (*Catalog)(nil)

// New uses a table. It sends no request. The error says which setting is
// wrong.
func New(cfg Config) (*Catalog, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("table %q: %w", cfg.Table, err)
	}
	return &Catalog{dynamodb.New(cfg.options()), cfg.Table}, nil
}

func (c Config) options() dynamodb.Options {
	if c.Transport == nil {
		c.Transport = awshttp.NewBuildableClient().GetTransport()
	}
	options := dynamodb.Options{
		Region:      c.Region,
		Credentials: c.Credentials,
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = maxAttempts
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
		}),
		HTTPClient: &http.Client{
			Transport:     c.Transport,
			Timeout:       requestTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if c.Endpoint != "" {
		options.BaseEndpoint = &c.Endpoint
	}
	return options
}

// ModuleVersions implements [registry.Catalog].
func (c *Catalog) ModuleVersions(ctx context.Context, a registry.ModuleAddress) (registry.Listing, error) {
	return c.listing(ctx, layout.ModulePartition(a))
}

// ModuleVersion implements [registry.Catalog].
func (c *Catalog) ModuleVersion(ctx context.Context, a registry.ModuleAddress, v registry.Version) (registry.ModuleVersion, error) {
	return state[registry.ModuleVersion](ctx, c, layout.ModulePartition(a), v)
}

// ProviderVersions implements [registry.Catalog].
func (c *Catalog) ProviderVersions(ctx context.Context, a registry.ProviderAddress) (registry.Listing, error) {
	return c.listing(ctx, layout.ProviderPartition(a))
}

// ProviderVersion implements [registry.Catalog].
func (c *Catalog) ProviderVersion(ctx context.Context, a registry.ProviderAddress, v registry.Version) (registry.ProviderVersion, error) {
	return state[registry.ProviderVersion](ctx, c, layout.ProviderPartition(a), v)
}

// PutModuleVersion stores a state and lists the version. When it returns nil,
// both are durable, here or by a newer state's writer.
func (c *Catalog) PutModuleVersion(ctx context.Context, m registry.ModuleVersion) error {
	return c.put(ctx, change{layout.ModulePartition(m.Address), m, m.Listed(), true})
}

// PutProviderVersion stores a state and lists the version, unless nothing of it
// can be served yet. When it returns nil, both are durable, here or by a newer
// state's writer.
func (c *Catalog) PutProviderVersion(ctx context.Context, p registry.ProviderVersion) error {
	entry := p.Listed()
	return c.put(ctx, change{layout.ProviderPartition(p.Address), p, entry, len(entry.Platforms) > 0})
}

// change is a state to store, and its entry in the listing.
type change struct {
	partition string
	state     any
	entry     registry.Listed
	list      bool
}

// put lists a state that is stored already, too: its writer may have died
// before it came to that.
func (c *Catalog) put(ctx context.Context, ch change) error {
	err := c.putState(ctx, ch)
	if err == nil && ch.list {
		err = c.enter(ctx, ch.partition, ch.entry)
	}
	if err != nil {
		return fmt.Errorf("write version %s of %s to the catalog: %w", ch.entry.Version, ch.partition, c.explain(err))
	}
	return nil
}
