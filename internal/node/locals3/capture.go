package locals3

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
)

// colours are the escape sequences that the S3 implementation puts around
// what it prints.
var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// captureErrors logs what the S3 implementation prints on standard error, line by line,
// until the function that it returns is called. The logger must keep the standard error of
// before.
func captureErrors(logger *slog.Logger) (func(), error) {
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("redirect the S3 endpoint's messages: %w", err)
	}
	stderr := os.Stderr
	os.Stderr = writer
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer reader.Close()
		logLines(reader, logger)
	}()
	return func() {
		os.Stderr = stderr
		writer.Close()
		<-done
	}, nil
}

// logLines logs the lines that it reads, long ones in pieces, until the end.
func logLines(r io.Reader, logger *slog.Logger) {
	lines := bufio.NewReader(r)
	for {
		line, _, err := lines.ReadLine()
		if err != nil {
			return
		}
		// A request that a stop of the node has interrupted is no fault.
		text := strings.TrimSpace(colours.ReplaceAllString(string(line), ""))
		if text != "" && !strings.HasSuffix(text, context.Canceled.Error()) {
			logger.Warn("S3 endpoint: " + text)
		}
	}
}
