// Package tiny has every kind of mutant twice: with a test, and without one that would notice.
package tiny

import (
	"errors"
	"strings"
)

var errNo = errors.New("no")

// Tested is what the tests look at.
func Tested(n int, text string) (steps []string, err error) {
	defer func() { steps = append(steps, "end") }()
	if n < 3 {
		steps = append(steps, "small")
	}
	for range n {
		if text == "" || text == "x" && n > 1 {
			return steps, errNo
		}
	}
	if table[text] {
		return steps, check(
			text, // in two lines
			n,
		)
	}
	return steps, nil
}

var table = map[string]bool{"a": true}

func check(string, int) error { return errNo }

// IsTested is flipped.
func IsTested() bool { return true }

// Untested is what the tests run, and do not look at.
func Untested(n int, text string) (steps []string, err error) {
	defer func() { steps = append(steps, "end") }()
	if n < 3 {
		steps = append(steps, "small")
	}
	for range n {
		if text == "" || text == "x" && n > 1 {
			return steps, errNo
		}
	}
	return steps, both()
}

func both() error {
	_, err := two()
	return err
}

func two() (list []string, err error) { return three() }

func three() ([]string, error) { return []string{"a"}, errNo }

// IsUntested is not looked at either.
func IsUntested() bool { return true }

// Unreached is not run by any test of this package.
func Unreached(text string) bool {
	switch strings.TrimSpace(text) {
	case "yes":
		return true
	}
	return false
}

// Count never ends if the statement in its loop is removed.
func Count(n int) int {
	i := 0
	for i < n {
		i++
	}
	return i
}

type flag bool

// Named does not compile with its mutants: a clause cannot be dropped from a bool that has a name.
func Named(a, b flag) flag { return a && b }
