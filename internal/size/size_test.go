package size

import "testing"

func TestOf(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 bytes", 1: "1 byte", 10<<10 - 1: "10239 bytes", 10 << 10: "10 KiB", 10<<20 - 1: "10239 KiB", 10 << 20: "10 MiB",
		10<<30 - 1: "10239 MiB", 10 << 30: "10 GiB", 10 << 40: "10240 GiB",
	} {
		if got := Of(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := Count(n, "file"); got != want {
			t.Errorf("%d are %q, want %q", n, got, want)
		}
	}
}
