package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/larder-registry/larder/bench/internal/measure"
	"golang.org/x/mod/sumdb/dirhash"
)

// hashed is how fast the bytes of a package are hashed, in one thread.
type hashed struct {
	What string
	Rate measure.Spread // MB/s
}

// hashedSize is the size of the package that is hashed, in bytes.
const hashedSize = 20 << 20

// measureHashing computes the two hashes of a package by turns.
func measureHashing(ctx context.Context, s settings, out io.Writer, r *report) error {
	folder, err := os.MkdirTemp(s.cache, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file, err := largePackage(folder, hashedSize)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	hashes := []struct {
		name string
		of   func(*os.File) error
	}{{"sha256", hashSHA256}, {"h1", hashH1}}
	rates := map[string][]float64{}
	for round := range 1 + s.plan.Rounds {
		for _, hash := range hashes {
			begin := time.Now()
			if err := errors.Join(ctx.Err(), hash.of(file)); err != nil {
				return err
			}
			if round > 0 { // the first one warms up
				rates[hash.name] = append(rates[hash.name], float64(info.Size())/1e6/time.Since(begin).Seconds())
			}
		}
	}
	fmt.Fprintf(out, "\nhashes of a package of %d MiB, in one thread (hashing)\n", hashedSize>>20)
	for _, hash := range hashes {
		h := hashed{hash.name, measure.SpreadOf(rates[hash.name])}
		r.Hashing = append(r.Hashing, h)
		fmt.Fprintf(out, "  %-26s %s MB/s\n", h.What, formatSpread(h.Rate))
	}
	return nil
}

func hashSHA256(file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(sha256.New(), file)
	return err
}

// hashH1 computes the h1 of a package: the hash of the hashes of the files in it.
func hashH1(file *os.File) error {
	_, err := dirhash.HashZip(file.Name(), dirhash.Hash1)
	return err
}

// largePackage writes a package of about a size, in bytes, to a folder.
func largePackage(folder string, size int64) (*os.File, error) {
	file, err := os.CreateTemp(folder, "package-*.zip")
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(writePackage(buffered, letters{rand.NewChaCha8([32]byte{})}, size*8/5), buffered.Flush()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
