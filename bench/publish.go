package main

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/larder-registry/larder/bench/internal/measure"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/sync/errgroup"
)

// published is how fast packages were published.
type published struct {
	What      string
	PerSecond measure.Spread `json:",omitzero"` // packages
	Upload    float64        `json:",omitzero"` // MB/s until the bucket has it
	Publish   float64        `json:",omitzero"` // MB/s from then on, until it is published
	Hashing   float64        `json:",omitzero"` // MB/s of sha256 and then h1, which is the floor
	ToFloor   float64        `json:",omitzero"` // Publish by Hashing
	Memory    int64          `json:",omitzero"` // the peak of the node, in bytes
}

// uploader uploads to a node, and sees what became of the uploads.
type uploader struct {
	node   *node
	client *s3.Client
	bucket string
}

// openUploader starts a node without versions, and reads how to upload to it.
func openUploader(ctx context.Context, s settings) (u uploader, closeNode func() error, err error) {
	folder, err := os.MkdirTemp(s.cache, "run-")
	if err != nil {
		return u, nil, err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return u, nil, err
	}
	n, err := runNode(ctx, s.larder, filepath.Join(folder, "data"))
	if err != nil {
		return u, nil, errors.Join(err, os.RemoveAll(folder))
	}
	env, err := os.ReadFile(filepath.Join(n.folder, "env"))
	values := map[string]string{}
	for line := range strings.Lines(string(env)) {
		if assignment, ok := strings.CutPrefix(line, "export "); ok {
			name, value, _ := strings.Cut(strings.TrimSpace(assignment), "=")
			values[name] = strings.Trim(value, `'"`)
		}
	}
	u = uploader{node: n, bucket: values["LARDER_BUCKET"], client: s3.New(s3.Options{
		Region: values["AWS_REGION"], BaseEndpoint: aws.String(values["AWS_ENDPOINT_URL_S3"]), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(values["AWS_ACCESS_KEY_ID"], values["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:  &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: n.server.TLS.RootCAs}, MaxIdleConnsPerHost: 32}},
	})}
	return u, func() error { return errors.Join(err, n.stop(), os.RemoveAll(folder)) }, err
}

// publishTimeout is how long a package may take until it is published.
const publishTimeout = 5 * time.Minute

// publish uploads a file, and waits until the node has written what became of it.
func (u uploader) publish(ctx context.Context, key string, body io.ReadSeeker) (uploaded, took time.Duration, err error) {
	begin := time.Now()
	if _, err := u.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &u.bucket, Key: &key, Body: body}); err != nil {
		return 0, 0, err
	}
	uploaded = time.Since(begin)
	outcome := filepath.Join(u.node.folder, "s3", "objects", u.bucket, "registry", "outcomes", filepath.FromSlash(key)+".json")
	for time.Since(begin) < publishTimeout && ctx.Err() == nil {
		if text, err := os.ReadFile(outcome); err == nil {
			var said struct{ Status string }
			if err := json.Unmarshal(text, &said); err != nil {
				continue // it is being written
			}
			if said.Status != "published" {
				return 0, 0, fmt.Errorf("%s: %s", key, text)
			}
			return uploaded, time.Since(begin) - uploaded, nil
		}
		time.Sleep(time.Millisecond)
	}
	return 0, 0, fmt.Errorf("%s has no outcome", key)
}

func packageKey(version string) string {
	return "providers/acme/bench/terraform-provider-bench_" + version + "_linux_amd64.zip"
}

// smallPackage is a package of a few hundred bytes.
func smallPackage(w io.Writer, content string) error {
	return writePackage(w, strings.NewReader(content), int64(len(content)))
}

// writePackage writes a package whose executable has n bytes of a content. It is compressed
// without looking for repetitions, so that a reader has to decode every byte.
func writePackage(w io.Writer, content io.Reader, n int64) error {
	archive := zip.NewWriter(w)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.HuffmanOnly) })
	header := &zip.FileHeader{Name: "terraform-provider-bench", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(file, content, n); err != nil {
		return err
	}
	return archive.Close()
}

const (
	smallPackages = 84 // in a turn; each is a version of its own, which is signed
	smallTurns    = 3
)

// uploaders is how many upload at a time.
var uploaders = []int{1, 14}

// measureSmall publishes small packages, by one uploader and by several, by turns.
func measureSmall(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	u, closeNode, err := openUploader(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeNode()) }()
	rates, number := map[int][]float64{}, 0
	for range smallTurns {
		for _, count := range uploaders {
			rate, err := u.publishSmall(ctx, count, &number)
			if err != nil {
				return err
			}
			rates[count] = append(rates[count], rate)
		}
	}
	fmt.Fprintf(out, "\nsmall packages, each a version of its own, until they are published (publish-small)\n")
	for _, count := range uploaders {
		p := published{What: fmt.Sprintf("%d at a time", count), PerSecond: measure.SpreadOf(rates[count])}
		r.Published = append(r.Published, p)
		fmt.Fprintf(out, "  %-26s %s a second\n", p.What, formatSpread(p.PerSecond))
	}
	return nil
}

// publishSmall publishes a turn, and returns how many packages a second that was.
func (u uploader) publishSmall(ctx context.Context, count int, number *int) (float64, error) {
	var next atomic.Int64
	first := *number
	*number += smallPackages
	all, ctx := errgroup.WithContext(ctx)
	begin := time.Now()
	for range count {
		all.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= smallPackages {
					return nil
				}
				version := fmt.Sprintf("1.%d.0", first+n)
				var body strings.Builder
				if err := smallPackage(&body, version); err != nil {
					return err
				}
				if _, _, err := u.publish(ctx, packageKey(version), strings.NewReader(body.String())); err != nil {
					return err
				}
			}
		})
	}
	err := all.Wait()
	return smallPackages / time.Since(begin).Seconds(), err
}

// measureLarge publishes packages of several sizes, one after the other.
func measureLarge(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	u, closeNode, err := openUploader(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeNode()) }()
	fmt.Fprintf(out, "\nlarge packages; the floor is sha256 and then h1 of the same bytes, in one process (publish-large)\n")
	fmt.Fprintf(out, "  %-14s %12s %12s %12s %9s %12s\n", "", "upload MB/s", "publish MB/s", "floor MB/s", "× floor", "peak memory")
	for n, size := range s.sizes {
		p, err := u.publishLarge(ctx, fmt.Sprintf("2.%d.0", n), size<<20)
		if err != nil {
			return err
		}
		r.Published = append(r.Published, p)
		fmt.Fprintf(out, "  %-14s %12s %12s %12s %9s %9d MB\n", p.What, short(p.Upload), short(p.Publish), short(p.Hashing), short(p.ToFloor), p.Memory/1e6)
	}
	return nil
}

func (u uploader) publishLarge(ctx context.Context, version string, size int64) (p published, err error) {
	file, err := os.CreateTemp(filepath.Dir(u.node.folder), "package-*.zip")
	if err != nil {
		return p, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(writePackage(buffered, letters{rand.NewChaCha8([32]byte{})}, size*8/5), buffered.Flush()); err != nil {
		return p, err
	}
	packed, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return p, err
	}
	hashed, err := hashing(file)
	if err != nil {
		return p, err
	}
	pid := u.node.server.PID
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // the peak begins again; only Linux has it
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return p, err
	}
	uploaded, took, err := u.publish(ctx, packageKey(version), file)
	if err != nil {
		return p, err
	}
	rate := func(d time.Duration) float64 { return float64(packed) / 1e6 / d.Seconds() }
	return published{
		What: fmt.Sprintf("%d MiB", packed>>20), Upload: rate(uploaded), Publish: rate(took), Hashing: rate(hashed),
		ToFloor: hashed.Seconds() / took.Seconds(), Memory: measure.PeakMemory(pid),
	}, nil
}

// hashing is how long sha256 and h1 of a package take, one after the other.
func hashing(file *os.File) (time.Duration, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	begin := time.Now()
	if _, err := io.Copy(sha256.New(), file); err != nil {
		return 0, err
	}
	_, err := dirhash.HashZip(file.Name(), dirhash.Hash1)
	return time.Since(begin), err
}

// letters are random bytes of 32 kinds, which compress to 5 bits each.
type letters struct{ *rand.ChaCha8 }

func (l letters) Read(p []byte) (int, error) {
	n, err := l.ChaCha8.Read(p)
	for i := range p[:n] {
		p[i] = 'A' + p[i]&31
	}
	return n, err
}
