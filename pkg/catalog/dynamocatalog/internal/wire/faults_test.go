package wire

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The tests of this file run in bubbles, where pauses take no time: with net/http's own
// transport and server, and pipes between them.

// pipes are a server's, and what dials it.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	refuse error // what dialing returns, if it is set
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if p.refuse != nil {
		return nil, p.refuse
	}
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asker asks for an item, with one of the two clients. Everything else is the same.
type asker struct {
	name string
	get  func(context.Context) (text string, err error)

	*pipes
	mu       sync.Mutex
	requests int
	dials    int
	answer   func(number int, w http.ResponseWriter, r *http.Request)
}

// askers are this package's client and the SDK's, as package dynamocatalog configured it.
// Each has a server of its own.
func askers(t *testing.T) []*asker {
	t.Helper()
	byWire, bySDK := newAsker(t, "wire"), newAsker(t, "SDK")
	const region, endpoint, table = "eu-central-1", "http://dynamodb.test", "larder"
	signer := credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "")
	client, err := New(Config{Region: region, Credentials: signer, Endpoint: endpoint, Transport: byWire.transport(t)})
	if err != nil {
		t.Fatal(err)
	}
	byWire.get = func(ctx context.Context) (string, error) {
		i, err := client.GetItem(ctx, Get{Table: table, Key: Item{Text("PK", "A")}})
		return i.Text("text"), err
	}
	sdk := dynamodb.New(dynamodb.Options{
		Region: region, Credentials: signer, BaseEndpoint: aws.String(endpoint),
		HTTPClient: &http.Client{
			Transport: bySDK.transport(t), Timeout: attemptTimeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = MaxAttempts
			o.Backoff = retry.BackoffDelayerFunc(func(attempt int, _ error) (time.Duration, error) { return backoff(attempt), nil })
		}),
	})
	bySDK.get = func(ctx context.Context) (string, error) {
		out, err := sdk.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(table), Key: attributes{"PK": sdkText("A")}})
		if err != nil {
			return "", err
		}
		text, _ := out.Item["text"].(*types.AttributeValueMemberS)
		return text.Value, nil
	}
	return []*asker{byWire, bySDK}
}

func newAsker(t *testing.T, name string) *asker {
	a := &asker{name: name, pipes: &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}}
	server := &http.Server{Handler: a}
	done := make(chan error, 1)
	go func() { done <- server.Serve(a) }()
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return a
}

func (a *asker) transport(t *testing.T) *http.Transport {
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		a.mu.Lock()
		a.dials++
		a.mu.Unlock()
		return a.dial(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func (a *asker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests++
	number := a.requests
	a.mu.Unlock()
	_, _ = io.Copy(io.Discard, r.Body) // only then does the server see that a client is gone
	a.answer(number, w, r)
}

// ask asks once, and says how many requests that took.
func (a *asker) ask(ctx context.Context) (text string, requests int, err error) {
	before := a.count()
	text, err = a.get(ctx)
	return text, a.count() - before, err
}

func (a *asker) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests
}

const goodJSON = `{"Item":{"text":{"S":"good"}}}`

func good(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.Header().Set("X-Amz-Crc32", fmt.Sprint(crc32.ChecksumIEEE([]byte(goodJSON))))
	_, _ = w.Write([]byte(goodJSON))
}

// fault is what goes wrong with a request.
type fault struct {
	name   string
	answer func(w http.ResponseWriter, r *http.Request)
	passes bool   // whether the request is sent again
	says   string // in the error
	same   bool   // whether the SDK does the same
	takes  time.Duration
}

// exceptionOf answers with an exception of DynamoDB.
func exceptionOf(status int, code string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Requestid", "REQUEST")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"as the test says"}`, code)
	}
}

func page(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html>"))
	}
}

// raw answers with some bytes, and closes the connection.
func raw(text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = conn.Write([]byte(text))
			_ = conn.Close()
		}
	}
}

func slow(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// slowBody stops in the middle of an answer.
func slowBody(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(len(goodJSON)))
	_, _ = w.Write([]byte(goodJSON[:len(goodJSON)/2]))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func wrongCRC(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Amz-Crc32", "12345")
	_, _ = w.Write([]byte(goodJSON))
}

func faults() []fault {
	cut := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(goodJSON), goodJSON[:10])
	all := []fault{
		{name: "internal", answer: exceptionOf(500, "InternalServerError"), passes: true, same: true, says: "InternalServerError: as the test says (status 500, request ID \"REQUEST\")"},
		{name: "bad gateway", answer: page(502), passes: true, same: true, says: "no exception: the answer is not DynamoDB's: \"<html>\" (status 502"},
		{name: "unavailable", answer: page(503), passes: true, same: true, says: "status 503"},
		{name: "gateway timeout", answer: exceptionOf(504, "Unknown"), passes: true, same: true, says: "status 504"},
		{name: "reset", answer: raw(""), passes: true, same: true, says: "DynamoDB GetItem at dynamodb.test: "},
		{name: "no HTTP", answer: raw("SSH-2.0-x\r\n\r\n"), passes: true, same: true, says: "malformed HTTP"},
		{name: "slow", answer: slow, passes: true, same: true, takes: attemptTimeout, says: "deadline exceeded"},
		{name: "slow body", answer: slowBody, passes: true, takes: attemptTimeout, says: "deadline exceeded"},
		{name: "cut off", answer: raw(cut), passes: true, says: "unexpected EOF"},
		{name: "wrong CRC", answer: wrongCRC, passes: true, says: `should have "12345"`},
		{name: "no JSON", answer: page(200), passes: true, says: "JSON"},
		{name: "long", answer: raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", maxAnswer+1)), passes: true, says: "longer than"},
		{name: "redirect", answer: raw("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n"), same: true, says: "status 307"},
		{name: "forbidden by a proxy", answer: page(403), same: true, says: "status 403"},
		{name: "not implemented", answer: exceptionOf(501, "Unknown"), same: true, says: "status 501"},
		{name: "too many requests", answer: exceptionOf(429, "Unknown"), same: true, says: "status 429"},
	}
	for code := range retriedCodes {
		all = append(all, fault{name: code, answer: exceptionOf(400, code), passes: true, same: true, says: code + ": as the test says"})
	}
	for _, codes := range []map[string]struct{}{retry.DefaultThrottleErrorCodes, retry.DefaultRetryableErrorCodes} {
		for code := range codes {
			all = append(all, fault{name: "the SDK's " + code, answer: exceptionOf(400, code), passes: true, same: true, says: code})
		}
	}
	for status := range retry.DefaultRetryableHTTPStatusCodes {
		all = append(all, fault{name: fmt.Sprint("the SDK's ", status), answer: page(status), passes: true, same: true, says: fmt.Sprint("status ", status)})
	}
	for _, code := range []string{"AccessDeniedException", "ConditionalCheckFailedException", "ResourceNotFoundException", "TransactionCanceledException", "TransactionConflictException", "UnrecognizedClientException", "ValidationException"} {
		all = append(all, fault{name: code, answer: exceptionOf(400, code), same: true, says: code + ": as the test says"})
	}
	return all
}

// TestFaults lets the first attempts fail, and then no more: how often the request is sent,
// and what comes out, are the same with both clients, but for the faults that the SDK does
// not see or does not try again after.
func TestFaults(t *testing.T) {
	for _, f := range faults() {
		for failures := 1; failures <= MaxAttempts; failures++ {
			if !f.passes && failures > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d times", f.name, failures), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					for _, a := range askers(t) {
						if a.name == "SDK" && !f.same {
							continue
						}
						f.check(t, a, failures)
					}
				})
			})
		}
	}
}

func (f fault) check(t *testing.T, a *asker, failures int) {
	t.Helper()
	a.answer = func(number int, w http.ResponseWriter, r *http.Request) {
		if number <= failures {
			f.answer(w, r)
		} else {
			good(w)
		}
	}
	begin := time.Now()
	text, requests, err := a.ask(t.Context())
	took := time.Since(begin) - time.Duration(failures)*f.takes
	switch {
	case f.passes && failures < MaxAttempts:
		if err != nil || text != "good" || requests != failures+1 {
			t.Errorf("%s: %q, %v, by %d requests", a.name, text, err, requests)
		}
	case err == nil || requests != failures:
		t.Errorf("%s: %q, %v, by %d requests", a.name, text, err, requests)
	case a.name == "wire" && !strings.Contains(err.Error(), f.says):
		t.Errorf("%v, want %q in it", err, f.says)
	case a.name == "wire" && f.passes && !strings.HasSuffix(err.Error(), "(it was sent 6 times)"):
		t.Errorf("%v, want how often it was sent", err)
	}
	var longest time.Duration // of the pauses
	for n := 1; n <= min(failures, MaxAttempts-1) && f.passes; n++ {
		longest += min(firstBackoff<<n, maxBackoff)
	}
	if took < 0 || took > longest {
		t.Errorf("%s: it took %s more than the attempts, want up to %s", a.name, took, longest)
	}
}

// TestDialing fails before there is a connection.
func TestDialing(t *testing.T) {
	for _, tt := range []struct {
		err   error
		dials int
	}{
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, MaxAttempts},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "server misbehaving", IsTemporary: true}}, MaxAttempts},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, a := range askers(t) {
				a.refuse = tt.err
				if _, err := a.get(t.Context()); !errors.Is(err, tt.err) || a.dials != tt.dials {
					t.Errorf("%s: %v, after %d attempts, want %d", a.name, err, a.dials, tt.dials)
				}
			}
		})
	}
}

// TestNoCredentials fails before there is a request.
func TestNoCredentials(t *testing.T) {
	missing := errors.New("as the test says")
	transport := &recorder{}
	c, err := New(Config{Region: "us-east-1", Transport: transport, Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, missing })})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetItem(t.Context(), Get{}); !errors.Is(err, missing) || !strings.Contains(err.Error(), "no credentials") || transport.request != nil {
		t.Errorf("%v", err)
	}
}

// TestContext ends the context: before a request, in each part of it, and in a pause. That
// ends everything at once.
func TestContext(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		says   string
	}{
		"before the answer": {slow, "GetItem at dynamodb.test"},
		"in the answer":     {slowBody, "read the answer"},
		"in a pause":        {exceptionOf(400, "ThrottlingException"), "ThrottlingException"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := askers(t)[0]
				a.answer = func(_ int, w http.ResponseWriter, r *http.Request) { tt.answer(w, r) }
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					synctest.Wait() // until all others wait
					cancel()
				}()
				begin := time.Now()
				if _, requests, err := a.ask(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), tt.says) || requests != 1 || time.Since(begin) != 0 {
					t.Errorf("%v, by %d requests, in %s", err, requests, time.Since(begin))
				}
				if _, requests, err := a.ask(ctx); !errors.Is(err, context.Canceled) || requests != 0 {
					t.Errorf("again: %v, by %d requests", err, requests)
				}
			})
		})
	}
}

// TestDeadline lets requests hang. The first attempt takes a part of the time until the
// deadline, so that others follow.
func TestDeadline(t *testing.T) {
	for _, tt := range []struct {
		until, first time.Duration
		requests     int // if all hang, at least
	}{
		{10 * time.Minute, attemptTimeout, MaxAttempts},
		{3 * attemptTimeout, attemptTimeout, 5},
		{3*attemptTimeout - 3*time.Millisecond, attemptTimeout - time.Millisecond, 5},
		{8 * time.Second, 8 * time.Second / 3, 4},
		{3 * time.Second, time.Second, 2},
		{1500 * time.Millisecond, time.Second, 1},
		{time.Millisecond, time.Millisecond, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := askers(t)[0]
			var second atomic.Pointer[time.Time] // the server may still answer when the client has given up
			a.answer = func(number int, w http.ResponseWriter, r *http.Request) {
				if number == 2 {
					now := time.Now()
					second.Store(&now)
				}
				slow(w, r)
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.until)
			defer cancel()
			begin := time.Now()
			_, requests, err := a.ask(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || requests < tt.requests || time.Since(begin) > tt.until {
				t.Errorf("within %s: %v, by %d requests, in %s, want at least %d", tt.until, err, requests, time.Since(begin), tt.requests)
			}
			if at := second.Load(); requests > 1 && (at == nil || at.Sub(begin) < tt.first || at.Sub(begin) > tt.first+2*firstBackoff) {
				t.Errorf("within %s: the second attempt begins at %v, want up to %s after %s from %s on", tt.until, at, 2*firstBackoff, tt.first, begin)
			}
		})
	}
}

// TestQuota checks that requests are not sent again without end while everything fails, and
// are again once requests succeed, both as often as by the SDK.
func TestQuota(t *testing.T) {
	for name, failing := range map[string]func(http.ResponseWriter, *http.Request){"throttled": exceptionOf(400, "ThrottlingException"), "slow": slow} {
		t.Run(name, func(t *testing.T) {
			var sent [][]int
			for n := range 2 {
				synctest.Test(t, func(t *testing.T) { sent = append(sent, requestsInTrouble(t, askers(t)[n], failing)) })
			}
			if !slices.Equal(sent[0], sent[1]) || !slices.Contains(sent[0], 1) || sent[0][0] != MaxAttempts {
				t.Errorf("requests for each of some questions: %v, by the SDK: %v", sent[0], sent[1])
			}
		})
	}
}

// requestsInTrouble is how many requests each question takes: 25 that fail, 12 that succeed,
// 3 that fail, 4 that succeed after 2 failures, and 5 that fail.
func requestsInTrouble(t *testing.T, a *asker, failing func(http.ResponseWriter, *http.Request)) (sent []int) {
	var bad atomic.Int32 // how many of the next requests fail
	a.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
		if bad.Add(-1) < 0 {
			good(w)
		} else {
			failing(w, r)
		}
	}
	for _, step := range []struct{ questions, failures int }{{25, MaxAttempts}, {12, 0}, {3, MaxAttempts}, {30, 0}, {4, 2}, {5, MaxAttempts}} {
		for range step.questions {
			bad.Store(int32(step.failures))
			_, requests, err := a.ask(t.Context())
			if err != nil && requests < MaxAttempts && a.name == "wire" && !errors.Is(err, errQuota) {
				t.Errorf("%v, want that many failed", err)
			}
			sent = append(sent, requests)
		}
	}
	return sent
}

// TestClock has a clock that is wrong. DynamoDB's time is used once it has refused a
// signature, and no longer once our clock is right again.
func TestClock(t *testing.T) {
	type ask struct {
		ahead    time.Duration // of DynamoDB's clock
		requests int
		good     bool
	}
	for name, tt := range map[string]struct {
		header http.Header // of the answers
		code   string      // of what is refused
		asks   []ask
	}{
		"ahead":           {code: "InvalidSignatureException", asks: []ask{{0, 1, true}, {10 * time.Minute, 2, true}, {10 * time.Minute, 1, true}, {0, 2, true}, {0, 1, true}}},
		"behind":          {code: "InvalidSignatureException", asks: []ask{{-10 * time.Hour, 2, true}, {-10 * time.Hour, 1, true}}},
		"too skewed":      {code: "RequestTimeTooSkewed", asks: []ask{{-10 * time.Hour, 2, true}}},
		"no match":        {code: "SignatureDoesNotMatch", asks: []ask{{-10 * time.Hour, 2, true}}},
		"failure":         {code: "AuthFailure", asks: []ask{{-10 * time.Hour, 2, true}}},
		"denied":          {code: "AccessDeniedException", asks: []ask{{-10 * time.Hour, 2, true}}},
		"another refusal": {code: "UnrecognizedClientException", asks: []ask{{-10 * time.Hour, 1, false}}},
		"no date":         {header: http.Header{"Date": nil}, code: "InvalidSignatureException", asks: []ask{{time.Hour, 1, false}}},
		"no real date":    {header: http.Header{"Date": {"today"}}, code: "InvalidSignatureException", asks: []ask{{time.Hour, 1, false}}},
		"of a cache":      {header: http.Header{"Age": {"10"}}, code: "InvalidSignatureException", asks: []ask{{time.Hour, 1, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, a := range askers(t) {
					var ahead time.Duration
					a.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
						theirs := time.Now().Add(ahead)
						w.Header().Set("Date", theirs.UTC().Format(http.TimeFormat))
						for name, values := range tt.header {
							w.Header()[name] = values
						}
						signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
						if err != nil || theirs.Sub(signed).Abs() > 5*time.Minute {
							exceptionOf(400, tt.code)(w, r)
						} else {
							good(w)
						}
					}
					for n, ask := range tt.asks {
						ahead = ask.ahead
						if _, requests, err := a.ask(t.Context()); (err == nil) != ask.good || requests != ask.requests && !(a.name == "SDK" && requests == 1) {
							t.Errorf("%s, question %d: %v, by %d requests", a.name, n, err, requests)
						}
					}
				}
			})
		})
	}
}

// TestRefusedForGood has a clock that is wrong, and a signature that is refused in any case.
func TestRefusedForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, a := range askers(t) {
			a.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
				exceptionOf(400, "InvalidSignatureException")(w, r)
			}
			if _, requests, err := a.ask(t.Context()); err == nil || requests != 2 {
				t.Errorf("%s: %v, by %d requests, want 2", a.name, err, requests)
			}
		}
	})
}

// TestSkewBounds checks at which difference of the clocks a refused signature is blamed on
// them.
func TestSkewBounds(t *testing.T) {
	for skew, requests := range map[time.Duration]int{maxSkew: 1, maxSkew + time.Second: 2, -maxSkew: 1, -maxSkew - time.Second: 2} {
		synctest.Test(t, func(t *testing.T) {
			for _, a := range askers(t) {
				a.answer = func(_ int, w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
					exceptionOf(400, "AccessDeniedException")(w, r)
				}
				if _, got, err := a.ask(t.Context()); err == nil || got != requests {
					t.Errorf("%s, %s: %v, by %d requests, want %d", a.name, skew, err, got, requests)
				}
			}
		})
	}
}

// TestPause checks how long pauses are: random, growing up to a bound.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for failures, longest := range []time.Duration{0, 50, 100, 200, 400, 800, 1000, 1000} {
			longest *= time.Millisecond
			var most time.Duration
			for range 200 {
				begin := time.Now()
				if err := Pause(t.Context(), failures); err != nil {
					t.Fatal(err)
				}
				most = max(most, time.Since(begin))
			}
			if most > longest || most < longest*8/10 {
				t.Errorf("after %d failures, the longest pause of 200 is %s, want up to %s", failures, most, longest)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			begin := time.Now()
			if err := Pause(t.Context(), 100); err != nil || time.Since(begin) > maxBackoff {
				t.Errorf("after 100 failures: %v, %s", err, time.Since(begin))
			}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for failures := range 3 {
		if err := Pause(ctx, failures); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d failures: %v", failures, err)
		}
	}
}

// TestTimedOut has errors of attempts. If an attempt took too long, the next one costs more.
func TestTimedOut(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&brokenError{err: context.DeadlineExceeded}, true},
		{&brokenError{err: &net.OpError{Op: "read", Err: syscall.ETIMEDOUT}}, true},
		{&brokenError{err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, false},
		{&brokenError{err: io.ErrUnexpectedEOF}, false},
		{&Error{Code: "RequestTimeout"}, false},
	} {
		if got := timedOut(tt.err); got != tt.want {
			t.Errorf("timedOut(%v) = %t", tt.err, got)
		}
	}
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestLongAnswer has answers that do not say how long they are.
func TestLongAnswer(t *testing.T) {
	for length, want := range map[int64]error{maxAnswer: nil, maxAnswer + 1: errLong} {
		text, err := read(&http.Response{ContentLength: -1, Body: io.NopCloser(io.LimitReader(zeros{}, length))})
		if !errors.Is(err, want) || err == nil && len(text) != int(length) {
			t.Errorf("an answer of %d bytes is read as %d, %v", length, len(text), err)
		}
	}
}
