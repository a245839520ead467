// Command pack zips functions for Lambda: pack FOLDER makes FOLDER/<function>.zip of every
// FOLDER/<function>/bootstrap that scripts/build-functions has built. The same binary
// always makes the same zip, so an unchanged function is not deployed again.
package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FOLDER, in which scripts/build-functions has built")
		os.Exit(2)
	}
	if err := pack(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// pack zips all functions of a folder.
func pack(folder string) error {
	binaries, err := filepath.Glob(filepath.Join(folder, "*", "bootstrap"))
	if err != nil {
		return err
	}
	if len(binaries) == 0 {
		return fmt.Errorf("no function is built in %s: scripts/build-functions does that", folder)
	}
	for _, binary := range binaries {
		if err := packOne(binary, filepath.Dir(binary)+".zip"); err != nil {
			return err
		}
	}
	return nil
}

// packOne zips one function. Under its name there is never a part of a zip.
func packOne(binary, target string) error {
	file, err := os.CreateTemp(filepath.Dir(target), ".pack-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // fails after the rename
	if err := errors.Join(write(file, binary), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	return os.Rename(file.Name(), target)
}

// epoch is the earliest time that a zip can have.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// write writes the zip.
func write(to io.Writer, binary string) error {
	content, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer content.Close()
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate, Modified: epoch}
	header.SetMode(0o755) // Lambda needs it to start the function
	archive := zip.NewWriter(to)
	entry, err := archive.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(entry, content); err != nil {
		return err
	}
	return archive.Close()
}
