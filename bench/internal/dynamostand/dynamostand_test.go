package dynamostand_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/larder-registry/larder/bench/internal/dynamostand"
	"github.com/larder-registry/larder/pkg/catalog"
	"github.com/larder-registry/larder/pkg/catalog/catalogtest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/registry"
)

func open(t *testing.T) (*dynamostand.Stand, string, *dynamocatalog.Catalog) {
	t.Helper()
	stand := dynamostand.New("larder")
	server := httptest.NewServer(stand)
	t.Cleanup(server.Close)
	index, err := dynamocatalog.New(dynamocatalog.Config{
		Table: "larder", Region: "us-east-1", Endpoint: server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("bench", "bench-secret", ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return stand, server.URL, index
}

// TestLookups holds the stand-in to what the driver needs of DynamoDB to read: the driver
// passes its suite of lookups over it.
func TestLookups(t *testing.T) {
	_, _, index := open(t)
	catalogtest.Lookups(t, catalogtest.LookupDriver{Index: index, Store: index.Access()})
}

// TestDirectory does the same with the suite of the directory.
func TestDirectory(t *testing.T) {
	catalogtest.Directory(t, func(t *testing.T) catalogtest.DirectoryDriver {
		_, _, index := open(t)
		return catalogtest.DirectoryDriver{Index: index, Store: index.Access()}
	})
}

// TestCatalog does the same with the suite of the whole catalog.
func TestCatalog(t *testing.T) {
	if os.Getenv("LARDER_LARGE") == "" {
		t.Skip("it takes a minute: LARDER_LARGE=1 runs it")
	}
	catalogtest.Test(t, func(t *testing.T) catalog.Index {
		_, _, index := open(t)
		return index
	})
}

// TestCounts checks that requests and read units are counted as DynamoDB does, and that
// answers come after the delay.
func TestCounts(t *testing.T) {
	stand, url, index := open(t)
	a, err := registry.ParseModuleAddress("acme", "vpc", "aws")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Listing(t.Context(), a, nil); err == nil {
		t.Error("there is a listing")
	}
	if _, err := catalogtest.ModuleVersion(t.Context(), index, a, registry.Version{}); err == nil {
		t.Error("there is a version")
	}
	if got, want := stand.Counts(), (dynamostand.Counts{Requests: map[string]int{"Query": 1, "GetItem": 1}, ReadUnits: 1}); !reflect.DeepEqual(got, want) {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	request, err := http.NewRequest(http.MethodPut, url+dynamostand.DelayPath, strings.NewReader("50ms"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.DefaultClient.Do(request); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	_, _ = index.Listing(t.Context(), a, nil)
	if took := time.Since(before); took < 50*time.Millisecond {
		t.Errorf("the answer came after %v", took)
	}
}
