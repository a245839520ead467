package dynamocatalog

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/larder-registry/larder/pkg/registry"
	"github.com/larder-registry/larder/pkg/registry/registrytest"
)

// storedVersion is a provider version for five platforms, as DynamoDB sends it.
func storedVersion(tb testing.TB) ([]byte, registry.ProviderAddress, registry.Version) {
	tb.Helper()
	a, v := registry.ProviderAddress{Namespace: "acme", Type: "widget"}, registrytest.Version(tb, "1.0.0")
	state := registry.ProviderVersion{Address: a, Version: v, Revision: 6, Release: &registry.Release{
		SHA256: strings.Repeat("a", 64), Signature: strings.Repeat("b", 64), Sequence: 6,
		Keys: []registry.SigningKey{{KeyID: "1D6323CC463AD7FC", ASCIIArmor: strings.Repeat("mQINBGkAAAABEADFfJ+/\n", 150)}},
	}}
	for n, os := range []string{"darwin", "freebsd", "linux", "openbsd", "windows"} {
		state.Packages = append(state.Packages, registry.Package{
			Platform: registry.Platform{OS: os, Arch: "amd64"}, SHA256: strings.Repeat("c", 64), H1: "h1:" + strings.Repeat("d", 44), Size: 1 << 24, Sequence: n + 1,
		})
	}
	item, err := stateItem(&state)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(item.Base64(dataAttribute)), a, v
}

func BenchmarkDecodeState(b *testing.B) {
	data, a, v := storedVersion(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := decodeState(data, a.New(v)); err != nil {
			b.Fatal(err)
		}
	}
}

// The tables of gzip, which take 40 kB, are not made for each document.
func TestDecodeStateAllocates(t *testing.T) {
	const most = 46
	data, a, v := storedVersion(t)
	got := testing.AllocsPerRun(100, func() {
		if err := decodeState(data, a.New(v)); err != nil {
			t.Fatal(err)
		}
	})
	if got > most {
		t.Errorf("it takes %v allocations, and at most %d are allowed", got, most)
	}
}

// A document is read as it was written, also after one that is damaged.
func TestDecompress(t *testing.T) {
	for _, document := range []string{"", "{}", strings.Repeat("0123456789", 100_000)} {
		data, err := compress([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			encoded := base64.StdEncoding.EncodeToString(data)
			if got, err := decompress([]byte(encoded)); err != nil || string(got) != document {
				t.Errorf("%d bytes are read as %d: %v", len(document), len(got), err)
			}
			damaged := bytes.Clone(data)
			copy(damaged[len(damaged)-4:], "\xff\xff\xff\xff")
			for _, bad := range [][]byte{damaged, data[:len(data)-4], data[:3], nil, []byte("not gzip at all")} {
				if _, err := decompress([]byte(base64.StdEncoding.EncodeToString(bad))); !errors.Is(err, errForeign) {
					t.Errorf("%.20q: %v", bad, err)
				}
			}
		}
	}
}
