package signing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Packet types, from RFC 9580, section 5.
const (
	tagSignature     = 2
	tagPrivateKey    = 5
	tagPublicKey     = 6
	tagPrivateSubkey = 7
	tagMarker        = 10
	tagTrust         = 12
	tagUserID        = 13
	tagPublicSubkey  = 14
	tagUserAttribute = 17
	tagNonCritical   = 40 // and above
)

var errPrivateKey = errors.New("holds a private key")

// A keyGroup is the packets of one key: the section of the primary key, then
// those of its user IDs, images and subkeys. A signature before the first key, such as a
// revocation certificate, is a group of its own, whose section has no head.
type keyGroup []section

// isRevocation reports whether the group is not a key, but a signature alone.
func (g keyGroup) isRevocation() bool { return g[0].head == nil }

// A section is a packet and the signatures that follow it.
type section struct {
	head       *packet.OpaquePacket
	signatures []*packet.OpaquePacket
}

// splitPackets reads a sequence of public keys without parsing their packets, so that a
// packet which go-crypto cannot parse stays with its key. It returns errPrivateKey if
// there is a private key among them.
func splitPackets(body []byte) (groups []keyGroup, err error) {
	reader := packet.NewOpaqueReader(bytes.NewReader(body))
	for {
		p, err := reader.Next()
		if isPrivateKey(p) {
			return nil, errPrivateKey
		}
		if err == io.EOF {
			return groups, nil
		}
		if err != nil {
			return groups, errors.New("is damaged or was cut short: its packets cannot be read")
		}
		if groups, err = appendPacket(groups, p); err != nil {
			return groups, err
		}
	}
}

// isPrivateKey recognises truncated private keys, too.
func isPrivateKey(p *packet.OpaquePacket) bool {
	if p == nil || p.Tag != tagPrivateKey && p.Tag != tagPrivateSubkey {
		return false
	}
	return len(p.Contents) > 0 && p.Contents[0] >= 2 && p.Contents[0] <= 6 // all versions that exist
}

func appendPacket(groups []keyGroup, p *packet.OpaquePacket) ([]keyGroup, error) {
	if p.Tag == tagMarker || p.Tag == tagTrust || p.Tag >= tagNonCritical {
		return groups, nil
	}
	if p.Tag == tagPublicKey {
		return append(groups, keyGroup{{head: p}}), nil
	}
	if p.Tag == tagSignature && (len(groups) == 0 || groups[len(groups)-1].isRevocation()) {
		return append(groups, keyGroup{{signatures: []*packet.OpaquePacket{p}}}), nil
	}
	if len(groups) == 0 || groups[len(groups)-1].isRevocation() {
		return groups, errors.New("does not begin with a public key")
	}
	group := &groups[len(groups)-1]
	switch p.Tag {
	case tagUserID, tagUserAttribute, tagPublicSubkey:
		*group = append(*group, section{head: p})
	case tagSignature:
		last := &(*group)[len(*group)-1]
		last.signatures = append(last.signatures, p)
	default:
		return groups, fmt.Errorf("holds something else than public keys (an OpenPGP packet of type %d)", p.Tag)
	}
	return groups, nil
}

// label names the key in a message; number is its place in the file.
func (g keyGroup) label(number int) string {
	if key, _ := parseKey(g[0].head); key != nil {
		return "key " + keyID(key.KeyId)
	}
	return fmt.Sprintf("key number %d", number)
}

// read returns the key for publication, or says why nobody can use it.
func (g keyGroup) read() (PublicKey, []string) {
	primary, revocation, problem := g.primary()
	if problem != "" {
		return PublicKey{}, []string{problem}
	}
	if revocation != nil {
		return exported(revokedKey(primary, revocation))
	}
	entity, problems := g.entity(primary)
	if len(problems) > 0 {
		return PublicKey{}, problems
	}
	c := newCertificate(entity)
	if len(c.identities) == 0 {
		return PublicKey{}, []string{"has no user ID that is not revoked: to end the trust in a key, revoke the key itself"}
	}
	if problems := c.unreadable(); len(problems) > 0 {
		return PublicKey{}, problems
	}
	return exported(c.export())
}

func exported(key PublicKey, err error) (PublicKey, []string) {
	if err != nil {
		return PublicKey{}, []string{fmt.Sprintf("cannot be written for publication (%v)", err)}
	}
	if problem := key.TooLarge(); problem != "" {
		return PublicKey{}, []string{problem}
	}
	return key, nil
}

// primary returns the primary key, and its revocation if there is one.
func (g keyGroup) primary() (*packet.PublicKey, *packet.Signature, string) {
	primary, problem := parseKey(g[0].head)
	if problem != "" {
		return nil, nil, problem
	}
	revocation, problem := g[0].revocation(primary)
	return primary, revocation, problem
}

// entity verifies the self-signatures and returns the key in go-crypto's form. It leaves
// out what nobody needs to verify documents.
func (g keyGroup) entity(primary *packet.PublicKey) (*openpgp.Entity, []string) {
	packets := []packet.Packet{primary}
	var problems []string
	for _, s := range g[1:] {
		kept, problem := s.keep(primary)
		packets = append(packets, kept...)
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	entity, err := readEntity(packets)
	if err != nil {
		return nil, []string{"is damaged: its self-signatures do not verify"}
	}
	return entity, nil
}

// readEntity reads packets that are parsed already. To parse bytes again, as go-crypto
// would, could find packets inside of packets.
func readEntity(packets []packet.Packet) (*openpgp.Entity, error) {
	reader := packet.NewReader(bytes.NewReader(nil))
	for _, p := range slices.Backward(packets) {
		reader.Unread(p)
	}
	return openpgp.ReadEntity(reader)
}

// parseKey reads a primary key or subkey, and says why clients cannot use it.
// The key is nil if it cannot be read.
func parseKey(p *packet.OpaquePacket) (*packet.PublicKey, string) {
	if len(p.Contents) > 0 && p.Contents[0] != 4 {
		return nil, fmt.Sprintf("is an OpenPGP key of version %d: clients read version 4", p.Contents[0])
	}
	parsed, _ := p.Parse()
	key, ok := parsed.(*packet.PublicKey) // else it is p itself
	if !ok {
		return nil, "is damaged or of a kind that clients cannot use"
	}
	return key, unusable(key)
}

// parseSignatures returns the section's signatures, and whether all of them
// could be read.
func (s section) parseSignatures() (signatures []*packet.Signature, complete bool) {
	complete = true
	for _, p := range s.signatures {
		parsed, _ := p.Parse()
		signature, ok := parsed.(*packet.Signature) // else it is p itself
		if !ok {
			complete = false
			continue
		}
		signatures = append(signatures, signature)
	}
	return signatures, complete
}

// revocation returns the revocation of the whole key by the key itself, if there is one. A
// revocation that cannot be verified is a problem, and not ignored.
func (s section) revocation(primary *packet.PublicKey) (*packet.Signature, string) {
	signatures, complete := s.parseSignatures()
	foreign := false
	for _, signature := range signatures {
		if signature.SigType != packet.SigTypeKeyRevocation {
			continue
		}
		if primary.VerifyRevocationSignature(signature) == nil {
			return signature, ""
		}
		foreign = true
	}
	switch {
	case foreign:
		return nil, "carries a revocation that the key itself has not made: revoke it with the key, or have an operator run larder keys distrust"
	case !complete:
		return nil, "carries a signature, perhaps its revocation, that cannot be read"
	}
	return nil, ""
}

// keep returns the packets of the section that are needed to verify documents.
func (s section) keep(primary *packet.PublicKey) (kept []packet.Packet, problem string) {
	switch s.head.Tag {
	case tagUserID:
		return s.keepUserID(primary), ""
	case tagPublicSubkey:
		return s.keepSubkey()
	}
	return nil, ""
}

// keepUserID leaves out other people's signatures, readable or not.
func (s section) keepUserID(primary *packet.PublicKey) []packet.Packet {
	id, err := s.head.Parse()
	if err != nil {
		return nil
	}
	kept := []packet.Packet{id}
	signatures, _ := s.parseSignatures()
	for _, signature := range signatures {
		if signature.CheckKeyIdOrFingerprint(primary) {
			kept = append(kept, signature)
		}
	}
	return kept
}

// keepSubkey leaves out subkeys that do not sign, and those that clients cannot
// use if they are revoked.
func (s section) keepSubkey() (kept []packet.Packet, problem string) {
	signatures, complete := s.parseSignatures()
	signs := slices.ContainsFunc(signatures, func(signature *packet.Signature) bool { return signature.FlagSign })
	if !signs {
		return nil, ""
	}
	key, problem := parseKey(s.head)
	if problem != "" && slices.ContainsFunc(signatures, ofType(packet.SigTypeSubkeyRevocation)) {
		return nil, ""
	}
	name := "has a signing subkey that"
	if key != nil {
		name = fmt.Sprintf("has the signing subkey %s, which", keyID(key.KeyId))
	}
	switch {
	case problem != "":
		return nil, name + " " + problem
	case !complete:
		return nil, name + " carries a signature, perhaps its revocation, that cannot be read"
	}
	kept = []packet.Packet{key}
	for _, signature := range signatures {
		kept = append(kept, signature)
	}
	return kept, ""
}

func ofType(t packet.SignatureType) func(*packet.Signature) bool {
	return func(signature *packet.Signature) bool { return signature.SigType == t }
}
