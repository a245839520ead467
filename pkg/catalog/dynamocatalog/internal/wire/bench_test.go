package wire_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog/internal/wire"
)

// A listing of 400 versions for 12 platforms has this many bytes, and a token this JSON.
const listingSize = 1230

var tokenJSON = `{\"ID\":\"` + strings.Repeat("ab", 32) + `\",\"Subject\":\"ci@example.com\",\"Scopes\":[\"acme/*\"],\"Created\":\"2026-01-01T00:00:00Z\"}`

// memory answers every GetItem and every BatchGetItem with the same text.
func memory(t testing.TB) (endpoint string) {
	data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("larder", listingSize/6)))
	listing := `{"PK":{"S":"P#acme/widget"},"SK":{"S":"LIST"},"revision":{"N":"400"},"chunks":{"N":"1"},"data":{"B":"` + data + `"}}`
	token := `{"PK":{"S":"A"},"SK":{"S":"` + strings.Repeat("ab", 32) + `"},"used":{"S":"2026-11-22"},"request":{"S":"ABCDEFGHIJKLMNOPQRSTUVWXYZ"},"data":{"S":"` + tokenJSON + `"}}`
	answers := map[string]string{
		"DynamoDB_20120810.GetItem":      `{"Item":` + listing + `}`,
		"DynamoDB_20120810.BatchGetItem": `{"Responses":{"larder":[` + listing + `,` + token + `]},"UnprocessedKeys":{}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		answer := answers[r.Header.Get("X-Amz-Target")]
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(answer))))
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// BenchmarkReads compares a read by this package with the same read by the AWS SDK's client,
// and with net/http alone: the same answer to a request that is not signed, and is not
// decoded. All of them include what net/http's server takes.
func BenchmarkReads(b *testing.B) {
	endpoint := memory(b)
	signer := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", strings.Repeat("session", 100))
	client, err := wire.New(wire.Config{Region: "eu-central-1", Credentials: signer, Endpoint: endpoint})
	if err != nil {
		b.Fatal(err)
	}
	sdk := dynamodb.New(dynamodb.Options{Region: "eu-central-1", Credentials: aws.NewCredentialsCache(signer), BaseEndpoint: &endpoint})
	table, consistent := "larder", true
	sdkKey := func(partition, name string) map[string]types.AttributeValue {
		return map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: partition}, "SK": &types.AttributeValueMemberS{Value: name}}
	}
	key := func(partition, name string) wire.Item {
		return wire.Item{wire.Text("PK", partition), wire.Text("SK", name)}
	}
	token := strings.Repeat("ab", 32)
	for _, read := range []struct {
		name string
		of   func() (items int, err error)
	}{
		{"GetItem/bare", func() (int, error) { return bare(endpoint, "GetItem") }},
		{"GetItem/sdk", func() (int, error) {
			out, err := sdk.GetItem(b.Context(), &dynamodb.GetItemInput{TableName: &table, Key: sdkKey("P#acme/widget", "LIST")})
			if err != nil {
				return 0, err
			}
			return len(out.Item) / 5, nil
		}},
		{"GetItem/wire", func() (int, error) {
			item, err := client.GetItem(b.Context(), wire.Get{Table: table, Key: key("P#acme/widget", "LIST")})
			return len(item) / 5, err
		}},
		{"BatchGetItem/bare", func() (int, error) { return bare(endpoint, "BatchGetItem") }},
		{"BatchGetItem/sdk", func() (int, error) {
			out, err := sdk.BatchGetItem(b.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: []map[string]types.AttributeValue{sdkKey("P#acme/widget", "LIST"), sdkKey("A", token)}, ConsistentRead: &consistent},
			}})
			if err != nil {
				return 0, err
			}
			return len(out.Responses[table]), nil
		}},
		{"BatchGetItem/wire", func() (int, error) {
			found, _, err := client.BatchGetItem(b.Context(), wire.Batch{Table: table, Keys: []wire.Item{key("P#acme/widget", "LIST"), key("A", token)}, Consistent: consistent})
			return len(found), err
		}},
	} {
		b.Run(read.name, func(b *testing.B) {
			b.ReportAllocs()
			begin := cpuTime(b)
			for b.Loop() {
				if items, err := read.of(); err != nil || items == 0 {
					b.Fatalf("%d items, %v", items, err)
				}
			}
			b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

// bare sends a request without a signature, and reads the answer.
func bare(endpoint, operation string) (items int, err error) {
	r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(`{"TableName":"larder","Key":{"PK":{"S":"P#acme/widget"},"SK":{"S":"LIST"}}}`))
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(response.Body)
	return len(body), errors.Join(err, response.Body.Close())
}

// cpuTime is what this process has used, which says more than the time on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
