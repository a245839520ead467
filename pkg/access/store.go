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
	// thousand. For the first page after is empty, and then the next of the page
	// before. Next is empty when there are no more. A page may lack tokens that are
	// past their [Token.ListedUntil].
	Tokens(ctx context.Context, after string) (page []Token, next string, err error)

	// RevokeToken ends a token for ever.
	//
	// Errors: [ErrNotFound].
	RevokeToken(ctx context.Context, id ID) error

	// NoteUse notes the last day on which a token was used. If there is no such
	// token, it does nothing and returns nil.
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

	// RemoveRule ends a rule. Its tokens stay until they expire or are revoked.
	//
	// Errors: [ErrNotFound].
	RemoveRule(ctx context.Context, name string) error
}

// MaxTicket is how much data a ticket may hold, in bytes.
const MaxTicket = 16 << 10

// Tickets keeps data that is needed once, and soon, such as a step of a login. The
// caller who has a ticket's secret knows its ID, and can take the data once.
// Implementations are safe for concurrent use.
type Tickets interface {
	// KeepTicket keeps data under an ID that nobody has used.
	//
	// Errors: [ErrFull].
	KeepTicket(ctx context.Context, id ID, data []byte, expires time.Time) error

	// TakeTicket takes what is kept under an ID. Only one of all callers gets it,
	// and nobody once it has expired.
	//
	// Errors: [ErrNotFound].
	TakeTicket(ctx context.Context, id ID) ([]byte, error)
}

// Store keeps tokens, rules and tickets.
type Store interface {
	Tokens
	Rules
	Tickets
}
