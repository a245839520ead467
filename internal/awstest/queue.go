package awstest

import (
	"cmp"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/larder-registry/larder/internal/templatetest"
)

// Message is a message of a queue.
type Message struct {
	ID       string
	Body     string
	Sent     time.Time
	Receives int    // how often it was received
	Group    string // in a FIFO queue: one message of a group is received at a time

	again time.Duration // after which it comes again; 0 for the queue's own
}

// receipt returns the receipt handle of a received message.
func (m *Message) receipt() string { return "AQEB" + m.ID + "==" }

// onceFor is how long a FIFO queue remembers a deduplication id.
const onceFor = 5 * time.Minute

// maxMessage is the largest message of SQS, in bytes, in every region. Some take more since
// August 2025.
const maxMessage = 256 << 10

// Queue is a queue of SQS whose messages go to a dead-letter queue after some receives. A FIFO
// queue drops messages with a deduplication id that it knows, and delivers the messages of a
// group one after another. It is safe for concurrent use.
type Queue struct {
	arn, url    string
	fifo        bool
	maxReceives int
	visibility  time.Duration // after which a failed message comes again

	mu       sync.Mutex
	waiting  []*Message
	inFlight map[string]*Message // by receipt: received, or failed and not visible yet
	known    map[string]sent     // by deduplication id
	dead     []Message
	changed  chan struct{} // has room for one sign that messages are waiting
}

// sent is a message that a FIFO queue remembers.
type sent struct {
	message Message
	at      time.Time
}

func newQueue(maxReceives int, visibility time.Duration) *Queue {
	return &Queue{
		maxReceives: maxReceives, visibility: visibility,
		inFlight: map[string]*Message{}, known: map[string]sent{}, changed: make(chan struct{}, 1),
	}
}

// NewQueue makes a queue of the template, in which time passes faster.
func NewQueue(d templatetest.Queue) *Queue {
	q := newQueue(d.MaxReceives, time.Duration(d.Visibility)*time.Second/hurry)
	q.arn, q.url, q.fifo = d.ARN, d.URL, d.FIFO
	return q
}

func (q *Queue) send(body string) Message { return q.sendOnce(rand.Text(), "", body) }

// sendOnce sends a message to a FIFO queue, unless it knows the id. Then it returns the message
// that was sent before.
func (q *Queue) sendOnce(id, group, body string) Message {
	m := &Message{ID: rand.Text(), Body: body, Sent: time.Now(), Group: group}
	q.mu.Lock()
	defer q.mu.Unlock()
	if before, ok := q.known[id]; ok && m.Sent.Sub(before.at) < onceFor {
		return before.message
	}
	if q.fifo {
		q.known[id] = sent{*m, m.Sent}
	}
	q.waiting = append(q.waiting, m)
	q.signal()
	return *m
}

// signal wakes a poller, if a message can be received. There is one signal for any number of
// messages: a poller that takes it passes it on while there are more.
func (q *Queue) signal() {
	if !slices.ContainsFunc(q.waiting, q.visible) {
		return
	}
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// receive returns a message, unless the queue has none that is visible.
func (q *Queue) receive() (*Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.waiting, q.visible)
	if at < 0 {
		return nil, false
	}
	m := q.waiting[at]
	q.waiting = slices.Delete(q.waiting, at, at+1)
	q.inFlight[m.receipt()] = m
	m.Receives++
	q.signal()
	return m, true
}

// visible says whether a message can be received: no other one of its group is in flight.
func (q *Queue) visible(m *Message) bool {
	for _, received := range q.inFlight {
		if q.fifo && received.Group == m.Group {
			return false
		}
	}
	return true
}

// done deletes a received message.
func (q *Queue) done(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.inFlight, m.receipt())
	q.signal() // to others of its group
}

// postpone says when a received message comes again if it is not deleted.
func (q *Queue) postpone(receipt string, by time.Duration) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	m, ok := q.inFlight[receipt]
	if ok {
		m.again = by / hurry
	}
	return ok
}

// fail makes a received message visible again later, or moves it to the dead-letter queue if it
// was received as often as allowed.
func (q *Queue) fail(m *Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.Receives >= q.maxReceives {
		delete(q.inFlight, m.receipt())
		q.dead = append(q.dead, *m)
		q.signal()
		return
	}
	time.AfterFunc(cmp.Or(m.again, q.visibility), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.inFlight, m.receipt())
		m.again = 0
		q.waiting = slices.Insert(q.waiting, 0, m) // before others of its group
		q.signal()
	})
}

// Hold takes a message from elsewhere, such as that of a golden event, for a received one.
func (q *Queue) Hold(receipt string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight[receipt] = &Message{}
}

// Postponed counts the received messages that come again later, or sooner, than after the
// queue's own visibility timeout.
func (q *Queue) Postponed() (count int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.inFlight {
		if m.again > 0 {
			count++
		}
	}
	return count
}

// Waiting returns the bodies of the messages that can be received, in their order.
func (q *Queue) Waiting() (bodies []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range q.waiting {
		bodies = append(bodies, m.Body)
	}
	return bodies
}

// Take deletes the messages that can be received, and returns their bodies.
func (q *Queue) Take() []string {
	bodies := q.Waiting()
	for range bodies {
		if m, ok := q.receive(); ok {
			q.done(m)
		}
	}
	return bodies
}

// idle says whether the queue has no message, waiting or received.
func (q *Queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting) == 0 && len(q.inFlight) == 0
}

func (q *Queue) deadLetters() []Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.dead)
}

// sqsInput is the part of requests to SQS that is read.
type sqsInput struct {
	QueueURL               string `json:"QueueUrl"`
	MessageBody            string
	MessageGroupID         string `json:"MessageGroupId"`
	MessageDeduplicationID string `json:"MessageDeduplicationId"`
	ReceiptHandle          string
	VisibilityTimeout      int // seconds
}

// ServeSQS answers requests to queues in the protocol of SQS, AWS JSON 1.0.
func ServeSQS(queues ...*Queue) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var input sqsInput
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxMessage)).Decode(&input); err != nil {
			refuseJSON(w, "com.amazonaws.sqs#InvalidMessageContents", err.Error())
			return
		}
		at := slices.IndexFunc(queues, func(q *Queue) bool { return q.url == input.QueueURL })
		if at < 0 {
			refuseJSON(w, "com.amazonaws.sqs#QueueDoesNotExist", fmt.Sprintf("there is no queue %q", input.QueueURL))
			return
		}
		switch operation := operationOf(r); operation {
		case "SendMessage":
			queues[at].answerSend(w, input)
		case "ChangeMessageVisibility":
			queues[at].answerChange(w, input)
		default:
			refuseJSON(w, "com.amazonaws.sqs#UnsupportedOperation", operation)
		}
	})
}

// fifoID is the form of the ids of groups and for deduplication.
var fifoID = regexp.MustCompile("^[!-~]{1,128}$")

func (q *Queue) answerSend(w http.ResponseWriter, in sqsInput) {
	ids := in.MessageGroupID + in.MessageDeduplicationID
	switch {
	case in.MessageBody == "" || len(in.MessageBody) > maxMessage:
		refuseJSON(w, "com.amazonaws.sqs#InvalidParameterValue", fmt.Sprintf("the message has %d bytes", len(in.MessageBody)))
	case q.fifo && !(fifoID.MatchString(in.MessageGroupID) && fifoID.MatchString(in.MessageDeduplicationID)), !q.fifo && ids != "":
		refuseJSON(w, "com.amazonaws.sqs#InvalidParameterValue", fmt.Sprintf("the queue is FIFO: %t, and the message has the ids %q", q.fifo, ids))
	default:
		var m Message
		if q.fifo {
			m = q.sendOnce(in.MessageDeduplicationID, in.MessageGroupID, in.MessageBody)
		} else {
			m = q.send(in.MessageBody)
		}
		sum := md5.Sum([]byte(in.MessageBody))
		answerJSON(w, map[string]string{"MessageId": m.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
	}
}

func (q *Queue) answerChange(w http.ResponseWriter, in sqsInput) {
	const most = 12 * 60 * 60
	if in.VisibilityTimeout < 0 || in.VisibilityTimeout > most || !q.postpone(in.ReceiptHandle, time.Duration(in.VisibilityTimeout)*time.Second) {
		refuseJSON(w, "com.amazonaws.sqs#MessageNotInflight", fmt.Sprintf("%q is not received, or cannot be hidden for %d s", in.ReceiptHandle, in.VisibilityTimeout))
		return
	}
	answerJSON(w, map[string]string{})
}

func answerJSON(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	fmt.Fprint(w, encode(answer)) //nolint:errcheck // the client may have left
}

// refuseJSON answers with an error in AWS JSON.
func refuseJSON(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, encode(map[string]string{"__type": code, "message": message})) //nolint:errcheck // the client may have left
}
