package locals3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/pkg/access"
	"github.com/versity/versitygw/backend/meta"
)

// Another process goes on while the keys are rotated, as a backup that takes hours must.
func TestRotateUnderAConnection(t *testing.T) {
	path := t.TempDir()
	e := start(t, path)
	connection, err := Connect(path)
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := connection.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	client := connection.Client()
	ctx, cancel := context.WithCancel(t.Context())
	var rotated error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		for range 10 {
			rotated = errors.Join(rotated, e.Keys.Rotate(time.Minute))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for ctx.Err() == nil {
		for _, err := range bucket.List(t.Context(), "registry/", "") {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := client.ListObjectVersions(t.Context(), &s3.ListObjectVersionsInput{Bucket: aws.String(Bucket)}); err != nil {
			t.Fatal(err)
		}
	}
	if <-done; rotated != nil {
		t.Error(rotated)
	}
}

// What is rotated stops at once, but for the URLs that were signed before, and
// what is not stays.
func TestRotate(t *testing.T) {
	path := t.TempDir()
	e := start(t, path)
	put(t, e.Client(e.Root), "registry/blob", "served")
	put(t, e.Client(e.Root), "modules/acme/x", "upload")
	uploader := e.uploader(t, "ci", "acme")
	link := func(who Credentials, key string) string {
		request, err := s3.NewPresignClient(e.Client(who)).PresignGetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(Bucket), Key: &key})
		if err != nil {
			t.Fatal(err)
		}
		return request.URL
	}
	download := func(what, url string, want int) {
		t.Helper()
		if status, body := e.request(t, http.MethodGet, url); status != want || want == http.StatusOK && body != "served" {
			t.Errorf("%s: %d, want %d: %s", what, status, want, body)
		}
	}
	if err := e.Keys.Rotate(time.Minute); err != nil {
		t.Fatal(err)
	}
	now := pair{e.Keys.Root(), e.Keys.Operator()}
	if now.root == e.Root || now.operator == e.Operator || now.root == now.operator {
		t.Fatal("there are no two new keys")
	}
	check := func() {
		t.Helper()
		put(t, e.Client(now.root), "registry/blob", "served")
		put(t, e.Client(now.operator), "modules/acme/x", "upload")
		put(t, e.Client(uploader), "modules/acme/x", "upload")
		_, err := e.Client(e.Operator).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket)})
		wantCode(t, "the operator's old key", err, "InvalidAccessKeyId")
		download("a link of the new root", link(now.root, "registry/blob"), http.StatusOK)
		download("a link of the old root", link(e.Root, "registry/blob"), http.StatusOK)
		download("a link of the old root to an upload", link(e.Root, "modules/acme/x"), http.StatusForbidden)
		for _, key := range []string{"registry/blob", "modules/acme/x"} {
			for _, w := range writes {
				if w.name != "copy onto" { // the source of which is not there
					wantCode(t, "the old root: "+w.name, w.do(t, e.Client(e.Root), key, "null"), "AccessDenied")
				}
			}
		}
		_, err = e.Client(e.Root).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket)})
		wantCode(t, "the old root lists", err, "AccessDenied")
	}
	check()
	before := pair{e.Root, e.Operator}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.dir.Close()

	e = start(t, path)
	if got := (pair{e.Root, e.Operator}); got != now {
		t.Error("other keys after a restart")
	}
	e.Root, e.Operator = before.root, before.operator
	check()
	second := link(now.root, "registry/blob")
	if err := e.Keys.Rotate(0); err != nil {
		t.Fatal(err)
	}
	download("a link whose time is over", second, http.StatusForbidden)
	download("a link of the first root", link(e.Root, "registry/blob"), http.StatusOK)
	for range maxReplaced - 1 {
		download("a link of the first root", link(e.Root, "registry/blob"), http.StatusOK)
		if err := e.Keys.Rotate(time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	download("a link of the first root, of many", link(e.Root, "registry/blob"), http.StatusOK)
	if err := e.Keys.Rotate(time.Minute); err != nil {
		t.Fatal(err)
	}
	download("a link of the first root, of too many", link(e.Root, "registry/blob"), http.StatusForbidden)
}

// openKeys is the keys of a data folder, with what its file has.
func openKeys(t *testing.T, path, file string) (*datadir.Dir, *Keys, error) {
	t.Helper()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	if file != "" {
		if err := dir.WriteFile(datadir.S3Credentials, []byte(file)); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := loadKeys(dir)
	return dir, keys, err
}

// The file as versions wrote it that knew two keys.
const earlier = `{
  "root": {"accessKeyId": "LARDERROOT", "secretAccessKey": "one"},
  "uploader": {"accessKeyId": "LARDERUPLOADER", "secretAccessKey": "two"}
}`

// Without a key that nobody knows, everybody could seal the token of a session.
func TestSessionsHaveAKey(t *testing.T) {
	for name, sessions := range map[string]string{"of an earlier version": "", "empty": `, "sessions": ""`} {
		_, keys, err := openKeys(t, t.TempDir(), strings.Replace(earlier, `"two"}`, `"two"}`+sessions, 1))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := len(keys.set.Load().stored.Sessions); got != sessionKeySize {
			t.Errorf("%s: the key has %d bytes", name, got)
		}
	}
}

func TestKeysOfAnEarlierVersion(t *testing.T) {
	path := t.TempDir()
	dir, keys, err := openKeys(t, path, earlier)
	if err != nil {
		t.Fatal(err)
	}
	want := pair{Credentials{"LARDERROOT", "one"}, Credentials{"LARDERUPLOADER", "two"}}
	if got := (pair{keys.Root(), keys.Operator()}); got != want || len(keys.Uploaders()) != 0 {
		t.Errorf("got %v, %v", got, keys.Uploaders())
	}
	dir.Close()

	// Its bucket belonged to its root, and had the uploader's rights with it.
	e := start(t, path)
	bucket := dir.Path(datadir.S3) + "/" + Bucket
	var attributes meta.XattrMeta
	for name, value := range map[string]string{"acl": `{"Owner":"LARDERROOT"}`, "policy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::larder","arn:aws:s3:::larder/*"]}]}`} {
		if err := attributes.StoreAttribute(nil, bucket, "", name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		put(t, e.Client(want.root), "registry/blob", "one")
		put(t, e.Client(want.operator), "modules/acme/x", "two")
		_, err := e.Client(want.operator).PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(Bucket), Key: aws.String("registry/blob"), Body: strings.NewReader("x")})
		wantCode(t, "the operator changes what is published", err, "AccessDenied")
		if status, body := e.request(t, http.MethodGet, e.url+"/"+Bucket+"/registry/blob"); status != http.StatusForbidden {
			t.Errorf("anonymous: %d: %s", status, body)
		}
	}
	check()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e.dir.Close()
	e = start(t, path)
	check()
	names, err := attributes.ListAttributes(bucket, "")
	if err != nil || slices.Contains(names, "policy") {
		t.Errorf("the old policy is still there: %q, %v", names, err)
	}
}

func TestDamagedKeys(t *testing.T) {
	const uploader = `"uploaders": [{"name": "ci", "accessKeyId": "%s", "secretAccessKey": "%s", "namespaces": ["%s"], "created": "2026-11-22T12:00:00Z"}]`
	with := func(more string) string { return strings.TrimSuffix(earlier, "\n}") + ",\n" + more + "}" }
	if _, keys, err := openKeys(t, t.TempDir(), with(fmt.Sprintf(uploader, "A", "b", "acme"))); err != nil || len(keys.Uploaders()) != 1 {
		t.Fatalf("a good one: %v, %v", keys, err)
	}
	for file, want := range map[string]string{
		"{":  "unexpected end of JSON input",
		"{}": "a key is missing",
		strings.Replace(earlier, `"one"`, `""`, 1):                              "a key is missing",
		strings.Replace(earlier, "LARDERROOT", "LARDERUPLOADER", 1):             "a key is there twice",
		with(fmt.Sprintf(uploader, "A", "", "acme")):                            "a key is missing",
		with(fmt.Sprintf(uploader, "LARDERROOT", "b", "acme")):                  "a key is there twice",
		with(fmt.Sprintf(uploader, "A", "b", "*")):                              `"*" is not a namespace: write all of it, up to 64 lower-case letters, digits, hyphens and underscores, and no *`,
		with(`"replaced": [{"accessKeyId": "A"}]`):                              "a key is missing",
		with(`"replaced": [{"accessKeyId":"LARDERROOT","secretAccessKey":""}]`): "a key is missing",
	} {
		dir, _, err := openKeys(t, t.TempDir(), file)
		whole := fmt.Sprintf("access keys of the bucket in %s: %s; remove the file to have new ones made, and make the uploaders anew", dir.Path(datadir.S3Credentials), want)
		if err == nil || err.Error() != whole {
			t.Errorf("%s: %v, want %s", file, err, whole)
		}
	}
}

// Who has expired may do nothing, is listed for a while, and then forgotten.
func TestUploadersExpire(t *testing.T) {
	_, keys, err := openKeys(t, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	keys.now = func() time.Time { return at }
	end := at.Add(time.Hour)
	want, secret, err := keys.CreateUploader("ci", []string{"acme"}, end)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := keys.holder(want.AccessKeyID, ""); !ok || got.SecretAccessKey != secret {
		t.Errorf("its secret is %q, %v", got.SecretAccessKey, ok)
	}
	if want.Created != at || want.Expires != end {
		t.Errorf("made %v", want)
	}
	for _, test := range []struct {
		now          time.Time
		good, listed bool
	}{
		{end.Add(-1), true, true},
		{end, false, true},
		{end.Add(access.KeepExpired - 1), false, true},
		{end.Add(access.KeepExpired), false, false},
	} {
		at = test.now
		if _, good := keys.holder(want.AccessKeyID, ""); good != test.good {
			t.Errorf("at %v it is good: %v", at, good)
		}
		if got := keys.Uploaders(); test.listed != (len(got) == 1) || test.listed && !reflect.DeepEqual(got[0], want) {
			t.Errorf("at %v these are listed: %v", at, got)
		}
	}
	if _, _, err := keys.CreateUploader("ci", []string{"labs"}, time.Time{}); err != nil {
		t.Errorf("by the name of one that is forgotten: %v", err)
	}
	if got := keys.set.Load().stored.Uploaders; len(got) != 1 {
		t.Errorf("kept: %v", got)
	}
}

func TestUploadersAreBounded(t *testing.T) {
	dir, keys, err := openKeys(t, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	stored := keys.set.Load().stored
	for i := range access.MaxUploaders - 1 {
		stored.Uploaders = append(stored.Uploaders, storedUploader{Name: fmt.Sprintf("ci-%03d", i), Credentials: newCredentials(), Namespaces: []string{"acme"}, Created: time.Now().UTC().Truncate(time.Second)})
	}
	if err := keys.store(stored); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keys.CreateUploader("last", []string{"acme"}, time.Time{}); err != nil {
		t.Fatalf("the last one: %v", err)
	}
	if _, _, err := keys.CreateUploader("one-more", []string{"acme"}, time.Time{}); !errors.Is(err, ErrTooManyUploaders) {
		t.Errorf("one more: %v", err)
	}
	if got := keys.Uploaders(); len(got) != access.MaxUploaders || got[access.MaxUploaders-1].Name != "last" {
		t.Errorf("%d uploaders", len(got))
	}
	if info, err := os.Stat(dir.Path(datadir.S3Credentials)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("access keys: %v, %v, want mode 600", info, err)
	}
	if again, err := loadKeys(dir); err != nil || !reflect.DeepEqual(again.set.Load(), keys.set.Load()) {
		t.Errorf("they are read otherwise than they were written: %v", err)
	}
}

// Where the file cannot be written, the keys stay what they were.
func TestKeysThatCannotBeWritten(t *testing.T) {
	path := t.TempDir()
	_, keys, err := openKeys(t, path, earlier)
	if err != nil {
		t.Fatal(err)
	}
	before := keys.set.Load()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := keys.Rotate(time.Minute); err == nil || keys.set.Load() != before {
		t.Errorf("rotated: %v", err)
	}
	if _, secret, err := keys.CreateUploader("ci", []string{"acme"}, time.Time{}); err == nil || secret != "" || keys.set.Load() != before {
		t.Errorf("created: %q, %v", secret, err)
	}
}

// The node's own key is not one that the door knows.
func TestNobodyElseIsTheNode(t *testing.T) {
	e := start(t, t.TempDir())
	_, err := e.Client(e.Node).ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(Bucket)})
	wantCode(t, "the node's own key", err, "InvalidAccessKeyId")
}
