package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Prefix is what every token begins with, so that people and secret scanners
// recognise one. A token is the prefix, 26 random letters and digits (130 bits),
// and 7 that are a checksum of all before them:
//
//	larder_[A-Z2-7]{33}
const Prefix = "larder_"

const (
	randomLength   = 26
	checksumLength = 7
	secretLength   = len(Prefix) + randomLength + checksumLength
)

// ErrNoToken says that a text is not a token of any registry.
var ErrNoToken = errors.New("it is no token of a registry: those begin with " + Prefix)

// ID is the sha256 of a token's text. The ID is not enough to use the token, and the
// text is not stored anywhere.
type ID [sha256.Size]byte

// NewToken makes the text of a new token, and its ID.
func NewToken() (secret string, id ID) {
	secret = Prefix + rand.Text()[:randomLength]
	secret += checksum(secret)
	return secret, sha256.Sum256([]byte(secret))
}

// ParseToken is the ID of a token. By the checksum, without a request, it refuses a text
// that is not a token, or was mistyped or cut off.
//
// Errors: [ErrNoToken].
func ParseToken(secret string) (ID, error) {
	if len(secret) != secretLength || !strings.HasPrefix(secret, Prefix) {
		return ID{}, ErrNoToken
	}
	signed := len(secret) - checksumLength
	if checksum(secret[:signed]) != secret[signed:] { // not a secret: anybody can compute it
		return ID{}, fmt.Errorf("%w, and have a checksum at the end, which here does not fit", ErrNoToken)
	}
	return sha256.Sum256([]byte(secret)), nil
}

func checksum(text string) string {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(text)))
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum)
}

// String is lower-case hex.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Short is enough of an ID for people to distinguish tokens.
func (id ID) Short() string { return hex.EncodeToString(id[:4]) }

// MarshalText is String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String writes.
func (id *ID) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	if err != nil || len(data) != len(id) {
		return fmt.Errorf("%.100q is not the ID of a token", text)
	}
	*id = ID(data)
	return nil
}

// Origin is how a token came to be.
type Origin string

// The origins.
const (
	ByOperator Origin = "operator" // larder token create
	ByLogin    Origin = "login"    // terraform login
	ByExchange Origin = "exchange" // for the identity of a pipeline
)

// Token is what is kept of a token, without its text.
type Token struct {
	ID      ID        `json:"id"`
	Name    string    `json:"name"`
	Owner   string    `json:"owner"` // whom to ask about it: a person, or the subject of an identity token
	Origin  Origin    `json:"origin"`
	Scopes  Scopes    `json:"scopes"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"` // from then on it is not good; zero for never
	Used    Day       `json:"used,omitempty"`   // when it was last used; empty for never
}

// Who is the token as a [Decision] has it.
func (t Token) Who() string {
	return "token " + strconv.Quote(t.Name) + " of " + t.Owner + " (" + t.ID.Short() + ")"
}

// Expired says whether a token has expired.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// ListedUntil is until when a token is listed; zero for always.
func (t Token) ListedUntil() time.Time {
	switch {
	case t.Expires.IsZero():
		return time.Time{}
	case t.Origin == ByExchange:
		return t.Expires.Add(KeepExchanged)
	default:
		return t.Expires.Add(KeepExpired)
	}
}

// MaxName is how many characters names, owners and the like may have.
const MaxName = 200

// CheckName checks what people call something: printable, and not too long.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("it is empty")
	case strings.TrimSpace(name) != name:
		return errors.New("it begins or ends with a space, which nobody sees")
	case !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("it has more than %d characters, or such as are none", MaxName)
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
		return errors.New("it has characters that cannot be seen")
	}
	return nil
}

// Validate says what is wrong with a new token.
func (t Token) Validate() error {
	if err := CheckName(t.Name); err != nil {
		return fmt.Errorf("the token's name is %.100q: %w", t.Name, err)
	}
	if err := CheckName(t.Owner); err != nil {
		return fmt.Errorf("the token's owner is %.100q: %w", t.Owner, err)
	}
	switch {
	case len(t.Scopes) == 0 || len(t.Scopes) > MaxScopes:
		return fmt.Errorf("there must be 1 to %d scopes, and there are %d", MaxScopes, len(t.Scopes))
	case t.Expired(t.Created):
		return errors.New("the token would expire before it is made")
	case t.ID == ID{} || t.Created.IsZero():
		return errors.New("the token has no ID, or no time of its making")
	}
	return nil
}

// Day is a date in UTC, such as 2026-11-21.
type Day string

// DayOf is the day of a time.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }
