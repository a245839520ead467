// Package socket is how an operator's commands reach the node that serves from a data
// folder: HTTP/1.1 over a unix socket in the folder. A POST sends one request and gets one
// answer; a GET gets one of a few files. Only the folder's owner may open the socket, and
// may ask for everything.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// maxPath is the longest path of a socket, in bytes: on macOS 104 with the NUL at its
	// end, elsewhere not less.
	maxPath = 103

	// maxRequest and maxAnswer bound what is read, in bytes. The same answers of a
	// deployment have at most 6 MB.
	maxRequest = 64 << 10
	maxAnswer  = 8 << 20

	// answerTimeout is how long an answer may take. Most take seconds, but for some all
	// packages of a version are read.
	answerTimeout = 15 * time.Minute
)

// Listen listens at path, for the process's own user only. It replaces the socket of a
// killed process. The caller must be the only server of the folder.
//
// If the path is too long for a socket, the error says so.
func Listen(path string) (net.Listener, error) {
	address, err := Address(path)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(address); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove an old socket: %w", err)
	}
	listener, err := net.Listen("unix", address)
	if err != nil {
		return nil, fmt.Errorf("listen at a socket: %w", err)
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("keep others from a socket: %w", err), listener.Close())
	}
	return listener, nil
}

// Address returns the address to listen or connect at: path, or the relative path from the
// working directory if that is shorter, because the system allows only few bytes.
func Address(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	shortest := absolute
	if here, err := os.Getwd(); err == nil {
		if relative, err := filepath.Rel(here, absolute); err == nil && len(relative) < len(shortest) {
			shortest = relative
		}
	}
	if len(shortest) > maxPath {
		return "", fmt.Errorf("the path of the socket %s has %d bytes, and the system allows %d: "+
			"use a data folder with a shorter path, or start larder from a folder nearer to it", absolute, len(absolute), maxPath)
	}
	return shortest, nil
}
