package access

import (
	"crypto/rand"
	"crypto/sha256"
)

// NewTicket makes the secret of a new ticket for a purpose, of 130 random bits, and
// the ID under which the ticket is kept.
func NewTicket(purpose string) (secret string, id ID) {
	secret = rand.Text()
	return secret, TicketID(purpose, secret)
}

// TicketID is the ID of the ticket that a secret is for. The ID is not enough to take
// the ticket from a registry. A secret is good for its own purpose alone.
func TicketID(purpose, secret string) ID { return sha256.Sum256([]byte(purpose + " " + secret)) }
