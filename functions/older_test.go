package functions_test

import (
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/oldertest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
)

// What a folder of the series has of a deployment: the bucket, as the S3 for tests keeps it,
// the items of the table, and the private key, in place of that in KMS.
const (
	olderBucket  = "bucket"
	olderTable   = "table.json"
	olderKey     = "kms-key.pem"
	olderSecrets = "secrets.json"
)

// older is a deployment whose bucket and table are, or will be, those of an older version.
type older struct {
	*world
	versions, download, catalog, login *lambdatest.Function
	secrets                            oldertest.Secrets
}

func startOlder(t *testing.T, folder oldertest.Folder, bucket *s3test.Server) *older {
	t.Helper()
	signer, _ := folder.PrivateKey(t, olderKey)
	w := newWorldWith(t, bucket, signer.(*rsa.PrivateKey))
	w.publish.Setenv("LARDER_HOSTNAME", oldertest.Hostname)
	env := []string{"LARDER_HOSTNAME=" + oldertest.Hostname, "AWS_ENDPOINT_URL_S3=" + bucket.Endpoint}
	o := &older{world: w, login: loginFunction(t, startProvider(t), w.table)}
	o.versions, o.download, o.catalog = olderReader(t, "versions", w, env), olderReader(t, "download", w, env), olderReader(t, "catalog", w, env)
	return o
}

// olderReader is a function that reads the table, and leads to the bucket.
func olderReader(t *testing.T, function string, w *world, env []string) *lambdatest.Function {
	t.Helper()
	return lambdatest.Start(t, bootstrap(t, function), slices.Concat(env, credentials,
		[]string{"LARDER_TABLE=" + w.table, "LARDER_BUCKET=" + w.s3.Bucket, "AWS_ENDPOINT_URL_DYNAMODB=" + dynamotest.Start(t).Endpoint}))
}

// door is how clients ask it.
func (o *older) door() oldertest.Door {
	return oldertest.Door{
		Bucket: o.s3.Endpoint + "/" + o.s3.Bucket,
		Fetch: func(link string) []byte {
			response, err := http.Get(link)
			if err != nil {
				o.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusOK {
				o.Errorf("%s: %s, %v", link, response.Status, err)
			}
			return body
		},
		Ask: func(q oldertest.Question) oldertest.Answer {
			header := map[string]string{}
			if q.Who != "" {
				header["authorization"] = "Bearer " + o.secrets.Tokens[q.Who]
			}
			if q.Client != "" {
				header["x-terraform-version"] = q.Client
			}
			got := send(o.T, o.routed(q.Path), http.MethodGet, q.Path, nil, header)
			return oldertest.NewAnswer(got.StatusCode, func(name string) string { return got.Headers[name] }, got.Body)
		},
	}
}

// routed is the function that the template routes a path to.
func (o *older) routed(path string) *lambdatest.Function {
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	if last == "versions" || last == "index.json" || last == "download" && parts[2] == "modules" && len(parts) == 7 {
		return o.versions
	}
	if parts[2] == "modules" && len(parts) == 7 || parts[2] == "providers" && len(parts) == 6 {
		return o.catalog
	}
	return o.download
}

// operator is how operators ask it.
func (o *older) operator() oldertest.Operator {
	return oldertest.Operator{
		Ask: func(r control.Request) (a control.Answer) {
			invoke(o.T, o.world.publish, map[string]control.Request{"control": r}, &a)
			if a.Error != "" {
				o.Fatal(a.Error)
			}
			return a
		},
		Access: func(r admin.Request) (a admin.Answer) {
			invoke(o.T, o.login, map[string]admin.Request{"access": r}, &a)
			if a.Error != "" {
				o.Fatal(a.Error)
			}
			return a
		},
	}
}

// invoke invokes a function with an event.
func invoke(t *testing.T, f *lambdatest.Function, event, result any) {
	t.Helper()
	payload, err := json.Marshal(event)
	if err == nil {
		payload, err = f.Invoke(t.Context(), payload)
	}
	if err == nil {
		err = json.Unmarshal(payload, result)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// take uploads, and invokes the function with the event that S3 would send.
func (o *older) take(uploads []oldertest.Upload) {
	o.Helper()
	for _, u := range uploads {
		var version string
		if u.Source == "" {
			version = o.s3.Upload(o.T, u.Key, u.Body, map[string]string{"team": "a b"})
		} else {
			version = o.s3.UploadFrom(o.T, u.Key, u.Body, u.Source)
		}
		if failures := o.invoke(o.event(u.Key, version)); failures != 0 {
			o.Errorf("%s: the message failed", u.Key)
		}
		if got := o.s3.Tags(o.T, u.Key, version)[inbox.StatusTag]; got != string(u.Status) {
			o.Errorf("%s is %q, want %q", u.Key, got, u.Status)
		}
	}
}

// event is what the queue says of an upload: the golden one, of another object.
func (o *older) event(key, version string) []byte {
	o.Helper()
	var batch events.SQSEvent
	if err := json.Unmarshal(golden(o.T, "publish/module"), &batch); err != nil {
		o.Fatal(err)
	}
	var told events.S3Event
	if err := json.Unmarshal([]byte(batch.Records[0].Body), &told); err != nil {
		o.Fatal(err)
	}
	told.Records[0].S3.Bucket.Name = o.s3.Bucket
	told.Records[0].S3.Object = events.S3Object{Key: strings.ReplaceAll(key, "+", "%2B"), VersionID: version}
	body, err := json.Marshal(told)
	if err != nil {
		o.Fatal(err)
	}
	batch.Records[0].Body = string(body)
	payload, err := json.Marshal(batch)
	if err != nil {
		o.Fatal(err)
	}
	return payload
}

// items is the table as text: an item is its attributes, each by type.
func (o *older) items() (all []map[string]map[string]any) {
	o.Helper()
	pages := dynamodb.NewScanPaginator(dynamotest.Start(o.T).Client(), &dynamodb.ScanInput{TableName: &o.table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(o.Context())
		if err != nil {
			o.Fatal(err)
		}
		for _, item := range page.Items {
			told := map[string]map[string]any{}
			for name, value := range item {
				switch value := value.(type) {
				case *types.AttributeValueMemberS:
					told[name] = map[string]any{"S": value.Value}
				case *types.AttributeValueMemberN:
					told[name] = map[string]any{"N": value.Value}
				case *types.AttributeValueMemberB:
					told[name] = map[string]any{"B": value.Value}
				default:
					o.Fatalf("%s has a value of a type that is not kept: %T", name, value)
				}
			}
			all = append(all, told)
		}
	}
	slices.SortFunc(all, func(a, b map[string]map[string]any) int {
		key := func(item map[string]map[string]any) string {
			return item[dynamocatalog.PartitionKey]["S"].(string) + " " + item[dynamocatalog.SortKey]["S"].(string)
		}
		return strings.Compare(key(a), key(b))
	})
	return all
}

// put fills the table with items that were kept.
func (o *older) put(folder oldertest.Folder) {
	o.Helper()
	var kept []map[string]struct {
		S, N *string
		B    []byte
	}
	folder.Read(o.T, olderTable, &kept)
	client := dynamotest.Start(o.T).Client()
	for _, attributes := range kept {
		item := map[string]types.AttributeValue{}
		for name, value := range attributes {
			switch {
			case value.S != nil:
				item[name] = &types.AttributeValueMemberS{Value: *value.S}
			case value.N != nil:
				item[name] = &types.AttributeValueMemberN{Value: *value.N}
			default:
				item[name] = &types.AttributeValueMemberB{Value: value.B}
			}
		}
		if _, err := client.PutItem(o.Context(), &dynamodb.PutItemInput{TableName: &o.table, Item: item}); err != nil {
			o.Fatal(err)
		}
	}
}

// TestOlderDeployments checks that a bucket and a table of older versions are read as
// they are, that the table's catalog can be made from the records alone, and that
// today's uploads find their place in them.
func TestOlderDeployments(t *testing.T) {
	oldertest.Each(t, "aws", func(t *testing.T, folder oldertest.Folder) {
		dir := t.TempDir()
		folder.LayOut(t, olderBucket, dir)
		bucket := s3test.StartIn(t, dir)
		o := startOlder(t, folder, bucket)
		folder.Read(t, olderSecrets, &o.secrets)
		o.put(folder)
		folder.CheckAnswers(t, o.door())
		folder.CheckKnown(t, o.operator())

		o.forget()
		o.operator().Walk(func(p control.Part) control.Request { return control.Request{Reindex: &control.Reindex{Part: p}} }, func(*control.Walked) {})
		folder.CheckAnswers(t, o.door())
		folder.CheckKnown(t, o.operator())
		o.take(oldertest.Beside(t, folder.Author(t)))
		o.operator().CheckWhole(t)
		folder.CheckBeside(t, o.door())
	})
}

// forget removes the catalog from the table, and leaves tokens and rules.
func (o *older) forget() {
	o.Helper()
	client := dynamotest.Start(o.T).Client()
	removed := 0
	for _, item := range o.items() {
		partition, sort := item[dynamocatalog.PartitionKey]["S"].(string), item[dynamocatalog.SortKey]["S"].(string)
		if kind, _, _ := strings.Cut(partition, "#"); !slices.Contains([]string{"M", "P", "R"}, kind) { // modules, providers and the mirror
			continue
		}
		removed++
		if _, err := client.DeleteItem(o.Context(), &dynamodb.DeleteItemInput{TableName: &o.table, Key: map[string]types.AttributeValue{
			dynamocatalog.PartitionKey: &types.AttributeValueMemberS{Value: partition}, dynamocatalog.SortKey: &types.AttributeValueMemberS{Value: sort},
		}}); err != nil {
			o.Fatal(err)
		}
	}
	if removed == 0 {
		o.Fatal("there is nothing of the catalog in the table")
	}
}

// TestWriteOlderDeployment writes what the functions of the present version do, for
// later ones.
func TestWriteOlderDeployment(t *testing.T) {
	folder := oldertest.New(t, "aws")
	oldertest.NewPrivateKey(t, folder.Path(olderKey), 4096)
	dir := t.TempDir()
	o := startOlder(t, folder, s3test.StartIn(t, dir))
	operator, distrusted := o.operator(), folder.Distrusted(t)
	o.secrets = oldertest.NewSecrets(t, operator)
	folder.Write(t, olderSecrets, o.secrets)
	o.take(oldertest.Uploads(t, folder.Author(t), distrusted))
	for _, request := range oldertest.Changes(distrusted) {
		operator.Ask(request)
	}
	o.take(oldertest.Later(t))
	folder.KeepAnswers(t, o.door())
	folder.KeepKnown(t, operator)
	folder.Write(t, olderTable, o.items())
	folder.Keep(t, olderBucket, dir)
}
