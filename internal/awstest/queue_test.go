package awstest

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// receive waits for the queue's next message.
func receive(t *testing.T, q *queue) *Message {
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

// TestSendMessage sends as functions do, and with mistakes.
func TestSendMessage(t *testing.T) {
	const address = "https://sqs.us-east-1.amazonaws.com/111122223333/uploads"
	q := newQueue(1, time.Second)
	server := httptest.NewServer(q.serve(address))
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
