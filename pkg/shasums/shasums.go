// Package shasums reads and writes the SHA256SUMS document of a provider
// version: one line per package, the SHA-256 of the file and its name, in the
// format of sha256sum's text mode.
//
// The document is signed and served byte for byte, and clients are strict, so it must have
// one exact form:
//
//   - every line is 64 lower-case hexadecimal digits, two spaces, a file name
//     and a line feed, the last line included;
//   - no blank line: Terraform and OpenTofu crash on one;
//   - no carriage return, and no "*" of binary mode before the name: both clients
//     compare the whole second field with the file name;
//   - no upper-case digits: OpenTofu compares hashes case-sensitively;
//   - a name is a plain file name of at most 255 bytes of UTF-8, without
//     slashes, white space, control or invisible characters, and is there once;
//   - at least one line, and at most [MaxSize] bytes.
//
// One wrong line is refused and not ignored: because of it the clients would record no
// hash at all in their lock files.
package shasums

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// MaxSize is the size, in bytes, of the largest document: about 8,000
// packages with names of usual length.
const MaxSize = 1 << 20

// A Sums is a valid SHA256SUMS document. The zero value holds no lines and is
// not a valid document; [Parse] and [New] make valid ones.
type Sums struct {
	names  []string          // in the document's order
	sha256 map[string]string // by name
}

// New returns the document over sums, which maps file names to SHA-256 hashes
// of 64 lower-case hexadecimal digits. Its lines are sorted by file name, so
// equal sums give equal bytes. The error is a [Violations].
func New(sums map[string]string) (Sums, error) {
	var found Violations
	names := slices.Sorted(maps.Keys(sums))
	size := 0
	for _, name := range names {
		for _, problem := range append(checkHash(sums[name]), checkName(name)...) {
			found.add("%s %s", quote(name), problem)
		}
		size += len(sums[name]) + len(separator) + len(name) + len("\n")
	}
	found.addDocument(size)
	if len(found) > 0 {
		return Sums{}, found
	}
	return Sums{names: names, sha256: maps.Clone(sums)}, nil
}

// Parse reads a document. The error is a [Violations] that names every wrong
// line. Parse keeps no reference to data.
func Parse(data []byte) (Sums, error) {
	var found Violations
	found.addDocument(len(data))
	if len(found) > 0 {
		return Sums{}, found
	}
	text := string(data)
	if !strings.HasSuffix(text, "\n") {
		found.add("the last line does not end in a line feed")
	}
	sums := Sums{sha256: make(map[string]string)}
	firstLine := make(map[string]int)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		hash, name, problems := parseLine(line)
		if first, ok := firstLine[name]; ok && len(problems) == 0 {
			problems = append(problems, fmt.Sprintf("lists %s again, after line %d", quote(name), first))
		}
		for _, problem := range problems {
			found.add("line %d %s", i+1, problem)
		}
		if len(problems) == 0 {
			firstLine[name] = i + 1
			sums.names = append(sums.names, name)
			sums.sha256[name] = hash
		}
	}
	if len(found) > 0 {
		return Sums{}, found
	}
	return sums, nil
}

// SHA256 returns the hash that the document lists for a file name, in
// lower-case hexadecimal, and whether it lists one.
func (s Sums) SHA256(name string) (hash string, ok bool) {
	hash, ok = s.sha256[name]
	return hash, ok
}

// Len returns the number of lines.
func (s Sums) Len() int { return len(s.names) }

// All yields each file name and its hash in lower-case hexadecimal, in the
// document's order.
func (s Sums) All() iter.Seq2[string, string] {
	return func(yield func(name, hash string) bool) {
		for _, name := range s.names {
			if !yield(name, s.sha256[name]) {
				return
			}
		}
	}
}

// Bytes returns the document: the very bytes given to [Parse].
func (s Sums) Bytes() []byte {
	var b bytes.Buffer
	for name, hash := range s.All() {
		b.WriteString(hash)
		b.WriteString(separator)
		b.WriteString(name)
		b.WriteByte('\n')
	}
	return b.Bytes()
}
