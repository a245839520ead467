package layout

import (
	"fmt"

	"github.com/larder-registry/larder/pkg/access"
)

// CheckTicket refuses what is too large for a ticket.
func CheckTicket(data []byte) error {
	if len(data) > access.MaxTicket {
		return fmt.Errorf("it has %d bytes, and there is room for %d", len(data), access.MaxTicket)
	}
	return nil
}

// CheckRules refuses one rule more than there may be.
func CheckRules(count int) error {
	if count >= access.MaxRules {
		return fmt.Errorf("there are %d rules, and there may be no more: remove one that is not needed", count)
	}
	return nil
}

// CheckAfter refuses what is no next of a page of tokens. The empty one is
// before all.
func CheckAfter(after string) error {
	if after == "" {
		return nil
	}
	return new(access.ID).UnmarshalText([]byte(after))
}
