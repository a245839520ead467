// Package dynamocatalog keeps two things in one DynamoDB table. The [Catalog] is an
// index and nothing else: all of it can be built again from the records in the bucket.
// The [Access] has the tokens, rules and tickets of package access, and no other place
// has them.
//
// # Items
//
// A module or provider is a partition, under a key that no other address can
// have. It has an item for its listing, and one for each of its versions, without
// build metadata:
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
// The directory of package directory has an item for each shard, and one with the revisions
// of all of them. Its data are whatever that package makes of them:
//
//	PK             SK    attributes
//	D#HEAD         D     s0, … s255: the revision of each shard that was written
//	D#<number>     D     revision, data
//
// The others are not cut and not compressed:
//
//	PK                   SK             attributes
//	A                    <token's id>   data (JSON, as a string), used (the day), expires, request
//	T                    <rule's name>  data (JSON, as a string), request
//	C#<ticket's id>      C              data (bytes), until (milliseconds since 1970), expires
//
// The ids are lower-case hex. The attribute request is a random text, by which a
// request that is sent again knows the item that it has made. The table's key is PK and
// SK. Its TTL attribute is expires: from then on nobody needs the item. Deletion by
// TTL may be days late, so nothing depends on it.
//
// # Reading
//
// Every read is one request. A version is one item, read by its key (GetItem). A
// listing is the items whose SK begins with LIST (Query), most often one. There is no
// index.
//
// Reads are eventually consistent, which costs half. They may miss what was published
// within the last second or so, as if they had come before it. A publisher that reads an
// old state adds the later records to it from their log. Only a listing that is about to
// be replaced must not be old: that read is consistent.
//
// A token is looked up in the same request (BatchGetItem), with the version, or with the
// first chunk of the listing. If the listing has more chunks, a Query reads all of them.
// The batch is consistent, so that a token is good as soon as its owner has it. It costs
// 2 read units for a version or a listing of up to 4 KiB, also for one that is missing.
// Without a token each costs half a unit.
//
// What was read is given to callers as DynamoDB sends it, in base64. It is decoded only if
// they ask for that.
//
// A walk through all versions takes one Scan for each MiB of the table, and a Query for
// each listing. A Scan returns the items of a partition one after the other, in the order
// of SK. It reads PK, SK and revision alone, since the table also holds tokens.
//
// The head of the directory is read consistently, by a GetItem, or with a token by a
// BatchGetItem. Its 256 revisions take 2 KB, so it costs one read unit, or two with the token.
// Shards are read consistently, too, by a BatchGetItem for each 100 of them. DynamoDB answers
// up to 16 MB at a time, and is asked for the rest again.
//
// # Writing
//
// A state is put on the condition that the stored one has a lower revision, or does not
// exist. Then its entry is merged into the listing, which is put on the condition that
// its revision is still the one that was read. If it is not, the listing is read again
// after a random, growing pause. So a version can always be read before it is listed. If
// a writer dies between the two, the next put of the same state lists it. A put costs
// three requests, and two if the state is stored already.
//
// A correction changes the state and the listing in one transaction, on the conditions
// that the state's revision is the one that was seen, and the listing's the one that was
// read. If the listing's is not, it is read again. A listing that becomes empty stays,
// since a revision must not come twice, and is answered as if it did not exist.
//
// A shard of the directory and the head change in one transaction, on the condition that the
// shard's revision is the one before. All writers meet at the head: DynamoDB refuses a
// transaction while another one changes it, and the same is sent again after a random, growing
// pause. Fourteen writers at once are done within a second or two.
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
// in one transaction, and each has the listing's revision: a reader that finds
// two revisions reads again. To write a longer listing is an error, and so is a
// state of more than 400 KiB.
//
// # Permissions on AWS
//
// Actions on the table, by purpose, with the partitions that dynamodb:LeadingKeys should
// limit them to. All keys of a BatchGetItem have to fit:
//
//	read listings            Query                              M#* P#* R#*
//	read versions            GetItem                            M#* P#* R#*
//	… with a token           BatchGetItem                       M#* P#* R#* A
//	note the use of tokens   UpdateItem                         A
//	publish                  Query, GetItem, PutItem,           M#* P#* R#*
//	                         DeleteItem
//	walk                     Scan
//	read the directory       GetItem, BatchGetItem              D#*
//	… with a token           BatchGetItem                       D#* A
//	write the directory      BatchGetItem, PutItem, UpdateItem  D#*
//	log in, administer       Query, GetItem, PutItem,           A T
//	                         DeleteItem
//	                         PutItem, DeleteItem                C#*
//
// A listing of several chunks takes a Query, too, if it is read with a token.
//
// The Scan has no leading keys. It can be limited to the attributes PK, SK and revision
// by dynamodb:Attributes, with SPECIFIC_ATTRIBUTES for dynamodb:Select. The UpdateItem
// can be limited to PK, SK and used: so the function that notes the use of a token cannot
// give it other scopes.
package dynamocatalog

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"github.com/larder-registry/larder/pkg/registry"
)

// Config says which table, where it is, and as whom to use it.
type Config struct {
	// Table is the name of the table. Required.
	Table string

	// Region is the table's AWS region. Required.
	Region string

	// Credentials sign the requests. Required.
	Credentials aws.CredentialsProvider

	// Endpoint is the URL of a DynamoDB that is not Amazon's. Empty: Amazon's
	// for the region.
	Endpoint string

	// Transport carries the requests. Nil: net/http's.
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

// Catalog is a [catalog.Index] in a table, which also has its [Access].
type Catalog struct {
	table
}

var _ catalog.Index = (*Catalog)(nil)

// New uses a table. It sends no request. The error says which setting is
// wrong.
func New(cfg Config) (*Catalog, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("table %q: %w", cfg.Table, err)
	}
	client, err := wire.New(wire.Config{Region: cfg.Region, Credentials: cfg.Credentials, Endpoint: cfg.Endpoint, Transport: cfg.Transport})
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", cfg.Table, err)
	}
	return &Catalog{table{client, cfg.Table, cfg.Region}}, nil
}

// Listing implements [catalog.Catalog].
func (c *Catalog) Listing(ctx context.Context, a registry.Address, lookup *access.Lookup) (catalog.Snapshot[*registry.Listing], error) {
	partition := layout.Partition(a)
	failed := func(err error) error {
		return fmt.Errorf("read the listing of %s in the catalog: %w", partition, c.explain(err))
	}
	var s stored
	var err error
	if lookup == nil {
		s, err = c.readListing(ctx, partition, false)
	} else {
		s, err = c.listingWithToken(ctx, partition, lookup)
	}
	if err != nil {
		return catalog.Snapshot[*registry.Listing]{}, failed(err)
	}
	return catalog.NewSnapshot(s.data, func(data []byte, into *registry.Listing) (err error) {
		if *into, err = decodeListing(data); err == nil && len(*into) == 0 {
			err = registry.ErrNotFound
		}
		if err != nil {
			return failed(err)
		}
		return nil
	}), nil
}

// State implements [catalog.Catalog].
func (c *Catalog) State(ctx context.Context, version registry.Subject, lookup *access.Lookup) (catalog.Snapshot[registry.State], error) {
	partition := layout.Partition(version.Address)
	failed := func(err error) error {
		return fmt.Errorf("read version %s of %s in the catalog: %w", version.Version, partition, c.explain(err))
	}
	i, err := c.getItem(ctx, key(partition, layout.Version(version.Version)), lookup)
	if err == nil && i == nil {
		err = registry.ErrNotFound
	}
	if err != nil {
		return catalog.Snapshot[registry.State]{}, failed(err)
	}
	return catalog.NewSnapshot([]byte(i.Base64(dataAttribute)), func(data []byte, into registry.State) error {
		if err := decodeState(data, into); err != nil {
			return failed(err)
		}
		return nil
	}), nil
}

// Put implements [catalog.Index]. It also lists a state that is stored already: its
// writer may have died before that.
func (c *Catalog) Put(ctx context.Context, s registry.State) error {
	err := c.putState(ctx, s)
	if err == nil && s.Listable() {
		err = c.addEntry(ctx, layout.Partition(s.Subject().Address), s.Listed())
	}
	if err != nil {
		return fmt.Errorf("write version %s of %s to the catalog: %w", s.Subject().Version, layout.Partition(s.Subject().Address), c.explain(err))
	}
	return nil
}
