package hostname

import "testing"

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost": true, "127.0.0.1": true, "127.255.255.254": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.com": false, "example.com": false, "128.0.0.1": false, "192.0.2.1": false, "0.0.0.0": false,
		"::": false, "::2": false, "::ffff:192.0.2.1": false, "127.1": false, "[::1]": false, "127.0.0.1:8443": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
