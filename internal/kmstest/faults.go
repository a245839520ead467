package kmstest

import (
	"net/http"
	"net/http/httptest"
	"time"
)

// Fault answers in place of the server. It may call answer for the server's own answer.
type Fault func(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc)

// Always is the number of times that means for ever.
const Always = -1

type failure struct {
	fault Fault
	left  int // or Always
}

// Fail makes the next requests for an operation fail, times times. It replaces an earlier call
// for the operation; 0 times ends that.
func (h *Handler) Fail(operation string, times int, fault Fault) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures[operation] = failure{fault, times}
}

// arrival counts a request, and returns its fault or nil.
func (h *Handler) arrival(operation string) Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[operation]++
	failing := h.failures[operation]
	if failing.left == 0 {
		return nil
	}
	if failing.left > 0 {
		failing.left--
		h.failures[operation] = failing
	}
	return failing.fault
}

// Refuse answers with an error: its HTTP status, its code, and its message.
func Refuse(status int, code, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) {
		writeError(w, &exception{status, code, message})
	}
}

// Throttle refuses as KMS does when there are too many requests.
func Throttle() Fault {
	return Refuse(http.StatusBadRequest, "ThrottlingException",
		"You have exceeded the rate at which you may call KMS. Reduce the frequency of your calls.")
}

// Break refuses as KMS does when it fails itself.
func Break() Fault {
	return Refuse(http.StatusInternalServerError, "KMSInternalException", "An internal error occurred.")
}

// Deny refuses as KMS does when no policy allows the request.
func Deny() Fault {
	return func(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
		operation := operationOf(r)
		Refuse(http.StatusBadRequest, "AccessDeniedException",
			"User: arn:aws:sts::"+account+":assumed-role/publish/session is not authorized to perform: kms:"+operation+
				" on this resource because no identity-based policy allows the kms:"+operation+" action")(w, r, answer)
	}
}

// Cut closes the connection without doing the request.
func Cut() Fault {
	return func(http.ResponseWriter, *http.Request, http.HandlerFunc) { panic(http.ErrAbortHandler) }
}

// Lose does the request and closes the connection without an answer.
func Lose() Fault {
	return func(_ http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
		answer(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// CutShort does the request and closes the connection in the middle of the answer.
func CutShort() Fault {
	return func(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
		whole := httptest.NewRecorder()
		answer(whole, r)
		for name, values := range whole.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(whole.Code)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
		if err := http.NewResponseController(w).Flush(); err != nil {
			panic(err) // no server's writer lacks it
		}
		panic(http.ErrAbortHandler)
	}
}

// Delay answers after a time, unless the client leaves before.
func Delay(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request, answer http.HandlerFunc) {
		select {
		case <-time.After(d):
			answer(w, r)
		case <-r.Context().Done():
		}
	}
}
