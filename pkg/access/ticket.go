package access

import (
	"crypto/rand"
	"crypto/sha256"
)

// NewTicket makes the secret of a ticket for a purpose, which nobody has seen
// before (130 bits), and the ID that the ticket is kept under.
func NewTicket(purpose string) (secret string, id ID) {
	secret = rand.Text()
	return secret, TicketID(purpose, secret)
}

// TicketID is the ID of the ticket that a secret is for. Who knows it cannot
// take the ticket from a registry; and a secret for one purpose is none for
// another.
func TicketID(purpose, secret string) ID { return sha256.Sum256([]byte(purpose + " " + secret)) }
