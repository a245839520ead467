package awstest

import (
	"maps"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"
)

const outcomesARN = "arn:aws:sns:us-east-1:111122223333:outcomes"

// publication is a message that SNS takes.
func publication() *sns.PublishInput {
	return &sns.PublishInput{
		TopicArn: aws.String(outcomesARN), Subject: aws.String("rejected: a"), Message: aws.String(`{"key": "a"}`),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"status": {DataType: aws.String("String"), StringValue: aws.String("rejected")},
			"folder": {DataType: aws.String("String"), StringValue: aws.String("modules")},
		},
	}
}

// TestPublish publishes as functions do, and with mistakes.
func TestPublish(t *testing.T) {
	topic := NewTopic(outcomesARN)
	server := httptest.NewServer(topic)
	t.Cleanup(server.Close)
	client := sns.New(sns.Options{
		Region: region, BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	if out, err := client.Publish(t.Context(), publication()); err != nil || aws.ToString(out.MessageId) == "" {
		t.Fatalf("Publish = %+v, %v", out, err)
	}
	told := topic.Announcements(t, "a")
	if len(told) != 1 || told[0].Subject != "rejected: a" || told[0].Message != `{"key": "a"}` ||
		!maps.Equal(told[0].Attributes, map[string]string{"status": "rejected", "folder": "modules"}) {
		t.Errorf("the topic was told %+v", told)
	}
	if others := topic.Announcements(t, "b"); len(others) != 0 {
		t.Errorf("of another key the topic was told %+v", others)
	}
	for code, mistakes := range map[string]map[string]func(*sns.PublishInput){
		"NotFound": {"another topic": func(in *sns.PublishInput) { in.TopicArn = aws.String(outcomesARN + "2") }},
		"InvalidParameter": {
			"a long subject":     func(in *sns.PublishInput) { in.Subject = aws.String(strings.Repeat("s", 100)) },
			"a broken subject":   func(in *sns.PublishInput) { in.Subject = aws.String("a\r\nb") },
			"no message":         func(in *sns.PublishInput) { in.Message = aws.String("") },
			"a long message":     func(in *sns.PublishInput) { in.Message = aws.String(strings.Repeat("m", maxAnnouncement)) },
			"a bad character":    func(in *sns.PublishInput) { in.Message = aws.String("\ufffe") },
			"a broken character": func(in *sns.PublishInput) { in.Message = aws.String("\xff") },
			"an empty attribute": func(in *sns.PublishInput) {
				in.MessageAttributes["status"] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String("")}
			},
		},
	} {
		for name, mistake := range mistakes {
			in := publication()
			mistake(in)
			if _, err := client.Publish(t.Context(), in); err == nil || !strings.Contains(err.Error(), code) {
				t.Errorf("%s: %v, want %s", name, err, code)
			}
		}
	}
	if _, err := client.ListTopics(t.Context(), nil); err == nil {
		t.Error("there is an answer to what is not served")
	}
	if told := topic.Announcements(t, "a"); len(told) != 1 {
		t.Errorf("mistakes were published: %+v", told)
	}
}

func TestSNSCalls(t *testing.T) {
	made, err := snsCalls(nil, []byte("Action=Publish&TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A111122223333%3Aoutcomes"))
	if err != nil || len(made) != 1 || made[0].Action != "sns:Publish" || made[0].Resource != outcomesARN || made[0].Request != "sns:Publish" {
		t.Errorf("snsCalls = %+v, %v", made, err)
	}
	if _, err := snsCalls(nil, []byte("%zz")); err == nil {
		t.Error("what cannot be read takes permissions")
	}
}
