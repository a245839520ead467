// Package mcprelay carries the messages of an assistant, which come line by line to a process,
// to a registry, and its answers back. It knows no tools: those are the registry's own.
package mcprelay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxMessage is the longest message that is read, in bytes: what a registry takes.
const maxMessage = 256 << 10

// atOnce is how many messages wait for their answers at a time.
const atOnce = 8

// Registry answers messages.
type Registry interface {
	// Post sends a JSON document to a path, and returns the answer, which is empty for a
	// notification.
	Post(ctx context.Context, path string, body []byte, header http.Header) ([]byte, error)
}

// path is where a registry takes messages.
const path = "/mcp"

// relay is one run.
type relay struct {
	registry Registry

	mu      sync.Mutex
	out     io.Writer
	failed  error  // to write
	version string // of the protocol, as the registry and the assistant have agreed
}

// Run carries messages until the input ends or ctx is done, which is no error. It waits for the
// answers to what was read before the input ended. Nothing but answers is written.
func Run(ctx context.Context, registry Registry, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &relay{registry: registry, out: out}
	lines, ended := readLines(ctx, in)
	var waiting sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				waiting.Wait()
				return errors.Join(<-ended, r.failure())
			}
			slots <- struct{}{}
			waiting.Go(func() {
				r.carry(ctx, line)
				<-slots
			})
		}
		if err := r.failure(); err != nil { // nobody reads the answers any more
			return err
		}
	}
}

// readLines reads in the background, because a read of the standard input cannot be ended.
func readLines(ctx context.Context, in io.Reader) (lines <-chan []byte, ended <-chan error) {
	to, failed := make(chan []byte), make(chan error, 1)
	go func() {
		defer close(to)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, maxMessage)
		for scanner.Scan() {
			line := bytes.TrimSpace(scanner.Bytes())
			if len(line) == 0 {
				continue
			}
			select {
			case to <- bytes.Clone(line):
			case <-ctx.Done():
				failed <- nil
				return
			}
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("a message is longer than %d KiB", maxMessage>>10)
		}
		failed <- err
	}()
	return to, failed
}

// message is what has to be known of a message to carry it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInternal = -32603
)

// carry sends a message, and writes its answer.
func (r *relay) carry(ctx context.Context, line []byte) {
	var m message
	if !json.Valid(line) {
		r.refuse(nil, codeParse, "the message is not JSON")
		return
	}
	_ = json.Unmarshal(line, &m) // what does not fit, the registry refuses
	answer, err := r.registry.Post(ctx, path, line, r.header(m))
	switch {
	case ctx.Err() != nil:
	case len(m.ID) == 0 || string(m.ID) == "null": // a notification has no answer, whatever becomes of it
	case err != nil:
		r.refuse(m.ID, codeInternal, err.Error())
	default:
		r.answer(m, answer)
	}
}

// header is what the protocol wants to be in the header, too.
func (r *relay) header(m message) http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	version := m.Params.Meta.Version
	if version == "" {
		version = r.version
	}
	for name, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": m.Method, "Mcp-Name": m.Params.Name + m.Params.URI} {
		if value != "" && isPlain(value) {
			h.Set(name, value)
		}
	}
	return h
}

// isPlain says whether a text can be in a header as it is.
func isPlain(text string) bool {
	return len(text) <= 256 && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// answer writes an answer in one line.
func (r *relay) answer(m message, body []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil {
		r.refuse(m.ID, codeInternal, "the registry's answer is not JSON")
		return
	}
	if m.Method == "initialize" {
		var agreed struct {
			Result struct {
				Version string `json:"protocolVersion"`
			} `json:"result"`
		}
		if json.Unmarshal(body, &agreed) == nil {
			r.mu.Lock()
			r.version = agreed.Result.Version
			r.mu.Unlock()
		}
	}
	r.write(line.Bytes())
}

// refuse writes an error for a message.
func (r *relay) refuse(id json.RawMessage, code int, text string) {
	type failure struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   failure         `json:"error"`
	}{"2.0", id, failure{code, text}})
	if err == nil { // an ID that was read can be written
		r.write(line)
	}
}

func (r *relay) write(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		_, r.failed = r.out.Write(append(line, '\n'))
	}
}

func (r *relay) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
