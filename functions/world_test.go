package functions_test

import (
	"crypto/rsa"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/larder-registry/larder/internal/archivetest"
	"github.com/larder-registry/larder/internal/awstest"
	"github.com/larder-registry/larder/internal/dynamotest"
	"github.com/larder-registry/larder/internal/kmstest"
	"github.com/larder-registry/larder/internal/lambdatest"
	"github.com/larder-registry/larder/internal/s3test"
	"github.com/larder-registry/larder/internal/templatetest"
	"github.com/larder-registry/larder/pkg/catalog/dynamocatalog"
)

// root is the repository. It is looked for before any test can change the
// working directory.
var root = func() string {
	folder, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	return folder
}()

// built is where the functions are, built for this machine.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "larder-functions-")
	if err != nil {
		return "", err
	}
	return folder, build(root, folder)
})

func TestMain(m *testing.M) {
	status := dynamotest.Run(m)
	if folder, err := built(); err == nil {
		_ = os.RemoveAll(folder)
	}
	os.Exit(status)
}

// build builds the functions of a copy of the repository.
func build(source, folder string, env ...string) error {
	command := exec.Command(filepath.Join(source, "scripts", "build-functions"), folder)
	command.Env = append(os.Environ(), env...)
	command.Stderr = os.Stderr
	return command.Run()
}

// bootstrap is a function's binary for this machine.
func bootstrap(t testing.TB, function string) string {
	t.Helper()
	folder, err := built()
	if err != nil {
		t.Fatalf("build the functions: %v", err)
	}
	return filepath.Join(folder, function, "bootstrap")
}

// credentials are what Lambda gives a function, in a shape that would be
// noticed in a log.
var credentials = []string{
	"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test-secret",
}

// reader starts a function that reads a table, to everyone who asks. The only
// origin that it pulls through is one that it refuses to connect to.
func reader(t testing.TB, function, table string, env ...string) *lambdatest.Function {
	t.Helper()
	return lambdatest.Start(t, bootstrap(t, function), append(append(env,
		"LARDER_TABLE="+table, "LARDER_BUCKET=larder-bucket", "LARDER_FETCH_QUEUE_URL="+fetchQueueURL,
		"LARDER_MIRROR_UPSTREAMS=127.0.0.1/*/*", "LARDER_MIRROR_PLATFORMS=all", "AWS_ENDPOINT_URL_DYNAMODB="+dynamotest.Start(t).Endpoint), credentials...))
}

// world is all that the function publish talks to.
type world struct {
	*testing.T
	s3      *s3test.Server
	table   string
	catalog *dynamocatalog.Catalog
	publish *lambdatest.Function

	queue *awstest.Queue // of uploads
	topic *awstest.Topic
}

const (
	queueURL      = "https://sqs.us-east-1.amazonaws.com/111122223333/larder-uploads"
	fetchQueueURL = "https://sqs.us-east-1.amazonaws.com/111122223333/larder-fetch.fifo"
	topicARN      = "arn:aws:sns:us-east-1:111122223333:larder-outcomes"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldIn(t, s3test.Start(t))
}

// newWorldIn is a registry in a bucket.
func newWorldIn(t *testing.T, bucket *s3test.Server) *world {
	t.Helper()
	return newWorldWith(t, bucket, kmstest.RSAKey(t, 4096))
}

// newWorldWith is a registry in a bucket that signs with a key.
func newWorldWith(t *testing.T, bucket *s3test.Server, key *rsa.PrivateKey) *world {
	t.Helper()
	dynamo := dynamotest.Start(t)
	table := dynamo.CreateTable(t)
	kms := kmstest.StartWith(t, key)
	w := &world{
		T: t, s3: bucket, table: table, catalog: newCatalog(t, table),
		queue: awstest.NewQueue(templatetest.Queue{URL: queueURL}), topic: awstest.NewTopic(topicARN),
	}
	queue := httptest.NewServer(awstest.ServeSQS(w.queue))
	t.Cleanup(queue.Close)
	topic := httptest.NewServer(w.topic)
	t.Cleanup(topic.Close)
	w.publish = lambdatest.Start(t, bootstrap(t, "publish"), append([]string{
		"LARDER_TABLE=" + table, "LARDER_BUCKET=" + w.s3.Bucket, "LARDER_KMS_KEY=" + kms.Key().ARN(), "LARDER_QUEUE_URL=" + queueURL,
		"LARDER_TOPIC_ARN=" + topicARN, "AWS_ENDPOINT_URL_SNS=" + topic.URL,
		"AWS_ENDPOINT_URL_S3=" + w.s3.Endpoint, "AWS_ENDPOINT_URL_DYNAMODB=" + dynamo.Endpoint,
		"AWS_ENDPOINT_URL_KMS=" + kms.Endpoint, "AWS_ENDPOINT_URL_SQS=" + queue.URL,
	}, credentials...))
	return w
}

func newCatalog(t testing.TB, table string) *dynamocatalog.Catalog {
	t.Helper()
	engine := dynamotest.Start(t)
	catalog, err := dynamocatalog.New(dynamocatalog.Config{
		Table: table, Region: engine.Region, Credentials: engine.Credentials(), Endpoint: engine.Endpoint,
	})
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// hold has the queue hold the messages of an event, as those that a function handles.
func hold(t *testing.T, queue *awstest.Queue, payload []byte) {
	t.Helper()
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatal(err)
	}
	for _, m := range event.Records {
		if m.ReceiptHandle != "" {
			queue.Hold(m.ReceiptHandle)
		}
	}
}

// heard is the last status of an upload that the topic got.
func (w *world) heard(key string) string {
	w.Helper()
	told := w.topic.Announcements(w.T, key)
	if len(told) == 0 {
		return ""
	}
	var outcome struct{ Status string }
	if err := json.Unmarshal([]byte(told[len(told)-1].Message), &outcome); err != nil {
		w.Fatal(err)
	}
	return outcome.Status
}

// content is what an upload with a key may hold so that nothing is wrong with
// it.
func content(t testing.TB, key string) []byte {
	t.Helper()
	switch {
	case strings.HasPrefix(key, "providers/"), strings.HasPrefix(key, "mirror/"):
		name, _, _ := strings.Cut(path.Base(key), "_")
		return archivetest.Provider(t, name+"_v1", key)
	case strings.HasSuffix(key, ".zip"):
		return archivetest.Provider(t, "main.tf", "")
	case strings.HasSuffix(key, ".tar.gz"):
		return archivetest.Module(t, "")
	default:
		return []byte("text")
	}
}
