// Package dynamostand stands in for DynamoDB where it is measured what others do with it. It
// answers from memory by DynamoDB's own protocol, after a delay that can be set, and counts
// the requests and their read units.
//
// It has one table, with the keys PK and SK, and the operations and expressions that package
// dynamocatalog sends. It checks no signature.
package dynamostand

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The paths by which the stand-in itself is controlled.
const (
	CountsPath = "/-/counts" // GET: the [Counts] since the start, in JSON
	DelayPath  = "/-/delay"  // PUT: the body is the delay of every answer, such as 5ms
)

// maxBody is the longest request, in bytes, as DynamoDB's own.
const maxBody = 16 << 20

// Counts are the requests that were answered.
type Counts struct {
	Requests  map[string]int // by operation
	ReadUnits float64
}

// All is the number of all requests.
func (c Counts) All() (sum int) {
	for _, n := range c.Requests {
		sum += n
	}
	return sum
}

// Stand is an [http.Handler] that answers as DynamoDB.
type Stand struct {
	name string

	mu         sync.RWMutex
	partitions map[string]*partition

	counting sync.Mutex
	counts   Counts
	delay    time.Duration
}

// New is a stand-in with an empty table.
func New(table string) *Stand {
	return &Stand{name: table, partitions: map[string]*partition{}, counts: Counts{Requests: map[string]int{}}}
}

// ServeHTTP implements [http.Handler].
func (s *Stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case CountsPath:
		_ = json.NewEncoder(w).Encode(s.Counts()) // fails only when the client has gone
	case DelayPath:
		delay, err := time.ParseDuration(string(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.setDelay(delay)
	default:
		s.serve(w, r.Header.Get("X-Amz-Target"), body)
	}
}

// Counts is what was counted until now.
func (s *Stand) Counts() Counts {
	s.counting.Lock()
	defer s.counting.Unlock()
	return Counts{maps.Clone(s.counts.Requests), s.counts.ReadUnits}
}

func (s *Stand) setDelay(delay time.Duration) {
	s.counting.Lock()
	defer s.counting.Unlock()
	s.delay = delay
}

// count counts a request, and returns the delay of its answer.
func (s *Stand) count(operation string, units float64) time.Duration {
	s.counting.Lock()
	defer s.counting.Unlock()
	s.counts.Requests[operation]++
	s.counts.ReadUnits += units
	return s.delay
}

// serve answers a request of the protocol.
func (s *Stand) serve(w http.ResponseWriter, target string, body []byte) {
	operation, ok := strings.CutPrefix(target, "DynamoDB_20120810.")
	answer := operations[operation]
	var in input
	err := json.Unmarshal(body, &in)
	switch {
	case !ok || answer == nil:
		err = &failure{Type: "UnknownOperationException"}
	case err != nil:
		err = &failure{Type: "SerializationException", Message: err.Error()}
	default:
		err = s.checkTables(in)
	}
	var out []byte
	var units float64
	if err == nil {
		out, units, err = answer(s, in)
	}
	time.Sleep(s.count(operation, units))
	status := http.StatusOK
	if err != nil {
		status, out = http.StatusBadRequest, describe(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-amz-json-1.0")
	h.Set("Content-Length", strconv.Itoa(len(out)))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(out)), 10))
	h.Set("X-Amzn-Requestid", "STANDINSTANDINSTANDINSTANDINSTANDINSTANDINSTANDINSTA")
	w.WriteHeader(status)
	_, _ = w.Write(out) // fails only when the client has gone
}

// checkTables says if a request names another table.
func (s *Stand) checkTables(in input) error {
	names := []string{in.TableName}
	if in.RequestItems != nil || in.TransactItems != nil {
		names = nil
	}
	for name := range in.RequestItems {
		names = append(names, name)
	}
	for _, write := range in.TransactItems {
		names = append(names, write.one().TableName)
	}
	for _, name := range names {
		if name != s.name {
			return &failure{Type: "ResourceNotFoundException", Message: "Requested resource not found"}
		}
	}
	return nil
}

// failure is an error as DynamoDB writes it.
type failure struct {
	Type                string
	Message             string
	Item                item     // of a condition that failed, if that was asked for
	CancellationReasons []reason // of a transaction
}

// reason is why a write of a transaction was not made.
type reason struct{ Code string }

func (f *failure) Error() string { return f.Type + ": " + f.Message }

func describe(err error) []byte {
	failed, ok := errors.AsType[*failure](err)
	if !ok {
		failed = &failure{Type: "ValidationException", Message: err.Error()}
	}
	document := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + failed.Type, "message": failed.Message}
	if failed.Item != nil {
		document["Item"] = failed.Item
	}
	if failed.CancellationReasons != nil {
		document["CancellationReasons"] = failed.CancellationReasons
	}
	return encode(document)
}

// encode writes what is made of texts and lists, which can always be written.
func encode(document any) []byte {
	out, err := json.Marshal(document)
	if err != nil {
		panic(fmt.Sprintf("encode an answer: %v", err))
	}
	return out
}
