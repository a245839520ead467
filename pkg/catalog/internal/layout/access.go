package layout

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/access"
)

// CheckTicket refuses data that is too large for a ticket.
func CheckTicket(data []byte) error {
	if len(data) > access.MaxTicket {
		return fmt.Errorf("it has %d bytes, and there is room for %d", len(data), access.MaxTicket)
	}
	return nil
}

// CheckRules refuses another rule where there are already as many as there may be.
func CheckRules(count int) error {
	if count >= access.MaxRules {
		return fmt.Errorf("there are %d rules, and there may be no more: remove one that is not needed", count)
	}
	return nil
}

// CheckAfter refuses a text that cannot be the next of a page of tokens. The empty one
// comes before all tokens.
func CheckAfter(after string) error {
	if after == "" {
		return nil
	}
	return new(access.ID).UnmarshalText([]byte(after))
}
