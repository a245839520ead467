package awstest

import (
	"encoding/json"
	"strconv"
)

// Invocation is one run of a function without a request to the registry.
type Invocation struct {
	Body   string // of the message, or the input of the schedule
	Calls  []Call
	Failed bool // so that the message comes again, or is given up
}

// poll passes a queue's messages to a function, as Lambda's event source mapping, until stop is
// closed.
func (s *Stack) poll(q *Queue, f *function, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-q.changed:
			if m, ok := q.receive(); ok {
				s.deliver(q, m, f)
			}
		}
	}
}

// deliver passes a message to a function, and deletes it unless that fails.
func (s *Stack) deliver(q *Queue, m *Message, f *function) {
	for _, action := range []string{"sqs:ReceiveMessage", "sqs:GetQueueAttributes"} { // Lambda's own
		s.ledger.add(Call{Function: f.name, Action: action, Resource: q.arn})
	}
	response, made, err := s.invoke(f, batch(m, q.arn), f.timeout)
	fails := err != nil || failed(response)
	s.note(f.name, Invocation{m.Body, made, fails})
	if fails {
		q.fail(m)
		return
	}
	s.ledger.add(Call{Function: f.name, Action: "sqs:DeleteMessage", Resource: q.arn})
	q.done(m)
}

// batch is the event of one message.
// See https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
func batch(m *Message, queueARN string) string {
	sent := strconv.FormatInt(m.Sent.UnixMilli(), 10)
	return encode(map[string]any{"Records": []any{map[string]any{
		"messageId":     m.ID,
		"receiptHandle": m.receipt(),
		"body":          m.Body,
		"attributes": map[string]string{
			"ApproximateReceiveCount":          strconv.Itoa(m.Receives),
			"ApproximateFirstReceiveTimestamp": sent,
			"SentTimestamp":                    sent,
			"SenderId":                         "AIDAJXNJGGKNS7OSV23OI",
		},
		"messageAttributes": map[string]any{},
		"md5OfBody":         "",
		"eventSource":       "aws:sqs",
		"eventSourceARN":    queueARN,
		"awsRegion":         region,
	}}})
}

// failed says whether a partial batch response fails a batch of one message: it names the
// message, it names one that is not in the batch, or it is malformed.
func failed(response []byte) bool {
	var partial struct {
		BatchItemFailures []struct{} `json:"batchItemFailures"`
	}
	err := json.Unmarshal(response, &partial)
	return err != nil || len(partial.BatchItemFailures) > 0
}
