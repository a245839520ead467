package dynamocatalog_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

// requestsPerPut of a new version.
const requestsPerPut = 3

// TestPutDespiteFaults fails each request of a put once, in a way after which
// it is sent again: the caller does not notice.
func TestPutDespiteFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing of it runs at the same time: the race detector has nothing to see")
	}
	want := withoutFaults(t)
	for _, f := range passing {
		for at := 1; at <= requestsPerPut; at++ {
			t.Run(fmt.Sprintf("%s, request %d", f.name, at), func(t *testing.T) {
				b := newTable(t)
				seed(t, b)
				c := b.open(t, &transport{pick: f.only(at)})
				if err := catalogtest.Put(t.Context(), c, catalogtest.Provider(widget, 2, 3)[1]); err != nil {
					t.Fatal(err)
				}
				if got := b.items(t, "P#"+widget.String()); !reflect.DeepEqual(got, want) {
					t.Errorf("the partition is %v, want %v", got, want)
				}
			})
		}
	}
}

// TestReadDespiteFaults fails questions once, which the caller does not notice.
func TestReadDespiteFaults(t *testing.T) {
	b := newTable(t)
	seed(t, b)
	want := catalogtest.Provider(widget, 1, 3)[0]
	for _, f := range passing {
		listing, listErr := catalog.Listing(t.Context(), b.open(t, &transport{pick: f.only(1)}), widget)
		p, err := catalogtest.ProviderVersion(t.Context(), b.open(t, &transport{pick: f.only(1)}), widget, want.Version)
		if listErr != nil || err != nil || !reflect.DeepEqual(p, want) || !reflect.DeepEqual(listing, registry.Listing{want.Listed()}) {
			t.Errorf("%s: %v, %v; %+v, %v", f.name, listing, listErr, p, err)
		}
	}
}

// TestPutAgainAfterFault fails each request of a put for good. The put says so,
// nothing is listed that cannot be read, and the same put again ends where one
// without a fault does.
func TestPutAgainAfterFault(t *testing.T) {
	want := withoutFaults(t)
	for _, f := range final {
		for at := 1; at <= requestsPerPut; at++ {
			t.Run(fmt.Sprintf("%s, request %d", f.name, at), func(t *testing.T) {
				b := newTable(t)
				seed(t, b)
				p := catalogtest.Provider(widget, 2, 3)[1]
				err := catalogtest.Put(t.Context(), b.open(t, &transport{pick: f.only(at)}), p)
				if codeOf(err) != f.code {
					t.Errorf("the put that failed = %v, want %s", err, f.code)
				}
				c := b.open(t, nil)
				readable(t, b)
				if err := catalogtest.Put(t.Context(), c, p); err != nil {
					t.Fatal(err)
				}
				if got := b.items(t, "P#"+widget.String()); !reflect.DeepEqual(got, want) {
					t.Errorf("the partition is %v, want %v", got, want)
				}
			})
		}
	}
}

// TestThrottledForLong checks that there is an end to trying, with the reason.
func TestThrottledForLong(t *testing.T) {
	count := &transport{pick: func(int) (fault, bool) { return passing[0], true }}
	c := newTable(t).open(t, count)
	_, err := catalog.Listing(t.Context(), c, widget)
	if codeOf(err) != passing[0].code || errors.Is(err, registry.ErrNotFound) {
		t.Errorf("ProviderVersions = %v, want %s", err, passing[0].code)
	}
	if got := len(count.take()); got != dynamocatalog.MaxAttempts {
		t.Errorf("%d requests, want %d", got, dynamocatalog.MaxAttempts)
	}
}

// TestConflicted has the errors after which a listing is read and put again.
func TestConflicted(t *testing.T) {
	cancelled := func(reasons ...string) error {
		return fmt.Errorf("wrapped: %w", dynamocatalog.Refusal("TransactionCanceledException", reasons...))
	}
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{dynamocatalog.Refusal("ConditionalCheckFailedException"), true},
		{dynamocatalog.Refusal("TransactionConflictException"), true},
		{cancelled("ConditionalCheckFailed", "None"), true},
		{cancelled("None", "TransactionConflict"), true},
		{cancelled("ThrottlingError", "None"), true},
		{cancelled("ProvisionedThroughputExceeded"), true},
		{cancelled("ConditionalCheckFailed", "ValidationError"), false},
		{cancelled("ItemCollectionSizeLimitExceeded"), false},
		{dynamocatalog.Refusal("ResourceNotFoundException"), false},
		{dynamocatalog.Refusal("ProvisionedThroughputExceededException"), false},
		{errors.New("another"), false},
		{nil, false},
	} {
		if got := dynamocatalog.Conflicted(tt.err); got != tt.want {
			t.Errorf("conflicted(%v) = %t", tt.err, got)
		}
	}
}

// seed puts a version that was there before.
func seed(t *testing.T, b table) {
	t.Helper()
	if err := catalogtest.Put(t.Context(), b.open(t, nil), catalogtest.Provider(widget, 2, 3)[0]); err != nil {
		t.Fatal(err)
	}
}

// withoutFaults is what two puts end in.
func withoutFaults(t *testing.T) any {
	t.Helper()
	b := newTable(t)
	seed(t, b)
	if err := catalogtest.Put(t.Context(), b.open(t, nil), catalogtest.Provider(widget, 2, 3)[1]); err != nil {
		t.Fatal(err)
	}
	return b.items(t, "P#"+widget.String())
}

// readable checks that all that is listed is there.
func readable(t *testing.T, b table) {
	t.Helper()
	c := b.open(t, nil)
	listing, err := catalog.Listing(t.Context(), c, widget)
	if err != nil || len(listing) == 0 {
		t.Errorf("listing: %v, %v", listing, err)
	}
	for _, entry := range listing {
		p, err := catalogtest.ProviderVersion(t.Context(), c, widget, entry.Version)
		if err != nil || p.Revision < entry.Revision {
			t.Errorf("%s is listed, and is %+v, %v", entry.Version, p, err)
		}
	}
}

// codeOf is the exception that an error is, or empty.
func codeOf(err error) string {
	refusal, ok := errors.AsType[interface {
		error
		ErrorCode() string
	}](err)
	if !ok {
		return ""
	}
	return refusal.ErrorCode()
}
