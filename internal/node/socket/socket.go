// Package socket is the door in a data folder by which an operator's commands
// reach the node that serves from it: HTTP/1.1 over a unix socket, to which one
// POST takes one request and brings one answer back, and a GET brings one of few
// files. Who may open the socket, which is the folder's owner, may ask for everything.
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
	// maxPath is how long the path of a socket may be, in bytes: on macOS 104
	// with the NUL at its end, elsewhere no less.
	maxPath = 103

	// maxRequest and maxAnswer bound what is read, in bytes. A deployment's
	// answers, which are the same, have 6 MB at most.
	maxRequest = 64 << 10
	maxAnswer  = 8 << 20

	// answerTimeout is how long an answer may take. Most come within seconds,
	// but all packages of a version may have to be read for one.
	answerTimeout = 15 * time.Minute
)

// Listen listens at path, for the process's own user alone, in place of a
// socket that a process which was killed has left there. The caller must be the
// only one that serves from the folder.
//
// Errors say so when the path is too long for a socket.
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

// Address is how to listen and to connect at path: as it is, or from the working directory if that is shorter,
// for the system allows of few bytes.
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
