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

// Ask sends a request to the server at path, and returns its answer, which may be an error
// of the server.
//
// Errors: ErrNobody, and errors of the connection. After these it is not known what became
// of the request.
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

// Fetch gets the file name from the server at path. The caller closes it. A read fails if
// the file is cut off.
//
// Errors: ErrNobody, and errors of the connection and of the server.
func Fetch(ctx context.Context, path, name string) (io.ReadCloser, int64, error) {
	address, err := Address(path)
	if err != nil {
		return nil, 0, err
	}
	response, err := send(ctx, address, http.MethodGet, name, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, 0, ErrNobody
	case err != nil:
		return nil, 0, fmt.Errorf("ask at the socket %s: %w", path, err)
	case response.StatusCode == http.StatusOK && response.ContentLength >= 0:
		return response.Body, response.ContentLength, nil
	}
	defer response.Body.Close() //nolint:errcheck // read only
	answer, err := readAnswer(response)
	if err != nil {
		return nil, 0, err
	}
	return nil, 0, fmt.Errorf("the server does not hand out %s, and may be of another version than the command: %s", name, answer.Error)
}

// Listens says whether somebody listens at path.
func Listens(ctx context.Context, path string) bool {
	address, err := Address(path)
	if err != nil {
		return false
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func post(ctx context.Context, address string, body []byte) (*http.Response, error) {
	return send(ctx, address, http.MethodPost, "", bytes.NewReader(body))
}

func send(ctx context.Context, address, method, name string, body io.Reader) (*http.Response, error) {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", address)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://larder/"+name, body)
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
		return control.Answer{}, fmt.Errorf("the answer %s cannot be read: %w", response.Status, err)
	}
	if response.StatusCode == http.StatusServiceUnavailable {
		return control.Answer{}, errors.New("larder stopped before it had an answer")
	}
	return answer, nil
}
