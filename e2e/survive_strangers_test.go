package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// What strangers may cost, whatever they send.
const (
	attackConnections = 2100
	attackBody        = 256 << 20 // bytes that each attacker would send
	attackMemory      = 96 << 20  // bytes that the node may grow by
	attackPatience    = 15 * time.Second
)

// attacked is a node that strangers attack, and what that costs.
type attacked struct {
	*node
	temporary string
	roots     *x509.CertPool
}

func startAttacked(t *testing.T) *attacked {
	t.Helper()
	only(t, singleNode)
	a := &attacked{temporary: t.TempDir(), roots: x509.NewCertPool()}
	a.node = newNode(filepath.Join(t.TempDir(), "data"))
	a.more = map[string]string{"TMPDIR": a.temporary}
	a.resume(t)
	t.Cleanup(a.kill)
	authority, err := os.ReadFile(filepath.Join(a.data, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	a.roots.AppendCertsFromPEM(authority)
	return a
}

// s3Address and address are where the node listens.
func (a *attacked) s3Address() string {
	return strings.TrimPrefix(a.vars["AWS_ENDPOINT_URL_S3"], "https://")
}
func (a *attacked) address() string { return a.host }

func (a *attacked) connect(t *testing.T, address string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: a.roots, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// memory is the most that the process has ever had, in bytes.
func (a *attacked) memory(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// disk is the largest size of the files below some folders, in bytes, until the returned function is called.
func disk(folders ...string) (most func() int64) {
	ctx, cancel := context.WithCancel(context.Background())
	var largest int64
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			largest = max(largest, bytesIn(folders))
			time.Sleep(20 * time.Millisecond)
		}
	})
	return func() int64 {
		cancel()
		watching.Wait()
		return largest
	}
}

func bytesIn(folders []string) (sum int64) {
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // it has gone
			}
			if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
			return nil
		})
	}
	return sum
}

// send sends a head, and then as much of its body as the node takes. It returns the status of the answer, if one came,
// and how much was sent.
func (a *attacked) send(t *testing.T, head string, chunk []byte) (status string, sent int) {
	t.Helper()
	conn := a.connect(t, a.s3Address())
	if err := conn.SetDeadline(time.Now().Add(attackPatience)); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(conn)
		line, _, _ := strings.Cut(string(text), "\r\n")
		answer <- strings.TrimPrefix(line, "HTTP/1.1 ")
	}()
	_, err := io.WriteString(conn, head)
	for err == nil && sent < attackBody {
		var n int
		n, err = conn.Write(chunk)
		sent += n
	}
	_ = conn.Close()
	return <-answer, sent
}

// Requests of strangers are refused at once, and their bodies are neither kept nor read.
func TestBodiesOfStrangers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read as Linux tells it")
	}
	a := startAttacked(t)
	a.publish(t, "modules/attack/one/null/1.0.0.tar.gz", tinyModule(t, "one"))
	host := "Host: " + a.s3Address() + "\r\n"
	length := fmt.Sprintf("Content-Length: %d\r\n\r\n", attackBody)
	before, most, begun := a.memory(t), disk(a.temporary, a.data), time.Now()
	kept := bytesIn([]string{a.temporary, a.data})
	form := "Content-Type: multipart/form-data; boundary=x\r\n"
	part := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n"
	signed := "Authorization: AWS4-HMAC-SHA256 Credential=" + a.vars["AWS_ACCESS_KEY_ID"] + "/" + time.Now().UTC().Format("20060102") +
		"/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=" + strings.Repeat("0", 64) + "\r\n" +
		"X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\nX-Amz-Date: " + time.Now().UTC().Format("20060102T150405Z") + "\r\n"
	for name, head := range map[string]string{
		"a form whose line does not end": "POST /" + a.bucket + " HTTP/1.1\r\n" + host + form + "Content-Encoding: x\r\n" + length,
		"a form with a file":             "POST /any/path HTTP/1.1\r\n" + host + form + length + part,
		"a form that is put":             "PUT /" + a.bucket + "/x HTTP/1.1\r\n" + host + form + length + part,
		"a form in chunks":               "POST /" + a.bucket + " HTTP/1.1\r\n" + host + form + "Transfer-Encoding: chunked\r\n\r\n10000000\r\n" + part,
		"an upload":                      "PUT /" + a.bucket + "/x HTTP/1.1\r\n" + host + length,
		"an upload, not signed so":       "PUT /" + a.bucket + "/x HTTP/1.1\r\n" + host + signed + length,
		"a deletion, not signed so":      "POST /" + a.bucket + "?delete HTTP/1.1\r\n" + host + signed + length,
	} {
		status, sent := a.send(t, head, bytes.Repeat([]byte{'x'}, 1<<20))
		if sent >= attackBody/4 {
			t.Errorf("%s: %d bytes were taken", name, sent)
		}
		if status != "" && !strings.HasPrefix(status, "403") && !strings.HasPrefix(status, "501") { // none: it was still being sent
			t.Errorf("%s: %s", name, status)
		}
	}
	if grown := a.memory(t) - before; grown > attackMemory {
		t.Errorf("the node has grown by %d MiB", grown>>20)
	}
	if grown := most() - kept; grown > 1<<20 {
		t.Errorf("%d bytes were kept on disk", grown)
	}
	if took := time.Since(begun); took > 60*time.Second {
		t.Errorf("it took %v", took)
	}
	a.publish(t, "modules/attack/two/null/1.0.0.tar.gz", tinyModule(t, "two"))
}

// Thousands of idle or slow connections keep nobody else from uploading and downloading, at both addresses.
func TestConnectionsOfStrangers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read as Linux tells it")
	}
	a := startAttacked(t)
	a.publish(t, "modules/attack/one/null/1.0.0.tar.gz", tinyModule(t, "one"))
	before := a.memory(t)
	for _, tt := range []struct {
		name, first string
		over        bool // TLS
		every       string
	}{
		{name: "silent"},
		{name: "half of a handshake", first: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", every: "x"},
		{name: "half of a request", first: "GET /" + a.bucket + "/x HTTP/1.1\r\nHost: h\r\nX-Slow: ", over: true, every: "x"},
		{name: "an upload of a stranger", first: "PUT /" + a.bucket + "/x HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n", over: true, every: "x"},
	} {
		for _, address := range []string{a.s3Address(), a.address()} {
			attack(t, a, address, tt.first, tt.over, tt.every, func() {
				begun := time.Now()
				a.uploadsAndDownloads(t)
				if took := time.Since(begun); took > attackPatience {
					t.Errorf("%s, at %s: others need %v", tt.name, address, took)
				}
			})
		}
	}
	if grown := a.memory(t) - before; grown > 3*attackMemory {
		t.Errorf("the node has grown by %d MiB", grown>>20)
	}
}

// attack has strangers connect to an address, send a text, and then a little more every second, while others work.
func attack(t *testing.T, a *attacked, address, first string, over bool, more string, others func()) {
	t.Helper()
	number := attackConnections
	if over {
		number /= 4 // handshakes take the machine's time, the attacker's as well
	}
	ctx, cancel := context.WithCancel(t.Context())
	var strangers sync.WaitGroup
	defer strangers.Wait()
	defer cancel()
	dialing := make(chan struct{}, 32)
	var come sync.WaitGroup
	for range number {
		come.Add(1)
		strangers.Go(func() {
			dialing <- struct{}{}
			conn, err := a.stranger(ctx, address, over)
			if err == nil {
				defer conn.Close()
				_, err = io.WriteString(conn, first)
			}
			<-dialing
			come.Done()
			for err == nil {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Second):
					_, err = io.WriteString(conn, more)
				}
			}
		})
	}
	come.Wait()
	others()
}

func (a *attacked) stranger(ctx context.Context, address string, over bool) (net.Conn, error) {
	if !over {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	return (&tls.Dialer{Config: &tls.Config{RootCAs: a.roots, NextProtos: []string{"http/1.1"}}}).DialContext(ctx, "tcp", address)
}

// uploadsAndDownloads is the work of the others.
func (a *attacked) uploadsAndDownloads(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*attackPatience)
	defer cancel()
	key, body := "other/x", bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	_, err := a.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &a.bucket, Key: &key, Body: bytes.NewReader(body)})
	var out *s3.GetObjectOutput
	if err == nil {
		out, err = a.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &a.bucket, Key: aws.String(key)})
	}
	if err == nil {
		defer out.Body.Close()
		var got []byte
		if got, err = io.ReadAll(out.Body); err == nil && !bytes.Equal(got, body) {
			err = errors.New("another body")
		}
	}
	if err != nil {
		t.Errorf("others: %v", err)
	}
	if got := a.moduleVersions(t, "attack/one/null"); len(got) != 1 {
		t.Errorf("others see the versions %q", got)
	}
}
