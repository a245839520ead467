package signing

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Subpackets of signatures, from RFC 9580, section 5.2.3.7.
const (
	subpacketCreated     = 2
	subpacketLifetime    = 3
	subpacketIssuer      = 16
	subpacketNotation    = 20
	subpacketKeyserver   = 24
	subpacketPolicy      = 26
	subpacketSigner      = 28
	subpacketEmbedded    = 32
	subpacketFingerprint = 33
)

var (
	// The subpackets that a signature over a document may have, in its signed and
	// in its unsigned area. Clients need only the time and the issuer.
	signedSubpackets   = []byte{subpacketCreated, subpacketIssuer, subpacketNotation, subpacketKeyserver, subpacketPolicy, subpacketSigner, subpacketFingerprint}
	unsignedSubpackets = []byte{subpacketIssuer, subpacketFingerprint}

	// criticalSubpackets are the types that every client knows. A client refuses a
	// signature for a critical subpacket that it does not know.
	criticalSubpackets = []byte{subpacketCreated, subpacketIssuer}
)

type subpacket struct {
	kind     byte
	critical bool
	body     []byte
}

// checkSubpackets says why a client would refuse a signature, now or later, for its
// subpackets. The signature has been parsed already. id is that of its issuer.
func checkSubpackets(contents []byte, id uint64) error {
	signed, unsigned, ok := splitSubpackets(contents)
	if !ok {
		return invalid(ErrSignatureForm, "its subpackets are damaged")
	}
	all := slices.Concat(signed, unsigned)
	if slices.ContainsFunc(all, ofKind(subpacketLifetime)) {
		return invalid(ErrSignatureLifetime, "clients would refuse it for ever after: sign again with gpg --default-sig-expire 0 --detach-sign")
	}
	if err := checkKinds(signed, signedSubpackets); err != nil {
		return err
	}
	if err := checkKinds(unsigned, unsignedSubpackets); err != nil {
		return err
	}
	if n := count(all, subpacketCreated); n != 1 {
		return invalid(ErrSignatureForm, "it says %d times when it was made, and must say it once", n)
	}
	if count(all, subpacketIssuer) == 0 {
		return invalid(ErrSignatureForm, "it does not name the ID of the key that made it, which older clients need")
	}
	if slices.ContainsFunc(all, func(s subpacket) bool { return s.namesAnother(id) }) {
		return invalid(ErrSignatureForm, "it names more than one key that made it")
	}
	return nil
}

func checkKinds(found []subpacket, allowed []byte) error {
	for _, s := range found {
		if !slices.Contains(allowed, s.kind) {
			return invalid(ErrSignatureForm, "it holds a subpacket of type %d, which has no place in a signature over a document: sign with gpg --detach-sign, without further options", s.kind)
		}
		if s.critical && !slices.Contains(criticalSubpackets, s.kind) {
			return invalid(ErrSignatureForm, "it marks a subpacket of type %d as critical, and clients that do not know it refuse the signature: sign with gpg --detach-sign, without critical notations or policies", s.kind)
		}
	}
	return nil
}

func ofKind(kind byte) func(subpacket) bool {
	return func(s subpacket) bool { return s.kind == kind }
}

func count(all []subpacket, kind byte) (n int) {
	for _, s := range all {
		if s.kind == kind {
			n++
		}
	}
	return n
}

// namesAnother reports whether the subpacket names an issuer that is not the key with this
// ID. Clients do not agree on which of two issuers counts.
func (s subpacket) namesAnother(id uint64) bool {
	last := binary.BigEndian.AppendUint64(nil, id) // of a version 4 fingerprint
	switch s.kind {
	case subpacketIssuer:
		return !bytes.Equal(s.body, last)
	case subpacketFingerprint:
		return len(s.body) != 21 || s.body[0] != 4 || !bytes.HasSuffix(s.body, last)
	}
	return false
}

// splitSubpackets returns the subpackets of a version 4 signature packet: those
// that are signed, and those that are not.
func splitSubpackets(contents []byte) (signed, unsigned []subpacket, ok bool) {
	const header = 4 // version, type, key algorithm, hash algorithm
	if len(contents) < header {
		return nil, nil, false
	}
	area, rest, ok := cutArea(contents[header:])
	if !ok {
		return nil, nil, false
	}
	if signed, ok = readSubpackets(area); !ok {
		return nil, nil, false
	}
	if area, _, ok = cutArea(rest); !ok {
		return nil, nil, false
	}
	unsigned, ok = readSubpackets(area)
	return signed, unsigned, ok
}

// cutArea takes an area of subpackets, which begins with its length.
func cutArea(data []byte) (area, rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, nil, false
	}
	length := int(binary.BigEndian.Uint16(data))
	if data = data[2:]; length > len(data) {
		return nil, nil, false
	}
	return data[:length], data[length:], true
}

func readSubpackets(area []byte) (found []subpacket, ok bool) {
	for len(area) > 0 {
		length, rest := cutLength(area)
		if length == 0 || length > uint32(len(rest)) {
			return nil, false
		}
		found = append(found, subpacket{kind: rest[0] & 0x7f, critical: rest[0]&0x80 != 0, body: rest[1:length]})
		area = rest[length:]
	}
	return found, true
}

// cutLength takes a subpacket's length, of one, two or five bytes. A truncated length is
// 0, which is never the length of a subpacket.
func cutLength(data []byte) (length uint32, rest []byte) {
	switch {
	case data[0] < 192:
		return uint32(data[0]), data[1:]
	case data[0] < 255 && len(data) >= 2:
		return uint32(data[0]-192)<<8 + uint32(data[1]) + 192, data[2:]
	case data[0] == 255 && len(data) >= 5:
		return binary.BigEndian.Uint32(data[1:]), data[5:]
	}
	return 0, nil
}
