// Package topic announces the outcomes of uploads to an SNS topic, for its subscribers.
package topic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/pkg/inbox"
)

const (
	// timeout is how long SNS may take to accept a message, with all retries.
	timeout = 30 * time.Second

	// maxMessage is how long a message may be, in bytes. SNS accepts 256 KiB with
	// the attributes, but charges every 64 KiB as a request.
	maxMessage = 60 << 10

	// maxSubject is how long a subject may be, in characters: SNS accepts fewer
	// than 100.
	maxSubject = 99
)

// Topic is a topic of SNS. It is safe for concurrent use.
type Topic struct {
	client *sns.Client
	arn    string
}

// New is the topic of an environment. It sends no request.
func New(env variables.Values) *Topic {
	options := sns.Options{Region: env.Region, Credentials: env.Credentials}
	if env.SNSEndpoint != "" {
		options.BaseEndpoint = &env.SNSEndpoint
	}
	return &Topic{sns.New(options), env.Topic}
}

// Announce publishes an outcome: as JSON, under a subject for those who read
// mail, and with attributes for those who filter. After an error the message may have been
// published nevertheless.
func (t *Topic) Announce(ctx context.Context, o inbox.Outcome) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	message, err := body(o)
	if err != nil {
		return err
	}
	_, err = t.client.Publish(ctx, &sns.PublishInput{
		TopicArn: &t.arn, Subject: aws.String(subject(o)), Message: &message, MessageAttributes: attributes(o),
	})
	return err
}

// body is an outcome as a message, with fewer of its reasons if it would be too long.
func body(o inbox.Outcome) (string, error) {
	text, err := encode(o)
	for n := len(o.Reasons); err == nil && len(text) > maxMessage && n > 0; {
		n /= 2
		text, err = encode(withReasons(o, n))
	}
	return text, err
}

// withReasons is an outcome with the first n of its reasons, and how many more
// there are.
func withReasons(o inbox.Outcome, n int) inbox.Outcome {
	more := fmt.Sprintf("And %d more, which the document under registry/outcomes/ has.", len(o.Reasons)-n)
	o.Reasons = append(o.Reasons[:n:n], more)
	return o
}

// notInXML escapes the characters that XML cannot carry, which SNS refuses and JSON does
// not escape. They can only be inside of strings.
var notInXML = strings.NewReplacer("\ufffe", `\ufffe`, "\uffff", `\uffff`)

// encode is JSON that people can read, too.
func encode(o inbox.Outcome) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(o)
	return notInXML.Replace(b.String()), err
}

// subject is an outcome in a line: "rejected: provider acme/widget 1.0.0 for
// linux_amd64".
func subject(o inbox.Outcome) string {
	line := plain(string(o.Status) + ": " + cmp.Or(o.Subject, o.Key))
	if len(line) > maxSubject {
		line = line[:maxSubject-len("...")] + "..."
	}
	return line
}

// plain replaces everything that is not printable ASCII by a question mark.
func plain(text string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, text)
}

// attributes are what subscriptions filter by: the status, the folder of the
// inbox, and the namespace where the folder has namespaces.
func attributes(o inbox.Outcome) map[string]types.MessageAttributeValue {
	values := map[string]string{"status": string(o.Status)}
	path := strings.Split(o.Key, "/")
	if len(path) > 1 {
		values["folder"] = path[0]
	}
	if len(path) > 2 && path[0] != "mirror" { // there the folders are host names
		values["namespace"] = path[1]
	}
	all := map[string]types.MessageAttributeValue{}
	for name, value := range values {
		if value != "" && value == plain(value) { // nobody filters by anything else
			all[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
		}
	}
	return all
}
