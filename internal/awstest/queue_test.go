package awstest

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// receive waits for the queue's next message.
func receive(t *testing.T, q *Queue) *Message {
	t.Helper()
	select {
	case <-q.changed:
	case <-time.After(quiet):
		t.Fatal("no message comes")
	}
	m, ok := q.receive()
	if !ok {
		t.Fatal("there is no message")
	}
	return m
}

// TestQueue holds that a failed message comes again, that others do not wait
// for it, and that it is given up at last.
func TestQueue(t *testing.T) {
	q := newQueue(2, 10*time.Millisecond)
	poisoned := q.send("poisoned")
	q.send("fine")

	first, second := receive(t, q), receive(t, q)
	if first.ID != poisoned.ID || second.Body != "fine" {
		t.Fatalf("received %+v and %+v", first, second)
	}
	q.fail(first)
	q.done(second)
	if q.idle() {
		t.Error("the queue has forgotten the message that failed")
	}
	again := receive(t, q)
	if again.ID != poisoned.ID || again.Receives != 2 || len(q.deadLetters()) != 0 {
		t.Errorf("received %+v, dead letters %v", again, q.deadLetters())
	}
	q.fail(again)
	if dead := q.deadLetters(); len(dead) != 1 || dead[0].Body != "poisoned" || !q.idle() {
		t.Errorf("dead letters %v, idle %t", dead, q.idle())
	}
}

// TestFIFO holds that a FIFO queue drops what it was sent, until five minutes
// are over, and that a group's messages come one after another, whatever becomes
// of the first, while other groups do not wait.
func TestFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(2, time.Hour)
		q.fifo = true
		first := q.sendOnce("a", "a", "first")
		if again := q.sendOnce("a", "a", "the like"); again.ID != first.ID {
			t.Errorf("what is dropped is %+v, want %+v", again, first)
		}
		time.Sleep(onceFor)
		q.sendOnce("a", "a", "second")
		q.sendOnce("b", "b", "other")
		received, other := receive(t, q), receive(t, q)
		if received.Body != "first" || other.Body != "other" {
			t.Fatalf("received %q and %q", received.Body, other.Body)
		}
		q.done(other)
		if m, ok := q.receive(); ok {
			t.Errorf("received %q beside another of its group", m.Body)
		}
		if q.postpone("another", time.Second) || !q.postpone(received.receipt(), hurry*time.Minute) {
			t.Error("the message that was received cannot be postponed, or another can")
		}
		before := time.Now()
		q.fail(received)
		if received = receive(t, q); received.Body != "first" || time.Since(before) != time.Minute {
			t.Errorf("%q comes after %v", received.Body, time.Since(before))
		}
		q.fail(received)
		if second := receive(t, q); second.Body != "second" || len(q.deadLetters()) != 1 {
			t.Errorf("received %+v, dead letters %v", second, q.deadLetters())
		}
	})
}

// TestSendMessage sends as functions do, and with mistakes.
func TestSendMessage(t *testing.T) {
	const address = "https://sqs.us-east-1.amazonaws.com/111122223333/uploads"
	q := newQueue(1, time.Second)
	q.url = address
	server := httptest.NewServer(ServeSQS(q))
	t.Cleanup(server.Close)
	client := sqs.New(sqs.Options{
		Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(address), MessageBody: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, q); m.Body != "{}" {
		t.Errorf("received %+v", m)
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(address + "2"), MessageBody: aws.String("{}")}); err == nil {
		t.Error("a message for another queue is taken")
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(address), MessageBody: aws.String("")}); err == nil {
		t.Error("an empty message is taken")
	}
	if _, err := client.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: aws.String(address)}); err == nil {
		t.Error("there is an answer to what is not served")
	}
}

// TestFIFOMessage sends to a FIFO queue, and postpones.
func TestFIFOMessage(t *testing.T) {
	const address = "https://sqs.us-east-1.amazonaws.com/111122223333/fetch.fifo"
	q := newQueue(1, time.Second)
	q.url, q.fifo = address, true
	server := httptest.NewServer(ServeSQS(newQueue(1, time.Second), q))
	t.Cleanup(server.Close)
	client := sqs.New(sqs.Options{
		Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	in := sqs.SendMessageInput{QueueUrl: aws.String(address), MessageBody: aws.String("{}"), MessageGroupId: aws.String("g")}
	if _, err := client.SendMessage(t.Context(), &in); err == nil {
		t.Error("a message without a deduplication id is taken")
	}
	in.MessageDeduplicationId = aws.String("d")
	for range 2 {
		if _, err := client.SendMessage(t.Context(), &in); err != nil {
			t.Fatal(err)
		}
	}
	m := receive(t, q)
	if m.Group != "g" || len(q.waiting) != 0 {
		t.Errorf("received %+v, and %d wait", m, len(q.waiting))
	}
	for receipt, want := range map[string]bool{m.receipt(): true, "no": false} {
		_, err := client.ChangeMessageVisibility(t.Context(), &sqs.ChangeMessageVisibilityInput{QueueUrl: aws.String(address), ReceiptHandle: &receipt, VisibilityTimeout: 300})
		if (err == nil) != want {
			t.Errorf("%s: %v", receipt, err)
		}
	}
	if m.again != 5*time.Minute/hurry {
		t.Errorf("it comes again after %v", m.again)
	}
}

func TestFailed(t *testing.T) {
	for response, want := range map[string]bool{
		`{"batchItemFailures":[]}`:   false,
		`{"batchItemFailures":null}`: false,
		`{}`:                         false,
		`null`:                       false,
		`{"batchItemFailures":[{"itemIdentifier":"a"}]}`: true,
		`{"batchItemFailures":[{"itemIdentifier":""}]}`:  true,
		`"done"`: true,
		``:       true,
	} {
		if got := failed([]byte(response)); got != want {
			t.Errorf("%s: %t, want %t", response, got, want)
		}
	}
}
