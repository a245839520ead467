// Package dynamotest gives tests a real DynamoDB: Amazon's own DynamoDB Local, which `make
// dynamodb` fetches, in memory and with one process per test binary. AWS_ENDPOINT_URL_DYNAMODB
// names another server of the protocol.
//
// Without either, tests that need it are skipped, or fail if CI is set.
package dynamotest

import (
	"context"
	"crypto/rand"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	endpointVariable = "AWS_ENDPOINT_URL_DYNAMODB"
	missing          = "no DynamoDB to test with: run `make dynamodb`, or set " + endpointVariable

	// tableTimeout is how long a table may take to come or to go.
	tableTimeout = time.Minute
)

// Engine is a running DynamoDB. Its credentials may do everything.
type Engine struct {
	Endpoint  string // http://127.0.0.1:<port>
	Region    string
	AccessKey string
	SecretKey string
}

// started is the one engine of this test binary, once a test has asked for it.
var started struct {
	sync.Mutex
	engine *Engine
	stop   func()
}

// Run runs the tests of a binary, a [*testing.M] or a type with one, and stops the engine after
// them. TestMain calls it, and exits with the result.
func Run(m interface{ Run() int }) int {
	defer func() {
		if started.stop != nil {
			started.stop()
		}
	}()
	return m.Run()
}

// Start returns the engine, which the first call starts. Without [Run], the engine ends with the
// test binary, and only on Linux.
func Start(t testing.TB) *Engine {
	t.Helper()
	started.Lock()
	defer started.Unlock()
	if started.engine == nil {
		endpoint := os.Getenv(endpointVariable)
		if endpoint == "" {
			endpoint, started.stop = launch(t)
		}
		started.engine = &Engine{Endpoint: endpoint, Region: "us-east-1", AccessKey: "test", SecretKey: "test-secret"}
	}
	return started.engine
}

// Credentials are the engine's, for clients of the AWS SDK.
func (e *Engine) Credentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(e.AccessKey, e.SecretKey, "")
}

// Client reaches the engine.
func (e *Engine) Client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:       e.Region,
		Credentials:  e.Credentials(),
		BaseEndpoint: &e.Endpoint,
	})
}

// CreateTable creates a table with the keys of the registry's, under a unique name, which it
// returns. The table is deleted when the test ends.
func (e *Engine) CreateTable(t testing.TB) string {
	t.Helper()
	name := "larder-test-" + rand.Text()
	client := e.Client()
	if _, err := client.CreateTable(t.Context(), schema(name)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's own context is over by now
		ctx, cancel := context.WithTimeout(context.Background(), tableTimeout)
		defer cancel()
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
			t.Error(err)
		}
	})
	active := dynamodb.NewTableExistsWaiter(client)
	if err := active.Wait(t.Context(), &dynamodb.DescribeTableInput{TableName: &name}, tableTimeout); err != nil {
		t.Fatal(err)
	}
	return name
}

// schema is the registry's table, as template.yaml has it.
func schema(name string) *dynamodb.CreateTableInput {
	partition, sort := "PK", "SK"
	return &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: &partition, KeyType: types.KeyTypeHash},
			{AttributeName: &sort, KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: &partition, AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: &sort, AttributeType: types.ScalarAttributeTypeS},
		},
	}
}
