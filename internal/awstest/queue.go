package awstest

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Message is a message of a queue.
type Message struct {
	ID       string
	Body     string
	Sent     time.Time
	Receives int // how often it was received
}

// maxMessage is what SQS takes, in bytes. It takes more since August 2025; this
// is what every region takes.
const maxMessage = 256 << 10

// queue is a queue of SQS whose messages are received by one poller, and go to
// a dead-letter queue after some receives. It is safe for concurrent use.
type queue struct {
	maxReceives int
	visibility  time.Duration // after which a failed message comes again

	mu       sync.Mutex
	waiting  []*Message
	inFlight int // received, or failed and not visible yet
	dead     []Message
	changed  chan struct{} // has room for one sign that messages are waiting
}

func newQueue(maxReceives int, visibility time.Duration) *queue {
	return &queue{maxReceives: maxReceives, visibility: visibility, changed: make(chan struct{}, 1)}
}

func (q *queue) send(body string) Message {
	m := &Message{ID: rand.Text(), Body: body, Sent: time.Now()}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, m)
	q.signal()
	return *m
}

// signal wakes a poller. There is one sign for any number of messages: a poller
// that takes it hands it on while there are more.
func (q *queue) signal() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// receive returns a message, unless the queue has none that is visible.
func (q *queue) receive() (*Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, false
	}
	m := q.waiting[0]
	q.waiting = q.waiting[1:]
	q.inFlight++
	m.Receives++
	if len(q.waiting) > 0 {
		q.signal()
	}
	return m, true
}

// done deletes a received message.
func (q *queue) done(*Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight--
}

// fail lets a received message become visible again later, or puts it into the
// dead-letter queue when it was received as often as it may be.
func (q *queue) fail(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.Receives >= q.maxReceives {
		q.inFlight--
		q.dead = append(q.dead, *m)
		return
	}
	time.AfterFunc(q.visibility, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.inFlight--
		q.waiting = append(q.waiting, m)
		q.signal()
	})
}

// idle says whether the queue has no message, waiting or received.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && q.inFlight == 0
}

func (q *queue) deadLetters() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.dead)
}

// serve answers SendMessage in the protocol of SQS, AWS JSON 1.0, for the one
// queue under an URL.
func (q *queue) serve(queueURL string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var input struct{ QueueUrl, MessageBody string } //nolint:staticcheck // the protocol's names
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxMessage)).Decode(&input)
		switch {
		case err != nil:
			refuseJSON(w, "com.amazonaws.sqs#InvalidMessageContents", err.Error())
		case operationOf(r) != "SendMessage":
			refuseJSON(w, "com.amazonaws.sqs#UnsupportedOperation", operationOf(r))
		case input.QueueUrl != queueURL:
			refuseJSON(w, "com.amazonaws.sqs#QueueDoesNotExist", fmt.Sprintf("there is no queue %q", input.QueueUrl))
		case input.MessageBody == "" || len(input.MessageBody) > maxMessage:
			refuseJSON(w, "com.amazonaws.sqs#InvalidParameterValue", fmt.Sprintf("the message has %d bytes", len(input.MessageBody)))
		default:
			sum := md5.Sum([]byte(input.MessageBody))
			m := q.send(input.MessageBody)
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			fmt.Fprint(w, encode(map[string]string{"MessageId": m.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})) //nolint:errcheck // the client may have left
		}
	})
}

// refuseJSON answers with an error in AWS JSON.
func refuseJSON(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, encode(map[string]string{"__type": code, "message": message})) //nolint:errcheck // the client may have left
}
