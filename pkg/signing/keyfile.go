package signing

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MaxKeyFile is the size, in bytes, of the largest file of public keys, and of the largest
// PublicKey.ASCIIArmor. A signed version is stored with its key, in an item of DynamoDB of
// at most 400 KiB.
const MaxKeyFile = 256 << 10

const maxViolations = 100

const privateKeyFound = "this file holds a private key: consider the key exposed, revoke it, " +
	"and upload the output of gpg --armor --export, which holds the public key alone"

// Violations are the reasons why a key file was refused, in plain words. There
// are at most 101: past 100, the last one says that there are more.
type Violations []string

func (v Violations) Error() string {
	return "invalid key file: " + strings.Join(v, "; ")
}

func (v *Violations) add(format string, args ...any) {
	switch {
	case len(*v) < maxViolations:
		*v = append(*v, fmt.Sprintf(format, args...))
	case len(*v) == maxViolations:
		*v = append(*v, "there are more problems than are listed here")
	}
}

// A KeyFile is what an author uploads.
type KeyFile struct {
	// Keys are the public keys, in the file's order, each checked and armored
	// alone. [PublicKey.Problem] says whether one can be used now.
	Keys []PublicKey
	// Revocations are the revocation certificates without a key.
	Revocations []Revocation
}

// ReadKeyFile reads an author's public keys: one or more armored blocks of one
// or more keys each, as gpg --armor --export writes them, or of one revocation
// certificate, as gpg --gen-revoke writes it, with nothing but white space around
// the blocks. In a file of certificates alone there may be text around them, as in
// the one that GnuPG makes with a key. Encryption subkeys, images and other people's
// signatures are left out.
//
// A file is accepted as a whole or not at all. It is refused for a private key, for a key
// that cannot be read, and for a key of a kind that clients cannot use. The error is a
// [Violations]. [PublicKey.Problem] says whether a key has expired or is revoked.
func ReadKeyFile(data []byte) (KeyFile, error) {
	return readKeyFile(data, func(PublicKey) string { return "" })
}

// ParseKeyFile is [ReadKeyFile] for keys that must be usable. It also refuses a file for a
// key with a [PublicKey.Problem], and for a revocation certificate.
func ParseKeyFile(data []byte) ([]PublicKey, error) {
	return parseKeyFileAt(time.Now(), data)
}

func parseKeyFileAt(now time.Time, data []byte) ([]PublicKey, error) {
	file, err := readKeyFile(data, func(key PublicKey) string { return key.Problem(now) })
	if err != nil {
		return nil, err
	}
	if len(file.Revocations) > 0 {
		return nil, Violations{"the file holds a revocation certificate"}
	}
	return file.Keys, nil
}

func readKeyFile(data []byte, judge func(PublicKey) string) (file KeyFile, err error) {
	var found Violations
	seen := make(map[string]bool)
	for i, group := range readKeyGroups(data, &found) {
		if group.isRevocation() {
			if err := file.addRevocation(group); err != nil {
				found.add("revocation certificate number %d %v", i+1, err)
			}
			continue
		}
		key, problems := group.read()
		if len(problems) == 0 {
			problems = nonEmpty(judge(key))
		}
		if seen[key.Fingerprint] {
			problems = append(problems, "stands in the file more than once")
		}
		for _, problem := range problems {
			found.add("%s %s", group.label(i+1), problem)
		}
		if len(problems) == 0 {
			seen[key.Fingerprint] = true
			file.Keys = append(file.Keys, key)
		}
	}
	if len(found) > 0 {
		return KeyFile{}, found
	}
	return file, nil
}

func nonEmpty(problem string) []string {
	if problem == "" {
		return nil
	}
	return []string{problem}
}

// readKeyGroups returns the packets of the file, key by key, and adds to found
// what is wrong with the file and its blocks.
func readKeyGroups(data []byte, found *Violations) (groups []keyGroup) {
	if problem := checkFile(data); problem != "" {
		found.add("%s", problem)
		return nil
	}
	text := splitBlocks(string(data), found)
	for _, block := range text.blocks {
		body, err := block.decode()
		if err != nil {
			found.add("the block that begins on line %d %v", block.line, err)
			continue
		}
		more, err := splitPackets(body)
		if errors.Is(err, errPrivateKey) {
			found.add(privateKeyFound)
			return nil
		}
		if err != nil {
			found.add("the block that begins on line %d %v", block.line, err)
		}
		groups = append(groups, more...)
	}
	if !revocationsAlone(groups) || text.damaged {
		for _, line := range text.foreign {
			found.add("line %d is not part of an armored key: remove all text around the blocks", line)
		}
	}
	if len(*found) == 0 && len(groups) == 0 {
		found.add("the file holds no keys")
	}
	return groups
}

func revocationsAlone(groups []keyGroup) bool {
	return len(groups) > 0 && !slices.ContainsFunc(groups, func(g keyGroup) bool { return !g.isRevocation() })
}

var privateArmor = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY`)

// checkFile says what is wrong with a file that is not armored text at all.
func checkFile(data []byte) string {
	const advice = "upload the output of gpg --armor --export"
	unpadded := bytes.ReplaceAll(data, []byte{0}, nil) // ASCII in UTF-16 has these zeros
	switch {
	case len(data) == 0:
		return "the file is empty: " + advice
	case len(data) > MaxKeyFile:
		return fmt.Sprintf("the file has %d bytes, more than the %d that are allowed", len(data), MaxKeyFile)
	case privateArmor.Match(unpadded):
		return privateKeyFound
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return `the file is UTF-16 text, as ">" writes it in PowerShell: use gpg --armor --output FILE --export`
	case bytes.Contains(data, []byte(beginMark)):
		return ""
	}
	if _, err := splitPackets(data); errors.Is(err, errPrivateKey) {
		return privateKeyFound
	} else if err == nil {
		return "the file is not armored but binary: " + advice
	}
	return "the file holds no OpenPGP public key in armor: " + advice
}

const (
	beginMark = "-----BEGIN "
	endMark   = "-----END "
	markEnd   = "-----"
	keyBlock  = "PGP PUBLIC KEY BLOCK"
)

// A block is one armored block: its kind, the number of its first line, and the
// lines between the first and the last.
type block struct {
	kind  string
	line  int
	lines []string
}

// splitBlocks finds the blocks of public keys, and the text around them. For other blocks,
// and for truncated ones, it adds to found.
func splitBlocks(text string, found *Violations) blockScanner {
	s := blockScanner{found: found}
	for i, line := range strings.Split(text, "\n") {
		s.scan(i+1, strings.TrimRight(line, " \t\r"))
	}
	s.cutShort()
	return s
}

type blockScanner struct {
	blocks  []block
	foreign []int  // the first line of each run of foreign ones
	damaged bool   // a foreign line looks like the first or the last of a block
	open    *block // which has begun and not ended
	inJunk  bool
	found   *Violations
}

func (s *blockScanner) scan(number int, line string) {
	if rest, ok := strings.CutPrefix(strings.TrimPrefix(line, ":"), beginMark); ok {
		s.cutShort()
		s.open = &block{kind: strings.TrimSuffix(rest, markEnd), line: number}
		s.inJunk = false
		if line[0] == ':' {
			s.found.add("line %d begins with a colon, with which GnuPG keeps a revocation certificate from being used by mistake: remove the colon before -----BEGIN", number)
		}
		return
	}
	switch {
	case s.open != nil && line == endMark+s.open.kind+markEnd:
		s.close()
	case s.open != nil:
		s.open.lines = append(s.open.lines, line)
	case line != "":
		s.damaged = s.damaged || strings.Contains(line, markEnd)
		if !s.inJunk {
			s.foreign = append(s.foreign, number)
		}
		s.inJunk = true
	}
}

func (s *blockScanner) close() {
	if s.open.kind == keyBlock {
		s.blocks = append(s.blocks, *s.open)
	} else {
		s.found.add("the block that begins on line %d is not a %s", s.open.line, keyBlock)
	}
	s.open = nil
}

func (s *blockScanner) cutShort() {
	if s.open != nil {
		s.found.add("the block that begins on line %d has no END line: the file was cut short", s.open.line)
	}
}

var armorHeader = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*:`)

// decode returns the data of the block. Its checksum is optional and not
// compared (RFC 9580, section 6.1): self-signatures show damage better.
func (b block) decode() ([]byte, error) {
	blank := slices.Index(b.lines, "")
	if blank < 0 || slices.ContainsFunc(b.lines[:blank], func(line string) bool { return !armorHeader.MatchString(line) }) {
		return nil, errors.New("lacks the blank line between its headers and its data")
	}
	lines := b.lines[blank+1:]
	if last := len(lines) - 1; last >= 0 && strings.HasPrefix(lines[last], "=") {
		lines = lines[:last]
	}
	body, err := base64.StdEncoding.DecodeString(strings.Join(lines, ""))
	if err != nil {
		return nil, errors.New("is damaged: its data is not base64")
	}
	return body, nil
}
