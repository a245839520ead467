package rush

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	var c clock
	var got, want []int
	random := rand.New(rand.NewPCG(1, 1))
	for _, at := range random.Perm(100) {
		at /= 10 // ten at each time, in the order in which they are planned
		order := c.count
		c.after(time.Duration(at), func() { got = append(got, at*1000+order) })
		want = append(want, at*1000+order)
	}
	c.after(5, func() { c.after(-1, func() { got = append(got, 5999) }) }) // what is late happens at once
	want = append(want, 5999)
	c.run()
	slices.Sort(want)
	if !reflect.DeepEqual(got, want) || c.now != 9 {
		t.Errorf("at %d, this has happened: %v, want %v", c.now, got, want)
	}
}

func TestAllowance(t *testing.T) {
	a := newAllowance(10, 5)
	for _, tt := range []struct {
		at   time.Duration
		n    float64
		want bool
	}{
		{0, 5, true}, {0, 0.5, false}, // the burst, and no more
		{100 * time.Millisecond, 1, true}, {100 * time.Millisecond, 0.5, false}, // a tenth of a second's rate
		{time.Hour, 5.5, false}, {time.Hour, 5, true}, // never more than the burst
	} {
		if got := a.take(tt.at, tt.n); got != tt.want {
			t.Errorf("at %v, %g: %v, want %v", tt.at, tt.n, got, tt.want)
		}
	}
}
