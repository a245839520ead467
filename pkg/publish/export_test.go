package publish

// LimitListings makes listings have less room.
func (p *Publisher) LimitListings(answered, stored int) {
	p.room.maxAnswered, p.room.maxStored = answered, stored
}

// The room that listings have otherwise, in bytes.
const (
	MaxAnswered = maxAnswered
	MaxStored   = maxStored
)
