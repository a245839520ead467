package boltcatalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"go.etcd.io/bbolt"
)

const (
	// pageSize is how many tokens a page has.
	pageSize = 1000

	// sweepEvery is how often tokens that expired long ago are removed.
	sweepEvery = 24 * time.Hour
)

// accessAdvice is what to do about a file of tokens that cannot be used.
const accessAdvice = "stop larder and put a backup of the file in its place; without one, remove the file, which ends all tokens and all rules of trust: they have to be made again"

var (
	tokensBucket  = []byte("tokens")
	rulesBucket   = []byte("rules")
	ticketsBucket = []byte("tickets")

	errAccessDamaged = errors.New("the file of tokens and rules is damaged; " + accessAdvice)

	accessFile = kind{
		name:    "tokens and rules",
		format:  "larder access 1",
		buckets: []bucket{{name: tokensBucket, valid: json.Valid}, {name: rulesBucket, valid: json.Valid}, {name: ticketsBucket, valid: isTicket}},
		damaged: errAccessDamaged,
		foreign: errors.New("the file has no tokens and rules of this version of larder; " + accessAdvice),
	}
)

// Access is an [access.Store] in a file. Nothing else has its contents.
type Access struct {
	db         *bbolt.DB
	recent     recent[access.Token]
	now        func() time.Time
	page       int       // see pageSize
	maxTickets int       // see the constant
	swept      time.Time // when old tokens were last removed; only for use in a write transaction
}

var _ access.Store = (*Access)(nil)

// OpenAccess opens the tokens, rules and tickets in a file, as [Open] does a
// catalog. A file that is created is for its owner alone.
func OpenAccess(path string) (*Access, error) {
	db, err := accessFile.open(path, nil, accessFile.verify)
	if err != nil {
		return nil, err
	}
	return &Access{db: db, recent: newRecent[access.Token](recentTokens), now: time.Now, page: pageSize, maxTickets: maxTickets}, nil
}

// Close waits for transactions and closes the file.
func (a *Access) Close() error { return a.db.Close() }

// CopyTo writes a copy of the file as it is at one moment, for its owner alone. Others
// may read and write meanwhile.
func (a *Access) CopyTo(ctx context.Context, path string) error {
	return a.view(ctx, "copy tokens and rules", func(tx *bbolt.Tx) error { return tx.CopyFile(path, 0o600) })
}

// CreateToken implements [access.Tokens].
func (a *Access) CreateToken(ctx context.Context, t access.Token) error {
	return a.update(ctx, "keep token "+t.ID.Short(), func(tx *bbolt.Tx) error {
		tokens, key := tx.Bucket(tokensBucket), []byte(t.ID.String())
		if tokens.Get(key) != nil {
			return access.ErrExists
		}
		if err := a.sweepTokens(tokens); err != nil {
			return err
		}
		return putJSON(tokens, key, t)
	})
}

// Token implements [access.Tokens].
func (a *Access) Token(ctx context.Context, id access.ID) (token access.Token, err error) {
	if err = ctx.Err(); err == nil {
		err = a.db.View(func(tx *bbolt.Tx) (err error) {
			token, err = a.recent.get(tx, tokensBucket, id.String(), decodeAccess[access.Token], access.ErrNotFound)
			return err
		})
	}
	if err != nil {
		return access.Token{}, fmt.Errorf("read token %s: %w", id.Short(), err)
	}
	return token, nil
}

// Tokens implements [access.Tokens].
func (a *Access) Tokens(ctx context.Context, after string) (page []access.Token, next string, err error) {
	err = a.view(ctx, "list tokens", func(tx *bbolt.Tx) error {
		if err := layout.CheckAfter(after); err != nil {
			return err
		}
		tokens := tx.Bucket(tokensBucket).Cursor()
		key, value := tokens.Seek([]byte(after))
		if string(key) == after {
			key, value = tokens.Next()
		}
		for ; key != nil; key, value = tokens.Next() {
			if len(page) == a.page {
				next = page[len(page)-1].ID.String()
				return nil
			}
			token, err := decodeAccess[access.Token](value)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			page = append(page, token)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return page, next, nil
}

// RevokeToken implements [access.Tokens].
func (a *Access) RevokeToken(ctx context.Context, id access.ID) error {
	return a.update(ctx, "revoke token "+id.Short(), func(tx *bbolt.Tx) error {
		return remove(tx.Bucket(tokensBucket), id.String())
	})
}

// NoteUse implements [access.Tokens].
func (a *Access) NoteUse(ctx context.Context, id access.ID, day access.Day) error {
	err := a.update(ctx, "note the use of token "+id.Short(), func(tx *bbolt.Tx) error {
		tokens, key := tx.Bucket(tokensBucket), []byte(id.String())
		value := tokens.Get(key)
		if value == nil {
			return errUpToDate
		}
		token, err := decodeAccess[access.Token](value)
		if err != nil {
			return err
		}
		if token.Used >= day {
			return errUpToDate
		}
		token.Used = day
		return putJSON(tokens, key, token)
	})
	if errors.Is(err, errUpToDate) {
		return nil
	}
	return err
}

// sweepTokens removes, once in a while, tokens that need not be listed any more.
func (a *Access) sweepTokens(tokens *bbolt.Bucket) error {
	now := a.now()
	if now.Sub(a.swept) < sweepEvery {
		return nil
	}
	a.swept = now
	return removeWhere(tokens, func(value []byte) bool {
		token, err := decodeAccess[access.Token](value)
		until := token.ListedUntil()
		return err == nil && !until.IsZero() && !now.Before(until)
	})
}

// Rules implements [access.Rules].
func (a *Access) Rules(ctx context.Context) (rules []access.Rule, err error) {
	err = a.view(ctx, "list rules", func(tx *bbolt.Tx) error {
		return tx.Bucket(rulesBucket).ForEach(func(key, value []byte) error {
			rule, err := decodeAccess[access.Rule](value)
			if err != nil {
				return fmt.Errorf("%q: %w", key, err)
			}
			rules = append(rules, rule)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// AddRule implements [access.Rules].
func (a *Access) AddRule(ctx context.Context, r access.Rule) error {
	return a.update(ctx, fmt.Sprintf("add rule %q", r.Name), func(tx *bbolt.Tx) error {
		rules, key := tx.Bucket(rulesBucket), []byte(r.Name)
		if rules.Get(key) != nil {
			return access.ErrExists
		}
		if err := layout.CheckRules(count(rules)); err != nil {
			return err
		}
		return putJSON(rules, key, r)
	})
}

// RemoveRule implements [access.Rules].
func (a *Access) RemoveRule(ctx context.Context, name string) error {
	return a.update(ctx, fmt.Sprintf("remove rule %.100q", name), func(tx *bbolt.Tx) error {
		return remove(tx.Bucket(rulesBucket), name)
	})
}

func (a *Access) view(ctx context.Context, what string, read func(tx *bbolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = a.db.View(read)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (a *Access) update(ctx context.Context, what string, change func(tx *bbolt.Tx) error) error {
	err := ctx.Err()
	if err == nil {
		err = a.db.Update(change)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func decodeAccess[T any](value []byte) (T, error) {
	var item T
	if err := json.Unmarshal(value, &item); err != nil {
		return item, fmt.Errorf("%w: %w", errAccessDamaged, err)
	}
	return item, nil
}

func putJSON(b *bbolt.Bucket, key []byte, item any) error {
	value, err := json.Marshal(item)
	if err != nil {
		return err
	}
	return b.Put(key, value)
}

func remove(b *bbolt.Bucket, key string) error {
	if b.Get([]byte(key)) == nil {
		return access.ErrNotFound
	}
	return b.Delete([]byte(key))
}

// removeWhere removes the items whose values meet the condition. It removes them after
// the walk, since a cursor may miss the item that follows one it removes.
func removeWhere(b *bbolt.Bucket, condition func(value []byte) bool) error {
	var keys [][]byte
	for c, key, value := first(b); key != nil; key, value = c.Next() {
		if condition(value) {
			keys = append(keys, bytes.Clone(key))
		}
	}
	for _, key := range keys {
		if err := b.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

func first(b *bbolt.Bucket) (c *bbolt.Cursor, key, value []byte) {
	c = b.Cursor()
	key, value = c.First()
	return c, key, value
}

func count(b *bbolt.Bucket) int {
	n := 0
	for c, key, _ := first(b); key != nil; key, _ = c.Next() {
		n++
	}
	return n
}
