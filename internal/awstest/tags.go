package awstest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"unicode/utf8"
)

// The limits of S3. See
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/tagging-managing.html
const (
	maxTags     = 10
	maxTagName  = 128 // characters
	maxTagValue = 256 // characters
)

// tagText is the form of the name and the value of a tag in S3.
var tagText = regexp.MustCompile(`^[\p{L}\p{N}\p{Zs}_.:/=+\-@]*$`)

type tag struct{ Key, Value string }

// checkTags says whether S3 takes tags.
func checkTags(tags []tag) error {
	if len(tags) > maxTags {
		return fmt.Errorf("there are %d tags, and may be %d", len(tags), maxTags)
	}
	seen := map[string]bool{}
	for _, t := range tags {
		switch {
		case t.Key == "" || utf8.RuneCountInString(t.Key) > maxTagName || !tagText.MatchString(t.Key):
			return fmt.Errorf("the TagKey you have provided is invalid: %q", t.Key)
		case utf8.RuneCountInString(t.Value) > maxTagValue || !tagText.MatchString(t.Value):
			return fmt.Errorf("the TagValue you have provided is invalid: %q", t.Value)
		case seen[t.Key]:
			return fmt.Errorf("cannot provide multiple Tags with the same key: %q", t.Key)
		}
		seen[t.Key] = true
	}
	return nil
}

// readTagging reads the body of PutObjectTagging.
func readTagging(body []byte) ([]tag, error) {
	var document struct {
		XMLName xml.Name `xml:"Tagging"`
		Tags    []tag    `xml:"TagSet>Tag"`
	}
	if err := xml.Unmarshal(body, &document); err != nil {
		return nil, errors.New("the XML you provided was not well-formed")
	}
	return document.Tags, nil
}

// readTagHeader reads the header x-amz-tagging.
func readTagHeader(value string) ([]tag, error) {
	query, err := url.ParseQuery(value)
	if err != nil {
		return nil, fmt.Errorf("the header x-amz-tagging: %w", err)
	}
	var tags []tag
	for name, values := range query {
		for _, value := range values {
			tags = append(tags, tag{name, value})
		}
	}
	return tags, nil
}
