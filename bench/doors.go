package main

import (
	"net/url"
	"time"

	"github.com/larder-registry/larder/bench/internal/lambdadoor"
	"github.com/larder-registry/larder/bench/internal/load"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/bench/internal/rows"
	"github.com/larder-registry/larder/bench/internal/servers"
)

// The names of the floors, and of the peer.
const (
	floorBare = "floor: bare answer"
	floorSDK  = "floor: read, AWS SDK"
	floorLean = "floor: read, lean"
	floorEcho = "floor: echo"
	namePeer  = "peer"
)

// entrant is one that is measured in a cell.
type entrant struct {
	name    string
	floor   string // the name of the entrant that it is compared with; empty for floors and the peer
	subject measure.Subject
	close   func()
}

// entrants is all that are measured by turns for a row: all that the delay of the store
// concerns if there is one, and without one everybody.
func (w *world) entrants(r rows.Row, clients int, delay time.Duration) []entrant {
	var all []entrant
	add := func(name, floor string, server load.Server, r rows.Row, asPeer bool) {
		l := &load.Load{Task: task(r, asPeer), Server: server, Clients: clients}
		all = append(all, entrant{name, floor, l, l.Close})
	}
	at := func(addr string, pid int, token string) load.Server {
		return load.Server{Addr: addr, PID: pid, Token: token}
	}
	floors := at(w.floors.Addr, w.floors.PID, "")
	if delay == 0 {
		add(floorBare, "", floors, floorRow(r, servers.BarePath), false)
		if w.node != nil {
			add(doorNode, floorBare, w.node.server, r, false)
		}
		if w.bolt != nil {
			add(doorBolt, floorBare, at(w.bolt.Addr, w.bolt.PID, w.tokens[0]), r, false)
		}
	}
	if w.functions != nil && (delay == 0 || r.Calls() > 0) {
		functionsFloor := floorBare
		if r.Calls() > 0 {
			add(floorSDK, "", floors, floorRow(r, servers.SDKPath), false)
			add(floorLean, "", floors, floorRow(r, servers.LeanPath), false)
			functionsFloor = floorLean
		}
		add(doorFunctions, functionsFloor, at(w.functions.Addr, w.functions.PID, w.tokens[0]), r, false)
	}
	if w.lambdas[echo] != nil && clients == 1 && (delay == 0 || r.Calls() > 0) {
		all = append(all, w.invoked(floorEcho, "", echo, floorRow(r, "/echo")), w.invoked(doorLambda, floorEcho, string(r.Function), r))
	}
	if w.settings.peer.given() && !r.NotOfPeer && delay == 0 {
		add(namePeer, "", w.settings.peer.server, r, true)
	}
	return all
}

// task is what a row asks of a door, or of the peer.
func task(r rows.Row, asPeer bool) load.Task {
	return load.Task{Paths: r.Paths, Status: r.Status, Correct: func(path string, a load.Answer) error { return r.Correct(path, a, asPeer) }}
}

// floorRow is a row that is answered by a floor.
func floorRow(r rows.Row, path string) rows.Row {
	if path != servers.BarePath {
		path += "?pk=" + url.QueryEscape(r.Partition) + "&sk=" + url.QueryEscape(r.Item)
	}
	r.Paths, r.Status = []string{path}, 200
	r.Correct = func(string, load.Answer, bool) error { return nil }
	return r
}

// invoked is a function that is asked by Lambda's Runtime API. A function takes one request
// at a time.
func (w *world) invoked(name, floor, function string, r rows.Row) entrant {
	headers := map[string]string{"authorization": "Bearer " + w.tokens[0]}
	if function == echo && r.Calls() > 0 {
		headers["x-bench-target"], headers["x-bench-read"] = servers.ReadTarget, string(servers.ReadBody(r.Partition, r.Item))
	}
	return entrant{name, floor, &lambdadoor.Load{Task: task(r, false), Function: w.lambdas[function], Headers: headers}, func() {}}
}
