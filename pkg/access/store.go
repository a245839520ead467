package access

import (
	"context"
	"time"
)

// How long an expired token is still listed.
const (
	KeepExpired   = 7 * 24 * time.Hour
	KeepExchanged = 24 * time.Hour // of a pipeline: each job may have had one
)

// Tokens keeps tokens. Implementations are safe for concurrent use.
type Tokens interface {
	// CreateToken keeps a token, which is good as soon as that returns.
	//
	// Errors: [ErrExists] when one has its ID.
	CreateToken(ctx context.Context, t Token) error

	// Token is a token by its ID, also one that has expired.
	//
	// Errors: [ErrNotFound].
	Token(ctx context.Context, id ID) (Token, error)

	// Tokens is a page of all tokens, in the order of their IDs: up to some
	// thousand that come after one, which is the next of the page before, and
	// empty at first. Next is empty when there are no more. Those that are past
	// their [Token.ListedUntil] need not be among them.
	Tokens(ctx context.Context, after string) (page []Token, next string, err error)

	// RevokeToken ends a token for ever.
	//
	// Errors: [ErrNotFound].
	RevokeToken(ctx context.Context, id ID) error

	// NoteUse notes the last day on which a token was used. Of one that is not
	// there it notes nothing, and returns nil.
	NoteUse(ctx context.Context, id ID, day Day) error
}

// MaxRules is how many rules there may be.
const MaxRules = 200

// Rules keeps rules of trust. Implementations are safe for concurrent use.
type Rules interface {
	// Rules is all rules, in the order of their names.
	Rules(ctx context.Context) ([]Rule, error)

	// AddRule keeps a rule.
	//
	// Errors: [ErrExists] when one has its name.
	AddRule(ctx context.Context, r Rule) error

	// RemoveRule ends a rule. The tokens that it gave stay until they expire
	// or are revoked.
	//
	// Errors: [ErrNotFound].
	RemoveRule(ctx context.Context, name string) error
}

// MaxTicket is how large what a ticket holds may be, in bytes.
const MaxTicket = 16 << 10

// Tickets keeps what has to be known once, and soon: that a person is about to
// log in. Whoever comes with a ticket's secret gets what is kept under its ID,
// and nobody gets it twice. Implementations are safe for concurrent use.
type Tickets interface {
	// KeepTicket keeps data under an ID that nobody has used.
	//
	// Errors: [ErrFull].
	KeepTicket(ctx context.Context, id ID, data []byte, expires time.Time) error

	// TakeTicket is what is kept under an ID, to exactly one of all who ask
	// for it, and to nobody from the time on when it expires.
	//
	// Errors: [ErrNotFound].
	TakeTicket(ctx context.Context, id ID) ([]byte, error)
}

// Store keeps all of it.
type Store interface {
	Tokens
	Rules
	Tickets
}
