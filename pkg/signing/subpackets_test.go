package signing

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// sub is a subpacket as it is written.
func sub(kind byte, body ...byte) []byte {
	return append([]byte{byte(len(body) + 1), kind}, body...)
}

const critical = 0x80

// signatureWith is a signature packet with these subpackets, which no key made.
func signatureWith(t *testing.T, signed, unsigned []byte) []byte {
	t.Helper()
	p := packet.OpaquePacket{Tag: tagSignature, Contents: slices.Concat(
		[]byte{4, typeDocument, byte(packet.PubKeyAlgoRSA), 10},
		[]byte{byte(len(signed) >> 8), byte(len(signed))}, signed,
		[]byte{byte(len(unsigned) >> 8), byte(len(unsigned))}, unsigned,
		[]byte{1, 2}, []byte{0, 8, 255},
	)}
	var b bytes.Buffer
	if err := p.Serialize(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var (
	madeAt       = sub(subpacketCreated, 1, 2, 3, 4)
	issuer       = sub(subpacketIssuer, 1, 2, 3, 4, 5, 6, 7, 8)
	fingerprint4 = sub(subpacketFingerprint, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	notation     = sub(subpacketNotation, 0x80, 0, 0, 0, 0, 5, 0, 1, 'a', '@', 'b', '.', 'c', '1')
)

func TestInspectSignatureReadsSubpackets(t *testing.T) {
	long := append([]byte{192, 10, subpacketPolicy}, bytes.Repeat([]byte("x"), 201)...)
	longest := append([]byte{255, 0, 0, 0x40, 1, subpacketPolicy}, bytes.Repeat([]byte("x"), 0x4000)...)
	for name, test := range map[string]struct{ signed, unsigned []byte }{
		"as GnuPG writes them":     {slices.Concat(fingerprint4, madeAt), issuer},
		"as go-crypto writes them": {slices.Concat(sub(subpacketCreated|critical, 1, 2, 3, 4), sub(subpacketIssuer|critical, 1, 2, 3, 4, 5, 6, 7, 8), fingerprint4), nil},
		"issuer twice":             {slices.Concat(madeAt, issuer), slices.Concat(issuer, fingerprint4)},
		"a notation":               {slices.Concat(madeAt, notation), issuer},
		"a key server":             {slices.Concat(madeAt, sub(subpacketKeyserver, 'x')), issuer},
		"a signer":                 {slices.Concat(madeAt, sub(subpacketSigner, 'x')), issuer},
		"lengths of two bytes":     {slices.Concat(madeAt, long), issuer},
		"lengths of five bytes":    {slices.Concat(madeAt, longest), issuer},
	} {
		t.Run(name, func(t *testing.T) {
			if id, err := InspectSignature(signatureWith(t, test.signed, test.unsigned)); err != nil || id != "0102030405060708" {
				t.Errorf("InspectSignature() = %q, %v", id, err)
			}
		})
	}
}

// Every row is a signature that clients refuse, or that one of them does.
func TestInspectSignatureRejectsSubpackets(t *testing.T) {
	year := []byte{1, 0xe1, 0x33, 0x80}
	for name, test := range map[string]struct {
		signed, unsigned []byte
		want             error
		says             string
	}{
		"a lifetime":               {slices.Concat(madeAt, sub(subpacketLifetime, year...)), issuer, ErrSignatureLifetime, "gpg --default-sig-expire 0"},
		"a critical lifetime":      {slices.Concat(madeAt, sub(subpacketLifetime|critical, year...)), issuer, ErrSignatureLifetime, "gpg --default-sig-expire 0"},
		"a lifetime of nothing":    {slices.Concat(madeAt, sub(subpacketLifetime, 0, 0, 0, 0)), issuer, ErrSignatureLifetime, "gpg --default-sig-expire 0"},
		"an unsigned lifetime":     {madeAt, slices.Concat(issuer, sub(subpacketLifetime, year...)), ErrSignatureLifetime, "gpg --default-sig-expire 0"},
		"a critical notation":      {slices.Concat(madeAt, sub(subpacketNotation|critical, notation[2:]...)), issuer, ErrSignatureForm, "type 20 as critical"},
		"a critical policy":        {slices.Concat(madeAt, sub(subpacketPolicy|critical, 'x')), issuer, ErrSignatureForm, "type 26 as critical"},
		"a critical fingerprint":   {slices.Concat(madeAt, sub(subpacketFingerprint|critical, fingerprint4[2:]...)), issuer, ErrSignatureForm, "type 33 as critical"},
		"an unknown kind":          {slices.Concat(madeAt, sub(100, 'x')), issuer, ErrSignatureForm, "type 100, which has no place"},
		"flags of a key":           {slices.Concat(madeAt, sub(27)), issuer, ErrSignatureForm, "type 27, which has no place"},
		"an unsigned notation":     {madeAt, slices.Concat(issuer, notation), ErrSignatureForm, "type 20, which has no place"},
		"an unsigned unknown kind": {madeAt, slices.Concat(issuer, sub(100|critical, 'x')), ErrSignatureForm, "type 100, which has no place"},
		"an unsigned time":         {madeAt, slices.Concat(issuer, madeAt), ErrSignatureForm, "type 2, which has no place"},
		"two times":                {slices.Concat(madeAt, sub(subpacketCreated, 4, 3, 2, 1)), issuer, ErrSignatureForm, "says 2 times when"},
		"a fingerprint alone":      {slices.Concat(madeAt, fingerprint4), nil, ErrSignatureForm, "older clients need"},
		"two issuers":              {slices.Concat(madeAt, sub(subpacketIssuer, 8, 7, 6, 5, 4, 3, 2, 1)), issuer, ErrSignatureForm, "more than one key"},
		"issuer, then another":     {slices.Concat(madeAt, issuer), sub(subpacketIssuer, 8, 7, 6, 5, 4, 3, 2, 1), ErrSignatureForm, "more than one key"},
		"fingerprint of another":   {slices.Concat(madeAt, sub(subpacketFingerprint, append([]byte{4}, make([]byte, 20)...)...)), issuer, ErrSignatureForm, "more than one key"},
		"fingerprint of version 6": {slices.Concat(madeAt, sub(subpacketFingerprint, slices.Concat([]byte{6}, []byte{1, 2, 3, 4, 5, 6, 7, 8}, make([]byte, 24))...)), issuer, ErrSignatureForm, "more than one key"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := InspectSignature(signatureWith(t, test.signed, test.unsigned))
			checkInvalid(t, err, test.want, test.says)
			if id != "" {
				t.Errorf("names the key %s all the same", id)
			}
		})
	}
}

func TestInspectSignatureRejectsLengthsThatGnuPGDoesNotRead(t *testing.T) {
	good := detachSign(t, author(t, at(created)), at(signed))
	p, err := packet.NewOpaqueReader(bytes.NewReader(good)).Next()
	if err != nil {
		t.Fatal(err)
	}
	contents := p.Contents
	if len(contents) < 64+1 || len(contents) > 191 {
		t.Fatalf("the signature has %d bytes", len(contents))
	}
	old := byte(0x80 | tagSignature<<2)
	for name, test := range map[string]struct {
		header []byte
		plain  bool
	}{
		"new, one byte":    {[]byte{0xc0 | tagSignature, byte(len(contents))}, true},
		"new, five bytes":  {[]byte{0xc0 | tagSignature, 255, 0, 0, 0, byte(len(contents))}, true},
		"old, one byte":    {[]byte{old, byte(len(contents))}, true},
		"old, two bytes":   {[]byte{old | 1, 0, byte(len(contents))}, true},
		"old, four bytes":  {[]byte{old | 2, 0, 0, 0, byte(len(contents))}, true},
		"old, to the end":  {[]byte{old | 3}, false},
		"new, in 2 pieces": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			signature := slices.Concat(test.header, contents)
			if test.header == nil {
				signature = slices.Concat([]byte{0xc0 | tagSignature, 224 | 6}, contents[:64], []byte{byte(len(contents) - 64)}, contents[64:])
			}
			_, err := InspectSignature(signature)
			if test.plain {
				if err != nil {
					t.Error(err)
				}
				return
			}
			checkInvalid(t, err, ErrSignatureForm, "not written as GnuPG reads it")
		})
	}
}

func TestSplitSubpacketsOfDamagedSignatures(t *testing.T) {
	for name, contents := range map[string][]byte{
		"nothing":                 {},
		"no areas":                {4, 0, 1, 10},
		"a cut length":            {4, 0, 1, 10, 0},
		"a cut area":              {4, 0, 1, 10, 0, 2, 1},
		"no unsigned area":        {4, 0, 1, 10, 0, 0},
		"an empty subpacket":      {4, 0, 1, 10, 0, 1, 0, 0, 0},
		"a cut subpacket":         {4, 0, 1, 10, 0, 2, 2, 2, 0, 0},
		"a cut length of two":     {4, 0, 1, 10, 0, 1, 192, 0, 0},
		"a cut length of five":    {4, 0, 1, 10, 0, 4, 255, 0, 0, 0, 0, 0},
		"a cut unsigned area":     {4, 0, 1, 10, 0, 0, 0, 3, 1, 1},
		"a cut unsigned":          {4, 0, 1, 10, 0, 0, 0, 2, 2, 2},
		"far too long a one":      {4, 0, 1, 10, 0, 6, 255, 255, 255, 255, 255, 2, 0, 0},
		"two bytes of a length":   {4, 0, 1, 10, 0, 3, 192, 0, 2, 0, 0},
		"one that ends too early": {4, 0, 1, 10, 0, 3, 2, 2, 0, 0},
	} {
		if signed, unsigned, ok := splitSubpackets(contents); ok {
			t.Errorf("%s reads as %v and %v", name, signed, unsigned)
		}
		checkInvalid(t, checkSubpackets(contents, 0), ErrSignatureForm, "subpackets are damaged")
	}
}

func TestSplitSubpackets(t *testing.T) {
	signed, unsigned, ok := splitSubpackets([]byte{4, 0, 1, 10, 0, 6, 2, 2, 7, 2, 144, 8, 0, 1 + 2, 192 - 190, 3, 9})
	if !ok || len(signed) != 2 || len(unsigned) != 1 || signed[0].critical || !signed[1].critical || signed[1].kind != 16 || unsigned[0].body[0] != 9 {
		t.Errorf("it reads as %v and %v, %v", signed, unsigned, ok)
	}
	if signed, unsigned, ok := splitSubpackets([]byte{4, 0, 1, 10, 0, 0, 0, 0}); !ok || len(signed)+len(unsigned) > 0 {
		t.Errorf("nothing reads as %v and %v, %v", signed, unsigned, ok)
	}
	for length, want := range map[string]uint32{
		"\x00": 0, "\xbf": 191, "\xc0\x00": 192, "\xfe\xff": 16319, "\xff\x00\x00\x00\x01": 1, "\xff\x01\x02\x03\x04": 0x01020304,
	} {
		if got, rest := cutLength([]byte(length)); got != want || len(rest) > 0 {
			t.Errorf("%x reads as %d, %x, want %d", length, got, rest, want)
		}
	}
}

func TestNamesAnother(t *testing.T) {
	const id = 0x0102030405060708
	last := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for name, test := range map[string]struct {
		s    subpacket
		want bool
	}{
		"issuer":              {subpacket{kind: subpacketIssuer, body: last}, false},
		"another issuer":      {subpacket{kind: subpacketIssuer, body: last[1:]}, true},
		"fingerprint":         {subpacket{kind: subpacketFingerprint, body: slices.Concat([]byte{4}, make([]byte, 12), last)}, false},
		"of another version":  {subpacket{kind: subpacketFingerprint, body: slices.Concat([]byte{5}, make([]byte, 12), last)}, true},
		"of another length":   {subpacket{kind: subpacketFingerprint, body: slices.Concat([]byte{4}, make([]byte, 13), last)}, true},
		"another fingerprint": {subpacket{kind: subpacketFingerprint, body: slices.Concat([]byte{4}, last, make([]byte, 12))}, true},
		"a time":              {subpacket{kind: subpacketCreated, body: last}, false},
	} {
		if got := test.s.namesAnother(id); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHasPlainLength(t *testing.T) {
	for header, want := range map[[2]byte]bool{
		{0xc2, 0}: true, {0xc2, 191}: true, {0xc2, 192}: true, {0xc2, 223}: true, {0xc2, 224}: false, {0xc2, 254}: false, {0xc2, 255}: true,
		{0x88, 224}: true, {0x89, 0}: true, {0x8a, 0}: true, {0x8b, 0}: false,
	} {
		if got := hasPlainLength(header[:]); got != want {
			t.Errorf("%x: %v", header, got)
		}
	}
}
