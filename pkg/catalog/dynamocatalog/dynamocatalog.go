// Package dynamocatalog keeps the catalog in one DynamoDB table, and beside it
// the tokens, rules and tickets of package access. The catalog is an index and
// nothing else: all of it can be built again from the records in the bucket. Of
// tokens and rules the table is the only place.
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
// counts its changes.
//
// The others are not cut and not compressed:
//
//	PK                   SK             attributes
//	A                    <token's id>   data (JSON, as a string), used (the day), expires, request
//	T                    <rule's name>  data (JSON, as a string), request
//	C#<ticket's id>      C              data (bytes), until (milliseconds since 1970), expires
//
// The ids are lower-case hex. A request is some random text that tells an item
// that a request made from one that was there before. [TableSchema] is the table;
// its TTL attribute is expires, when nobody needs the item any more, which is not
// when it stops being good: deletion by TTL may be days late, so nothing depends
// on it.
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
// A token is looked up in the same request (BatchGetItem), with the version, or
// with all the chunks that a listing can have. That read is consistent, so that a
// token is good from the moment on when its owner has it. The request costs each
// item that is not there as much as a small one: 2 read units for a version, 4 for
// a listing of one chunk, where half a unit each is what they cost without a token.
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
// On the table, by what is done, and the partitions to hold it to by
// dynamodb:LeadingKeys, which all keys of a BatchGetItem have to fit:
//
//	read listings            Query                              M#* P#* R#*
//	read versions            GetItem                            M#* P#* R#*
//	… beside tokens          BatchGetItem                       M#* P#* R#* A
//	note the use of tokens   UpdateItem                         A
//	publish                  Query, GetItem, PutItem,           M#* P#* R#*
//	                         DeleteItem
//	walk                     Scan
//	log in, administer       Query, GetItem, PutItem,           A T
//	                         DeleteItem
//	                         PutItem, DeleteItem                C#*
//
// A listing that is replaced while it is read beside a token takes a Query, too.
//
// The Scan, which has no leading keys, can be held to the attributes PK, SK and
// revision by dynamodb:Attributes, with SPECIFIC_ATTRIBUTES for dynamodb:Select;
// and the UpdateItem to PK, SK and used: so who notes the use of a token cannot
// give it other scopes.
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
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
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

// Catalog is a [catalog.Index] in a table, with its tokens. It is an [access.Store],
// too.
type Catalog struct {
	client *dynamodb.Client
	table  string
	now    func() time.Time
	page   int32 // see pageSize
}

var _ catalog.Index = (*Catalog)(nil)

// New uses a table. It sends no request. The error says which setting is
// wrong.
func New(cfg Config) (*Catalog, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("table %q: %w", cfg.Table, err)
	}
	return &Catalog{dynamodb.New(cfg.options()), cfg.Table, time.Now, pageSize}, nil
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

// Listing implements [catalog.Catalog].
func (c *Catalog) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (registry.Listing, error) {
	partition := layout.Partition(a)
	var s stored
	var err error
	if lookup == nil {
		s, err = c.readListing(ctx, partition, false)
	} else {
		s, err = c.listingBeside(ctx, partition, lookup)
	}
	if err == nil && len(s.listing) == 0 {
		err = registry.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read the listing of %s in the catalog: %w", partition, c.explain(err))
	}
	return s.listing, nil
}

// Load implements [catalog.Catalog].
func (c *Catalog) Load(ctx context.Context, s registry.State, lookup *access.Lookup) error {
	version := s.Subject()
	i, err := c.getItem(ctx, key(layout.Partition(version.Address), layout.Version(version.Version)), lookup)
	if err == nil {
		err = decodeState(i, s)
	}
	if err != nil {
		return fmt.Errorf("read version %s of %s in the catalog: %w", version.Version, layout.Partition(version.Address), c.explain(err))
	}
	return nil
}

// Put implements [catalog.Index]. It lists a state that is stored already, too: its
// writer may have died before it came to that.
func (c *Catalog) Put(ctx context.Context, s registry.State) error {
	err := c.putState(ctx, s)
	if err == nil && s.Listable() {
		err = c.enter(ctx, layout.Partition(s.Subject().Address), s.Listed())
	}
	if err != nil {
		return fmt.Errorf("write version %s of %s to the catalog: %w", s.Subject().Version, layout.Partition(s.Subject().Address), c.explain(err))
	}
	return nil
}
