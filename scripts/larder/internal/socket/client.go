package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/larder-registry/larder/pkg/control"
)

// ErrNobody reports that nobody listens at a socket.
var ErrNobody = errors.New("nobody listens at the socket")

// Ask sends a request to who listens at path, and returns the answer, which may
// be an error of its own.
//
// Errors: ErrNobody, and others of the way there and back. It is not known then
// what became of the request.
func Ask(ctx context.Context, path string, request control.Request) (control.Answer, error) {
	address, err := Address(path)
	if err != nil {
		return control.Answer{}, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return control.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	response, err := post(ctx, address, body)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return control.Answer{}, ErrNobody
	case err != nil:
		return control.Answer{}, fmt.Errorf("ask at the socket %s: %w", path, err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	return readAnswer(response)
}

func post(ctx context.Context, address string, body []byte) (*http.Response, error) {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://larder/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	return client.Do(request)
}

func readAnswer(response *http.Response) (control.Answer, error) {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return control.Answer{}, fmt.Errorf("read the answer: %w", err)
	}
	if len(data) > maxAnswer {
		return control.Answer{}, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	var answer control.Answer
	if err := json.Unmarshal(data, &answer); err != nil {
		return control.Answer{}, fmt.Errorf("the answer %s is not readable: %w", response.Status, err)
	}
	if response.StatusCode == http.StatusServiceUnavailable {
		return control.Answer{}, errors.New("larder stopped before it had an answer")
	}
	return answer, nil
}
