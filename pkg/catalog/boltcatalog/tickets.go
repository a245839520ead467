package boltcatalog

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"github.com/larder-registry/larder/pkg/access"
	"github.com/larder-registry/larder/pkg/catalog/internal/layout"
	"go.etcd.io/bbolt"
)

// maxTickets is how many there may be at a time: everybody who begins to log in makes
// one, before anybody knows who that is.
const maxTickets = 10_000

// ticketHeader is how many bytes come before the data of a ticket: the time when it
// expires.
const ticketHeader = 8

// KeepTicket implements [access.Tickets]. It also removes all expired tickets.
func (a *Access) KeepTicket(ctx context.Context, id access.ID, data []byte, expires time.Time) error {
	return a.update(ctx, "keep a ticket", func(tx *bbolt.Tx) error {
		if err := layout.CheckTicket(data); err != nil {
			return err
		}
		tickets, now := tx.Bucket(ticketsBucket), a.now()
		if err := removeWhere(tickets, func(value []byte) bool { return ticketExpired(value, now) }); err != nil {
			return err
		}
		if count(tickets) >= a.maxTickets {
			return access.ErrFull
		}
		value := binary.BigEndian.AppendUint64(nil, uint64(expires.UnixMilli()))
		return tickets.Put([]byte(id.String()), append(value, data...))
	})
}

// TakeTicket implements [access.Tickets].
func (a *Access) TakeTicket(ctx context.Context, id access.ID) (data []byte, err error) {
	err = a.update(ctx, "take a ticket", func(tx *bbolt.Tx) error {
		tickets, key := tx.Bucket(ticketsBucket), []byte(id.String())
		value := tickets.Get(key)
		if value == nil || ticketExpired(value, a.now()) {
			return access.ErrNotFound
		}
		data = bytes.Clone(value[ticketHeader:]) // valid only until the transaction is over
		return tickets.Delete(key)
	})
	if err != nil { // the ticket may still be there, for somebody else
		return nil, err
	}
	return data, nil
}

func isTicket(value []byte) bool { return len(value) >= ticketHeader }

func ticketExpired(value []byte, now time.Time) bool {
	return now.UnixMilli() >= int64(binary.BigEndian.Uint64(value))
}
