package tiny

import (
	"errors"
	"slices"
	"testing"
)

func TestTested(t *testing.T) {
	for _, tt := range []struct {
		n     int
		text  string
		steps []string
		err   error
	}{
		{2, "b", []string{"small", "end"}, nil},
		{3, "b", []string{"end"}, nil},
		{2, "x", []string{"small", "end"}, errNo},
		{1, "x", []string{"small", "end"}, nil},
		{1, "", []string{"small", "end"}, errNo},
		{3, "a", []string{"end"}, errNo},
	} {
		if steps, err := Tested(tt.n, tt.text); !slices.Equal(steps, tt.steps) || !errors.Is(err, tt.err) {
			t.Errorf("%+v: %q, %v", tt, steps, err)
		}
	}
	if !IsTested() || Count(2) != 2 {
		t.Error("no")
	}
}

func TestNothing(t *testing.T) {
	for _, text := range []string{"", "b", "x"} {
		Untested(1, text)
		Untested(3, text)
	}
	IsUntested()
}
