package kmstest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// The operations.
const (
	CreateKey    = "CreateKey"
	DescribeKey  = "DescribeKey"
	GetKeyPolicy = "GetKeyPolicy"
	GetPublicKey = "GetPublicKey"
	Sign         = "Sign"
)

const (
	targetPrefix = "TrentService."
	contentType  = "application/x-amz-json-1.1"
	maxBody      = 64 << 10
)

// Handler is a KMS with a key, and those that are created beside it.
type Handler struct {
	mu       sync.Mutex
	key      Key
	created  []Key
	requests map[string]int
	failures map[string]failure
}

// New returns a KMS that holds the key.
func New(key Key) *Handler {
	return &Handler{key: key, requests: make(map[string]int), failures: make(map[string]failure)}
}

// Key returns the key as it is now.
func (h *Handler) Key() Key {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.key
}

// Change changes the key.
func (h *Handler) Change(change func(*Key)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.key)
}

// Requests returns the number of requests for each operation, with failed ones. A client's
// retries are requests.
func (h *Handler) Requests() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.requests)
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The body is read whole, so that the server notices a client that leaves.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		writeError(w, &exception{http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", err.Error()})
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if fault := h.arrival(operationOf(r)); fault != nil {
		fault(w, r, h.answer)
		return
	}
	h.answer(w, r)
}

func operationOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
}

// answer does what the request asks for.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request) {
	output, err := h.handle(r)
	if refused := (*exception)(nil); errors.As(err, &refused) {
		writeError(w, refused)
		return
	}
	if err != nil {
		writeError(w, &exception{http.StatusInternalServerError, "KMSInternalException", err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, output)
}

func (h *Handler) handle(r *http.Request) (any, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/" || r.Header.Get("Content-Type") != contentType {
		return nil, &exception{http.StatusNotFound, "UnknownOperationException", "not a request of AWS JSON 1.1"}
	}
	if err := checkAuthorization(h.Key().Region, r); err != nil {
		return nil, err
	}
	key, err := h.meant(r)
	if err != nil {
		return nil, err
	}
	switch r.Header.Get("X-Amz-Target") {
	case targetPrefix + CreateKey:
		return serve(key, r, h.create)
	case targetPrefix + DescribeKey:
		return serve(key, r, describeKey)
	case targetPrefix + GetKeyPolicy:
		return serve(key, r, getKeyPolicy)
	case targetPrefix + GetPublicKey:
		return serve(key, r, getPublicKey)
	case targetPrefix + Sign:
		return serve(key, r, sign)
	}
	return nil, refuse("UnknownOperationException", "no operation %q", operationOf(r))
}

// meant returns the key that a request names, or the first key if there is no such key. The body
// can be read again.
func (h *Handler) meant(r *http.Request) (Key, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return Key{}, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var input keyInput
	_ = json.Unmarshal(body, &input) // serve reads it strictly, and reports what is wrong
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, key := range h.created {
		if key.find(input.KeyID) == nil {
			return key, nil
		}
	}
	return h.key, nil
}

// serve reads the input of an operation, strictly, and runs it.
func serve[Input any](key Key, r *http.Request, operation func(Key, Input) (any, error)) (any, error) {
	var input Input
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&input); err != nil {
		return nil, invalid("%v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, invalid("the body goes on after its value")
	}
	return operation(key, input)
}

// An exception is an error as KMS answers it.
type exception struct {
	status  int
	code    string
	message string
}

func (e *exception) Error() string { return e.code + ": " + e.message }

func refuse(code, format string, args ...any) error {
	return &exception{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error { return refuse("ValidationException", format, args...) }

func writeError(w http.ResponseWriter, e *exception) {
	w.Header().Set("X-Amzn-ErrorType", e.code)
	writeJSON(w, e.status, map[string]string{"__type": e.code, "message": e.message})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Amzn-RequestId", "00000000-0000-4000-8000-000000000000")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}
