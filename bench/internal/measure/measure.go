// Package measure compares how fast several do the same. All are measured by turns, one after
// the other, round by round: what else the machine does meanwhile slows all of them. So it is
// the ratio within a round that counts, and not the time.
package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Turn is what asking a number of times took.
type Turn struct {
	Requests  int
	Took      time.Duration
	CPU       time.Duration   // of the one that was asked, and not of the one that asks
	Latencies []time.Duration // of each request, in any order
	Bytes     int64           // of all answers
}

// Subject is one that is measured.
type Subject interface {
	// Check asks once and says what is wrong with the answer.
	Check(ctx context.Context) error

	// Turn asks a number of times. An answer that is not as it should be is an error.
	Turn(ctx context.Context, requests int) (Turn, error)
}

// Plan is how long it is measured.
type Plan struct {
	Rounds int           // how many turns each subject has
	Turn   time.Duration // about how long a turn takes; each of a subject has the same number of requests
	Least  int           // how many requests a turn has at least
}

// Result is what was measured of a subject.
type Result struct {
	Void   string // why it could not be measured; empty if it was
	Rounds []Turn
}

// Compare measures subjects by turns. A subject that fails is void, and the others go on.
func Compare(ctx context.Context, p Plan, subjects []Subject) []Result {
	results := make([]Result, len(subjects))
	requests := make([]int, len(subjects))
	each := func(do func(n int) error) {
		for n := range subjects {
			if results[n].Void != "" {
				continue
			}
			if err := cmp.Or(ctx.Err(), do(n)); err != nil {
				results[n] = Result{Void: err.Error()}
			}
		}
	}
	each(func(n int) error { return subjects[n].Check(ctx) })
	each(func(n int) (err error) {
		requests[n], err = calibrate(ctx, p, subjects[n])
		return err
	})
	for range p.Rounds {
		each(func(n int) error {
			turn, err := subjects[n].Turn(ctx, requests[n])
			results[n].Rounds = append(results[n].Rounds, turn)
			return err
		})
	}
	return results
}

// maxRequests is how many requests a turn has at most.
const maxRequests = 1 << 20

// calibrate warms a subject up, and says with how many requests a turn takes as long as planned.
func calibrate(ctx context.Context, p Plan, s Subject) (requests int, err error) {
	for requests = p.Least; ; requests *= 2 {
		turn, err := s.Turn(ctx, requests)
		if err != nil {
			return 0, fmt.Errorf("warm up: %w", err)
		}
		if turn.Took >= p.Turn/4 || requests >= maxRequests {
			fitting := float64(requests) * float64(p.Turn) / float64(max(turn.Took, 1))
			return min(max(int(fitting), p.Least), maxRequests), nil
		}
	}
}

// Spread is a median, and the lowest and highest value.
type Spread struct{ Median, Lowest, Highest float64 }

// MarshalJSON implements [json.Marshaler]. A spread is written as a list, each value with the
// digits that count.
func (s Spread) MarshalJSON() ([]byte, error) {
	values := [...]json.Number{digits(s.Median), digits(s.Lowest), digits(s.Highest)}
	return json.Marshal(values)
}

// digits is a value with the four digits that count.
func digits(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'g', 4, 64)) }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Spread) UnmarshalJSON(text []byte) error {
	var values [3]float64
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*s = Spread{values[0], values[1], values[2]}
	return nil
}

// SpreadOf is the spread of some values. It is zero without values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + median) / 2
	}
	return Spread{median, sorted[0], sorted[len(sorted)-1]}
}

// Rate is the requests per second.
func (r Result) Rate() Spread {
	return SpreadOf(r.each(Turn.rate))
}

func (t Turn) rate() float64 { return float64(t.Requests) / t.Took.Seconds() }

func (r Result) each(value func(Turn) float64) (values []float64) {
	if r.Void != "" {
		return nil
	}
	for _, turn := range r.Rounds {
		values = append(values, value(turn))
	}
	return values
}

// Ratio is how many times as fast as another one it was, round by round. It is zero if
// either is void.
func (r Result) Ratio(other Result) Spread {
	mine, others := r.each(Turn.rate), other.each(Turn.rate)
	if len(mine) != len(others) {
		return Spread{}
	}
	for n := range mine {
		mine[n] /= others[n]
	}
	return SpreadOf(mine)
}

// CPU is the processor's time for a request, over all rounds. It is 0 if it is not known.
func (r Result) CPU() time.Duration {
	var cpu time.Duration
	requests := 0
	for _, turn := range r.Rounds {
		cpu, requests = cpu+turn.CPU, requests+turn.Requests
	}
	if r.Void != "" || requests == 0 {
		return 0
	}
	return cpu / time.Duration(requests)
}

// Bytes is the length of an answer, in bytes.
func (r Result) Bytes() int64 {
	var bytes int64
	requests := 0
	for _, turn := range r.Rounds {
		bytes, requests = bytes+turn.Bytes, requests+turn.Requests
	}
	if r.Void != "" || requests == 0 {
		return 0
	}
	return bytes / int64(requests)
}

// Percentile is the latency that a part of all requests, such as 0.5, did not exceed.
func (r Result) Percentile(part float64) time.Duration {
	var all []time.Duration
	for _, turn := range r.Rounds {
		all = append(all, turn.Latencies...)
	}
	if r.Void != "" || len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(part*float64(len(all))), len(all)-1)]
}
