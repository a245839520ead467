package user

import (
	"os"
	"testing"
)

func TestUse(t *testing.T) {
	if !Use() || os.Getenv("TINY_FAILS") != "" {
		t.Error("no")
	}
}
