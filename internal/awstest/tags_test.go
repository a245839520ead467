package awstest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestCheckTags(t *testing.T) {
	many := func(count int) []tag {
		tags := make([]tag, count)
		for i := range tags {
			tags[i].Key = strings.Repeat("k", i+1)
		}
		return tags
	}
	for name, c := range map[string]struct {
		tags []tag
		ok   bool
	}{
		"none":                    {nil, true},
		"all that is allowed":     {[]tag{{"larder-status", "a 1_.:/=+-@ é日"}}, true},
		"ten":                     {many(10), true},
		"eleven":                  {many(11), false},
		"name of 128 characters":  {[]tag{{strings.Repeat("é", 128), ""}}, true},
		"name of 129 characters":  {[]tag{{strings.Repeat("é", 129), ""}}, false},
		"value of 256 characters": {[]tag{{"k", strings.Repeat("é", 256)}}, true},
		"value of 257 characters": {[]tag{{"k", strings.Repeat("é", 257)}}, false},
		"no name":                 {[]tag{{"", "v"}}, false},
		"a name twice":            {[]tag{{"k", "1"}, {"k", "2"}}, false},
		"comma":                   {[]tag{{"k", "a, b"}}, false},
		"quotes":                  {[]tag{{"k", `"a"`}}, false},
		"parentheses":             {[]tag{{"k", "(a)"}}, false},
		"line break":              {[]tag{{"k", "a\nb"}}, false},
		"semicolon in the name":   {[]tag{{"a;b", ""}}, false},
	} {
		if err := checkTags(c.tags); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTagsOfRequests holds where tags are looked for.
func TestTagsOfRequests(t *testing.T) {
	const document = `<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet><Tag><Key>k</Key><Value>%s</Value></Tag></TagSet></Tagging>`
	for name, c := range map[string]struct {
		target, header, body string
		ok                   bool
	}{
		"header":           {"/b/k", "a=b&team=x%20y", "", true},
		"bad header":       {"/b/k", "a=b%2Cc", "", false},
		"unreadable":       {"/b/k", "a=%zz", "", false},
		"document":         {"/b/k?tagging", "", strings.ReplaceAll(document, "%s", "fine"), true},
		"bad document":     {"/b/k?tagging&versionId=1", "", strings.ReplaceAll(document, "%s", "a,b"), false},
		"no document":      {"/b/k?tagging", "", "k=v", false},
		"an object's body": {"/b/k", "", "a,b", true},
	} {
		r := httptest.NewRequest(http.MethodPut, c.target, strings.NewReader(c.body))
		if c.header != "" {
			r.Header.Set("X-Amz-Tagging", c.header)
		}
		if err := checkTagsOf(r); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzReadTags(f *testing.F) {
	f.Add("a=b&c=d", []byte("<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>"))
	f.Add("%zz", []byte("<Tagging>"))
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		if tags, err := readTagHeader(header); err == nil && checkTags(tags) == nil {
			query := url.Values{}
			for _, tag := range tags {
				query.Set(tag.Key, tag.Value)
			}
			if again, err := readTagHeader(query.Encode()); err != nil || len(again) != len(tags) {
				t.Errorf("%q is read as %v, which is written as %q and read as %v", header, tags, query.Encode(), again)
			}
		}
		_, _ = readTagging(body)
	})
}
