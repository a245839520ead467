package main

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"context"
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
	"github.com/larder-registry/larder/internal/node/disk"
	"golang.org/x/sync/errgroup"
)

// published is how fast packages were published.
type published struct {
	What      string
	PerSecond measure.Spread `json:",omitzero"` // packages
	Upload    measure.Spread `json:",omitzero"` // MB/s until the bucket has it
	Publish   measure.Spread `json:",omitzero"` // MB/s from then on, until it is published
	Floor     measure.Spread // synced files per second, or MB/s of sha256 and then h1
	ToFloor   measure.Spread // PerSecond or Publish, by Floor of the same turn
	Memory    int64          `json:",omitzero"` // the peak of the node, in bytes
}

// uploader uploads to a node, and sees what became of the uploads.
type uploader struct {
	node   *node
	client *s3.Client
	bucket string
}

// openUploader starts a node without versions, and reads how to upload to it. The caller closes
// the world, also after an error.
func openUploader(ctx context.Context, s settings) (u uploader, w *world, err error) {
	if w, err = newWorld(s); err != nil {
		return u, w, err
	}
	if err := w.openNode(ctx, filepath.Join(w.folder, "data")); err != nil {
		return u, w, err
	}
	values, err := w.node.readEnv()
	return uploader{node: w.node, bucket: values["LARDER_BUCKET"], client: s3.New(s3.Options{
		Region: values["AWS_REGION"], BaseEndpoint: aws.String(values["AWS_ENDPOINT_URL_S3"]), UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(values["AWS_ACCESS_KEY_ID"], values["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:  &http.Client{Transport: w.node.transport()},
	})}, w, err
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

// measureSmall publishes small packages, by one uploader and by several, by turns. As many
// files, each synced to the disk, are the floor.
func measureSmall(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	u, w, err := openUploader(ctx, s)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	rates, floors, ratios, number := map[int][]float64{}, map[int][]float64{}, map[int][]float64{}, 0
	for range smallTurns {
		for _, count := range uploaders {
			floor, err := syncFiles(ctx, filepath.Dir(u.node.folder), count)
			if err != nil {
				return err
			}
			rate, err := u.publishSmall(ctx, count, &number)
			if err != nil {
				return err
			}
			rates[count], floors[count], ratios[count] = append(rates[count], rate), append(floors[count], floor), append(ratios[count], rate/floor)
		}
	}
	fmt.Fprintf(out, "\nsmall packages, each a version of its own, until they are published; the floor is to write\nas many files, each synced to the disk (publish-small)\n")
	fmt.Fprintf(out, "  %-14s %-24s %-24s %s\n", "", "published a second", "synced a second", "× floor")
	for _, count := range uploaders {
		p := published{
			What: fmt.Sprintf("%d at a time", count), PerSecond: measure.SpreadOf(rates[count]),
			Floor: measure.SpreadOf(floors[count]), ToFloor: measure.SpreadOf(ratios[count]),
		}
		r.Published = append(r.Published, p)
		fmt.Fprintf(out, "  %-14s %-24s %-24s %s\n", p.What, formatSpread(p.PerSecond), formatSpread(p.Floor), formatSpread(p.ToFloor))
	}
	return nil
}

// syncFiles writes a turn of files by several writers, each file synced to the disk, and returns
// how many files a second that was.
func syncFiles(ctx context.Context, folder string, count int) (float64, error) {
	content := make([]byte, 500) // a small package has about as many
	begin := time.Now()
	err := byTurns(ctx, count, func(_ context.Context, n int) error {
		file, err := os.CreateTemp(folder, "synced-")
		if err != nil {
			return err
		}
		defer os.Remove(file.Name())
		_, err = file.Write(content)
		return errors.Join(err, file.Sync(), file.Close())
	})
	return smallPackages / time.Since(begin).Seconds(), err
}

// byTurns does something for each package of a turn, several at a time.
func byTurns(ctx context.Context, count int, do func(ctx context.Context, n int) error) error {
	var next atomic.Int64
	all, ctx := errgroup.WithContext(ctx)
	for range count {
		all.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= smallPackages {
					return nil
				}
				if err := cmp.Or(ctx.Err(), do(ctx, n)); err != nil {
					return err
				}
			}
		})
	}
	return all.Wait()
}

// publishSmall publishes a turn, and returns how many packages a second that was.
func (u uploader) publishSmall(ctx context.Context, count int, number *int) (float64, error) {
	first := *number
	*number += smallPackages
	begin := time.Now()
	err := byTurns(ctx, count, func(ctx context.Context, n int) error {
		version := fmt.Sprintf("1.%d.0", first+n)
		var body strings.Builder
		if err := smallPackage(&body, version); err != nil {
			return err
		}
		_, _, err := u.publish(ctx, packageKey(version), strings.NewReader(body.String()))
		return err
	})
	return smallPackages / time.Since(begin).Seconds(), err
}

const (
	// hugePackage is the size, in MiB, from which a package is published only on a disk with
	// enough room, and in fewer turns.
	hugePackage = 1024

	// roomForHuge is how many bytes of the disk must be free for that.
	roomForHuge = 8 << 30
)

// largeTurns is how often a package of a size in MiB is published.
func largeTurns(size int64) int {
	if size >= hugePackage {
		return 2
	}
	return 5
}

// hasRoom says if a disk with so many free bytes has room for the turns of a package of a size
// in MiB.
func hasRoom(size, free int64) bool { return size < hugePackage || free >= roomForHuge }

// measureLarge publishes packages of several sizes, one after the other.
func measureLarge(ctx context.Context, s settings, out io.Writer, r *report) (err error) {
	u, w, err := openUploader(ctx, s)
	defer func() { err = errors.Join(err, w.close()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nlarge packages; the floor is sha256 and then h1 of the same bytes, in one thread (publish-large)\n")
	fmt.Fprintf(out, "  %-9s %-18s %-18s %-18s %-18s %s\n", "", "upload MB/s", "publish MB/s", "floor MB/s", "× floor", "peak memory")
	for n, size := range s.sizes {
		if room, err := disk.Of(s.cache); err != nil {
			return err
		} else if !hasRoom(size, room.Free) {
			fmt.Fprintf(out, "  %-9s skipped: the disk has %d GiB free, and %d GiB are needed\n", fmt.Sprintf("%d MiB", size), room.Free>>30, roomForHuge>>30)
			continue
		}
		p, err := u.publishLarge(ctx, 2+n, size<<20, largeTurns(size))
		if err != nil {
			return err
		}
		r.Published = append(r.Published, p)
		fmt.Fprintf(out, "  %-9s %-18s %-18s %-18s %-18s %d MB\n", p.What, formatSpread(p.Upload), formatSpread(p.Publish), formatSpread(p.Floor), formatSpread(p.ToFloor), p.Memory/1e6)
	}
	return nil
}

// publishLarge publishes a package several times, each time as another version of a major one,
// and hashes it before each.
func (u uploader) publishLarge(ctx context.Context, major int, size int64, turns int) (p published, err error) {
	file, err := largePackage(filepath.Dir(u.node.folder), size)
	if err != nil {
		return p, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return p, err
	}
	pid := u.node.server.PID
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // the peak begins again; only Linux has it
	rate := func(d time.Duration) float64 { return float64(info.Size()) / 1e6 / d.Seconds() }
	var upload, publish, floor, ratios []float64
	for n := range turns {
		begin := time.Now()
		if err := errors.Join(ctx.Err(), hashSHA256(file), hashH1(file)); err != nil {
			return p, err
		}
		hashing := time.Since(begin)
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return p, err
		}
		uploaded, took, err := u.publish(ctx, packageKey(fmt.Sprintf("%d.%d.0", major, n)), file)
		if err != nil {
			return p, err
		}
		upload, publish, floor = append(upload, rate(uploaded)), append(publish, rate(took)), append(floor, rate(hashing))
		ratios = append(ratios, hashing.Seconds()/took.Seconds())
	}
	return published{
		What: fmt.Sprintf("%d MiB", size>>20), Upload: measure.SpreadOf(upload), Publish: measure.SpreadOf(publish),
		Floor: measure.SpreadOf(floor), ToFloor: measure.SpreadOf(ratios), Memory: measure.PeakMemory(pid),
	}, nil
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
