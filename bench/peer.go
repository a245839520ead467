package main

import (
	"crypto/tls"
	"fmt"
	"net/url"
	"strconv"

	"github.com/larder-registry/larder/bench/internal/load"
)

// peer is another registry that has the same data.
type peer struct {
	server load.Server // without an address if there is none
}

func (p peer) given() bool { return p.server.Addr != "" }

// parsePeer reads where the peer is: PEER, its process PEER_PID, and PEER_TOKEN.
func parsePeer(getenv func(string) string) (p peer, err error) {
	text := getenv("PEER")
	if text == "" {
		return p, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Port() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return p, fmt.Errorf("PEER is %q: it must be a URL with a port, like http://127.0.0.1:5601", text)
	}
	p.server = load.Server{Addr: u.Host, Token: getenv("PEER_TOKEN")}
	if u.Scheme == "https" {
		p.server.TLS = &tls.Config{}
	}
	if pid := getenv("PEER_PID"); pid != "" {
		if p.server.PID, err = strconv.Atoi(pid); err != nil {
			return p, fmt.Errorf("PEER_PID is %q: it must be the ID of the peer's process", pid)
		}
	}
	return p, nil
}
