// Package lambdadoor asks functions through Lambda's Runtime API, with the events of an API
// Gateway.
package lambdadoor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"time"

	"github.com/larder-registry/larder/bench/internal/load"
	"github.com/larder-registry/larder/bench/internal/measure"
	"github.com/larder-registry/larder/internal/lambdaenv"
)

// timeout bounds an invocation.
const timeout = 30 * time.Second

// Function is a running function.
type Function struct {
	environment *lambdaenv.Environment
	log         *os.File
}

// Start starts a function whose log goes to a file.
func Start(binary, log string, env []string) (*Function, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	environment, err := lambdaenv.Start(binary, env, file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Function{environment, file}, nil
}

// Stop ends the function.
func (f *Function) Stop() {
	f.environment.Stop()
	f.log.Close()
}

// Load is one client that asks a function for some paths in turn. It is a [measure.Subject].
type Load struct {
	load.Task
	Function *Function
	Headers  map[string]string // in lower case

	next   int
	events map[string][]byte
}

// event is what the gateway makes of a request.
func (l *Load) event(path string) []byte {
	if l.events[path] != nil {
		return l.events[path]
	}
	headers := map[string]string{
		"accept-encoding": "gzip", "user-agent": "OpenTofu/1.12.6", "x-terraform-version": "1.12.6", "host": "registry.example.com",
		"content-length": "0", "x-amzn-trace-id": "Root=1-00000000-000000000000000000000000",
		"x-forwarded-for": "192.0.2.1", "x-forwarded-port": "443", "x-forwarded-proto": "https",
	}
	maps.Copy(headers, l.Headers)
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "routeKey": "GET /v1/{proxy+}", "rawPath": path, "rawQueryString": "", "headers": headers, "isBase64Encoded": false,
		"requestContext": map[string]any{
			"accountId": "111122223333", "apiId": "bench", "domainName": "registry.example.com", "domainPrefix": "registry",
			"requestId": "bench", "routeKey": "GET /v1/{proxy+}", "stage": "$default", "time": "01/Jan/2026:00:00:00 +0000", "timeEpoch": 1767225600000,
			"http": map[string]any{"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "OpenTofu/1.12.6"},
		},
	})
	if err != nil {
		panic(err) // it is made of texts
	}
	if l.events == nil {
		l.events = map[string][]byte{}
	}
	l.events[path] = event
	return event
}

func (l *Load) invoke(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return l.Function.environment.Invoke(ctx, l.event(path))
}

// Check implements [measure.Subject].
func (l *Load) Check(ctx context.Context) error {
	return l.CheckAnswers(ctx, func(ctx context.Context, path string) (load.Answer, error) {
		response, err := l.invoke(ctx, path)
		if err != nil {
			return load.Answer{}, err
		}
		return parse(response)
	})
}

// parse reads a function's response as the gateway does.
func parse(response []byte) (load.Answer, error) {
	var r struct {
		StatusCode        int
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Body              string
		IsBase64Encoded   bool
	}
	if err := json.Unmarshal(response, &r); err != nil {
		return load.Answer{}, err
	}
	answer := load.Answer{Status: r.StatusCode, Header: http.Header{}, Body: []byte(r.Body)}
	for name, values := range r.MultiValueHeaders {
		for _, value := range values {
			answer.Header.Add(name, value)
		}
	}
	for name, value := range r.Headers {
		answer.Header.Set(name, value)
	}
	if r.IsBase64Encoded {
		var err error
		if answer.Body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return load.Answer{}, err
		}
	}
	return answer, answer.Unpack()
}

// Turn implements [measure.Subject].
func (l *Load) Turn(ctx context.Context, requests int) (measure.Turn, error) {
	pid := l.Function.environment.PID()
	turn := measure.Turn{Requests: requests}
	want := fmt.Appendf(nil, `"statusCode":%d`, l.Status)
	cpu, start := measure.CPU(pid), time.Now()
	for range requests {
		path := l.Paths[l.next%len(l.Paths)]
		l.next++
		sent := time.Now()
		response, err := l.invoke(ctx, path)
		turn.Latencies, turn.Bytes = append(turn.Latencies, time.Since(sent)), turn.Bytes+int64(len(response))
		if err == nil && !bytes.Contains(response, want) {
			err = fmt.Errorf("%.100q", response)
		}
		if err != nil {
			return turn, fmt.Errorf("%s: %w", path, err)
		}
	}
	turn.Took, turn.CPU = time.Since(start), measure.CPU(pid)-cpu
	return turn, nil
}
