package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/bench/internal/dataset"
	"github.com/larder-registry/larder/bench/internal/servers"
	"github.com/larder-registry/larder/internal/progress"
	"golang.org/x/sync/errgroup"
)

// peerWriters is how many objects are written to the peer's bucket at a time.
const peerWriters = 16

// objects yields objects of a bucket.
type objects = func(put func(key, content string))

// fillPeer writes the data as boring-registry keeps it, to the bucket in PEER_S3: the URL of
// an S3 server, with the bucket as its path. The archives are empty: the peer answers without
// reading them.
func fillPeer(ctx context.Context, objects objects, getenv func(string) string, line *progress.Line) error {
	u, err := url.Parse(getenv("PEER_S3"))
	bucket := ""
	if err == nil {
		bucket = strings.Trim(u.Path, "/")
	}
	if bucket == "" || u.Host == "" {
		return fmt.Errorf("PEER_S3 is %q: it must be the URL of an S3 server with a bucket as its path, like http://127.0.0.1:9000/peer", getenv("PEER_S3"))
	}
	client := s3.New(s3.Options{
		Region: cmp.Or(getenv("AWS_REGION"), servers.Region), BaseEndpoint: aws.String(u.Scheme + "://" + u.Host), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(cmp.Or(getenv("AWS_ACCESS_KEY_ID"), "test"), cmp.Or(getenv("AWS_SECRET_ACCESS_KEY"), "test"), ""),
	})
	written := count(0)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(peerWriters)
	objects(func(key, content string) {
		all.Go(func() error { // which waits if many are being written
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(content)})
			return err
		})
		written++
		line.At(written, key)
	})
	if err := all.Wait(); err != nil {
		line.Erase()
		return err
	}
	line.Say("%s are in the bucket %s", written, bucket)
	return nil
}

// count is a number of objects.
type count int

func (c count) String() string { return fmt.Sprintf("%d objects", int(c)) }

// peerObjects is every object of the peer's bucket.
func peerObjects(packages int) objects {
	return func(put func(key, content string)) { putPeerObjects(packages, put) }
}

func putPeerObjects(packages int, put func(key, content string)) {
	keys := signingKeys()
	withKeys := map[string]bool{}
	for _, p := range dataset.Providers(packages) {
		namespace := "providers/" + p.Address.Namespace
		if p.Address.Mirrored() {
			namespace = "mirror/providers/" + p.Address.Hostname + "/" + p.Address.Namespace
		}
		if !withKeys[namespace] {
			withKeys[namespace] = true
			put(namespace+"/signing-keys.json", keys)
		}
		for n := range p.Versions {
			s := p.State(n)
			folder := namespace + "/" + p.Address.Type + "/"
			for _, pkg := range s.Packages {
				put(folder+p.Address.PackageFilename(s.Version, pkg.Platform), "")
			}
			put(folder+p.Address.SHA256SUMSFilename(s.Version), dataset.Sums(s))
			put(folder+p.Address.SignatureFilename(s.Version), "signature")
		}
	}
	for _, m := range dataset.Modules(packages) {
		a := m.Address
		for n := range m.Versions {
			put(fmt.Sprintf("modules/%s/%s-%s-%s-%s.tar.gz", a, a.Namespace, a.Name, a.System, dataset.Version(n)), "")
		}
	}
}

func signingKeys() string {
	text, err := json.Marshal(map[string]any{"gpg_public_keys": []map[string]string{
		{"key_id": dataset.SigningKey.KeyID, "ascii_armor": dataset.SigningKey.ASCIIArmor},
	}})
	if err != nil {
		panic(err) // it is made of texts
	}
	return string(text)
}
