package serve

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/node/backup"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/internal/oldertest"
	"github.com/larder-registry/larder/internal/progress"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/blob"
	"github.com/larder-registry/larder/pkg/control"
)

// What a folder of the series has of a node: its data folder, and a backup of it
// without what lies below registry/, which is the same in both.
const (
	olderData    = "data"
	olderBackup  = "backup"
	olderSecrets = "secrets.json"
	olderPublic  = datadir.S3 + "/" + locals3.Bucket + "/registry"
)

// older is a node whose data folder an older version wrote, or is to be one.
type older struct {
	*running
	node *node
}

func startOlder(t *testing.T, set settings.Settings) older {
	t.Helper()
	set.Hostname = oldertest.Hostname
	n := &node{settings: set}
	return older{startNode(t, n), n}
}

// client reaches the node by its name.
func (o older) client(t *testing.T) *http.Client {
	t.Helper()
	client := o.running.client(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == oldertest.Hostname+":443" {
			address = o.node.listener.Addr().String()
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	return client
}

// door is how clients ask it.
func (o older) door(t *testing.T, secrets oldertest.Secrets) oldertest.Door {
	t.Helper()
	client := o.client(t)
	get := func(url string, header map[string]string) (*http.Response, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range header {
			request.Header.Set(name, value)
		}
		return answer(t, client, request)
	}
	return oldertest.Door{
		Bucket: o.env(t, "AWS_ENDPOINT_URL_S3") + "/" + locals3.Bucket,
		Fetch: func(link string) []byte {
			response, body := get(link, nil)
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", link, response.Status)
			}
			return []byte(body)
		},
		Ask: func(q oldertest.Question) oldertest.Answer {
			header := map[string]string{}
			if token := secrets.Tokens[q.Who]; token != "" {
				header["Authorization"] = "Bearer " + token
			}
			if q.Client != "" {
				header["X-Terraform-Version"] = q.Client
			}
			response, body := get("https://"+oldertest.Hostname+q.Path, header)
			return oldertest.NewAnswer(response.StatusCode, response.Header.Get, body)
		},
	}
}

// operator is how operators ask it.
func (o older) operator(t *testing.T) oldertest.Operator {
	return oldertest.Operator{
		Ask:    func(r control.Request) control.Answer { t.Helper(); return o.ask(t, r) },
		Access: func(r admin.Request) admin.Answer { t.Helper(); return *o.ask(t, control.Request{Access: &r}).Access },
	}
}

// publish uploads with an access key, the operator's where it is empty, and waits for
// what becomes of it.
func (o older) publish(t *testing.T, uploads []oldertest.Upload, keyID, secret string) {
	t.Helper()
	client := s3.New(s3.Options{
		Region: locals3.Region, BaseEndpoint: aws.String(o.env(t, "AWS_ENDPOINT_URL_S3")), UsePathStyle: true, HTTPClient: o.client(t),
		Credentials: credentials.NewStaticCredentialsProvider(cmp.Or(keyID, o.env(t, "AWS_ACCESS_KEY_ID")), cmp.Or(secret, o.env(t, "AWS_SECRET_ACCESS_KEY")), ""),
	})
	for _, u := range uploads {
		in := &s3.PutObjectInput{Bucket: aws.String(locals3.Bucket), Key: &u.Key, Body: bytes.NewReader(u.Body)}
		if keyID == "" { // an uploader may not set tags
			in.Tagging = aws.String("team=a%20b")
		}
		if u.Source != "" {
			in.Metadata = map[string]string{blob.SourceMetadata: u.Source}
		}
		put, err := client.PutObject(t.Context(), in)
		if err != nil {
			t.Fatalf("%s: %v", u.Key, err)
		}
		eventually(t, func() error {
			walked := o.ask(t, control.Request{Uploads: &control.Uploads{Prefix: u.Key, Status: control.AnyStatus}}).Walked
			for _, outcome := range walked.Uploads {
				if outcome.Key == u.Key && outcome.Version == aws.ToString(put.VersionId) && outcome.Status == u.Status {
					return nil
				}
			}
			return fmt.Errorf("%s is not %s: %+v", u.Key, u.Status, walked.Uploads)
		})
	}
}

// TestOlderDataFolders holds that data folders of older versions are read as they are,
// also without the catalog, and that today's uploads find their place in them.
func TestOlderDataFolders(t *testing.T) {
	oldertest.Each(t, "node", func(t *testing.T, folder oldertest.Folder) {
		set := localSettings(t)
		set.Auth = settings.AuthRequired
		folder.LayOut(t, olderData, set.Data)
		checkOlderNode(t, folder, set)
	})
}

// TestOlderBackups holds the same of backups.
func TestOlderBackups(t *testing.T) {
	oldertest.Each(t, "node", func(t *testing.T, folder oldertest.Folder) {
		set := localSettings(t)
		set.Auth = settings.AuthRequired
		from, whole := t.TempDir(), t.TempDir()
		folder.LayOut(t, olderBackup, from)
		folder.LayOut(t, olderData, whole)
		if err := os.CopyFS(filepath.Join(from, "registry"), os.DirFS(filepath.Join(whole, olderPublic))); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.Restore(t.Context(), restoreOptions(set), from); err != nil {
			t.Fatal(err)
		}
		var secrets oldertest.Secrets
		folder.Read(t, olderSecrets, &secrets)
		o := startOlder(t, set)
		folder.CheckAnswers(t, o.door(t, secrets))
		o.operator(t).CheckWhole(t)
	})
}

// TestOlderBucketsOnANode holds that a node serves what lies below registry/ in the
// bucket of an older deployment as that did: its catalog is made from the records
// alone.
func TestOlderBucketsOnANode(t *testing.T) {
	oldertest.Each(t, "aws", func(t *testing.T, folder oldertest.Folder) {
		set := localSettings(t)
		plain := t.TempDir()
		public := os.DirFS(filepath.Join(folder.Path("bucket"), "objects", "larder-test", "registry"))
		if err := os.CopyFS(filepath.Join(plain, "registry"), public); err != nil {
			t.Fatal(err)
		}
		if _, err := backup.RestorePlain(t.Context(), restoreOptions(set), plain); err != nil {
			t.Fatal(err)
		}
		o := startOlder(t, set)
		folder.CheckAnswers(t, o.door(t, oldertest.Secrets{}), oldertest.Everything)
		o.operator(t).CheckWhole(t)
	})
}

func restoreOptions(set settings.Settings) backup.RestoreOptions {
	return backup.RestoreOptions{Data: set.Data, Progress: progress.New(io.Discard, false), Logger: slog.New(slog.DiscardHandler)}
}

func checkOlderNode(t *testing.T, folder oldertest.Folder, set settings.Settings) {
	t.Helper()
	var secrets oldertest.Secrets
	folder.Read(t, olderSecrets, &secrets)
	asItIs := startOlder(t, set)
	folder.CheckAnswers(t, asItIs.door(t, secrets))
	folder.CheckKnown(t, asItIs.operator(t))
	if err := asItIs.stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(set.Data, datadir.Catalog)); err != nil {
		t.Fatal(err)
	}
	rebuilt := startOlder(t, set)
	folder.CheckAnswers(t, rebuilt.door(t, secrets))
	folder.CheckKnown(t, rebuilt.operator(t))

	rebuilt.publish(t, oldertest.Beside(t, folder.Author(t)), secrets.AccessKeyID, secrets.SecretAccessKey)
	rebuilt.operator(t).CheckWhole(t)
	folder.CheckBeside(t, rebuilt.door(t, secrets))
}

// TestWriteOlderNode writes what a node of the present version does, for later ones.
func TestWriteOlderNode(t *testing.T) {
	folder := oldertest.New(t, "node")
	set := localSettings(t)
	set.Auth = settings.AuthRequired
	for _, name := range []string{datadir.SigningKey, datadir.NextSigningKey} {
		oldertest.NewPrivateKey(t, filepath.Join(set.Data, name), 2048)
	}
	o := startOlder(t, set)
	operator, distrusted := o.operator(t), folder.Distrusted(t)
	secrets := oldertest.NewSecrets(t, operator)
	uploader := operator.Ask(control.Request{CreateUploader: &control.CreateUploader{Name: "acme-ci", Namespaces: []string{"acme"}}}).UploaderCreated
	secrets.AccessKeyID, secrets.SecretAccessKey = uploader.AccessKeyID, uploader.SecretAccessKey
	folder.Write(t, olderSecrets, secrets)

	o.publish(t, oldertest.Uploads(t, folder.Author(t), distrusted), "", "")
	for _, request := range oldertest.Changes(distrusted) {
		operator.Ask(request)
	}
	operator.Ask(control.Request{Rotate: &control.Rotate{}})
	operator.Ask(control.Request{RotateAccess: &control.RotateAccess{}})
	o.publish(t, oldertest.Later(t), secrets.AccessKeyID, secrets.SecretAccessKey)
	folder.KeepAnswers(t, o.door(t, secrets))
	folder.KeepKnown(t, operator)
	if err := o.stop(); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "backup")
	if _, err := backup.Create(t.Context(), backup.Options{Data: set.Data, Progress: progress.New(io.Discard, false), Logger: slog.New(slog.DiscardHandler)}, to); err != nil {
		t.Fatal(err)
	}
	folder.Keep(t, olderBackup, to, "registry")
	folder.Keep(t, olderData, set.Data, datadir.Bundle, datadir.Lock, datadir.Scratch)
}
