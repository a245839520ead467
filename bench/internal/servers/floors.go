package servers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// The paths of the floors: what an answer takes at least. The reads have the item's keys in
// their query.
const (
	BarePath = "/bare" // JSON that is always the same
	SDKPath  = "/sdk"  // an item, and three presigned URLs, by the AWS SDK's clients
	LeanPath = "/lean" // the same by signed requests alone
)

// URLs is how many presigned URLs an answer with a read has.
const URLs = 3

func newFloors(getenv func(string) string) (http.Handler, error) {
	endpoint := getenv(StandURL)
	f := floors{
		endpoint: endpoint,
		client:   &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		signer:   v4.NewSigner(),
		table:    dynamodb.New(dynamodb.Options{Region: Region, Credentials: Credentials(), BaseEndpoint: &endpoint}),
		presign:  s3.NewPresignClient(s3.New(s3.Options{Region: Region, Credentials: Credentials()}), s3.WithPresignExpires(15*time.Minute)),
	}
	mux := http.NewServeMux()
	mux.HandleFunc(BarePath, func(w http.ResponseWriter, _ *http.Request) { send(w, []byte(`{"modules.v1":"/v1/modules/"}`)) })
	mux.HandleFunc(SDKPath, f.answer(f.readBySDK, f.presignBySDK))
	mux.HandleFunc(LeanPath, f.answer(f.readLean, f.presignLean))
	return mux, nil
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // fails only when the client has gone
}

type floors struct {
	endpoint string
	client   *http.Client
	signer   *v4.Signer
	table    *dynamodb.Client
	presign  *s3.PresignClient
}

// answer reads an item, and answers with URLs.
func (f floors) answer(read func(context.Context, string, string) error, presign func(context.Context, string) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		err := read(r.Context(), query.Get("pk"), query.Get("sk"))
		var urls [URLs]string
		for n := range urls {
			if err == nil {
				urls[n], err = presign(r.Context(), fmt.Sprintf("registry/providers/acme/medium/1.0.%d/package.zip", n))
			}
		}
		var body []byte
		if err == nil {
			body, err = json.Marshal(urls)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, body)
	}
}

func (f floors) readBySDK(ctx context.Context, partition, name string) error {
	out, err := f.table.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(Table), Key: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: partition}, "SK": &types.AttributeValueMemberS{Value: name},
	}})
	if err == nil && out.Item == nil {
		err = fmt.Errorf("there is no item %s %s", partition, name)
	}
	return err
}

func (f floors) presignBySDK(ctx context.Context, key string) (string, error) {
	signed, err := f.presign.PresignGetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &key})
	if err != nil {
		return "", err
	}
	return signed.URL, nil
}

// ReadBody is the body of a request for an item.
func ReadBody(partition, name string) []byte {
	return fmt.Appendf(nil, `{"TableName":%q,"Key":{"PK":{"S":%q},"SK":{"S":%q}}}`, Table, partition, name)
}

// ReadTarget is the operation of that request.
const ReadTarget = "DynamoDB_20120810.GetItem"

func (f floors) readLean(ctx context.Context, partition, name string) error {
	body := ReadBody(partition, name)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, f.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", ReadTarget)
	keys, err := Credentials().Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	if err := f.signer.SignHTTP(ctx, keys, request, hex.EncodeToString(sum[:]), "dynamodb", Region, time.Now()); err != nil {
		return err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	item, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.HasPrefix(item, []byte(`{"Item":`))) {
		err = fmt.Errorf("status %d: %.100q", response.StatusCode, item)
	}
	return err
}

func (f floors) presignLean(ctx context.Context, key string) (string, error) {
	u := url.URL{Scheme: "https", Host: Bucket + ".s3." + Region + ".amazonaws.com", Path: "/" + key, RawQuery: "X-Amz-Expires=900&x-id=GetObject"}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	keys, err := Credentials().Retrieve(ctx)
	if err != nil {
		return "", err
	}
	signed, _, err := f.signer.PresignHTTP(ctx, keys, request, "UNSIGNED-PAYLOAD", "s3", Region, time.Now(), func(o *v4.SignerOptions) {
		o.DisableURIPathEscaping = true
	})
	return signed, err
}
