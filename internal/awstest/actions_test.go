package awstest

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// told is calls as one text each.
func told(made []Call) []string {
	var all []string
	for _, c := range made {
		text := strings.TrimSpace(c.name())
		if c.Request != "" {
			text = c.Request + ": " + text
		}
		all = append(all, text)
	}
	return all
}

func TestS3Calls(t *testing.T) {
	const b, o = "arn:aws:s3:::b", "arn:aws:s3:::b/f/k"
	for _, c := range []struct {
		request string // method, target, headers
		want    []string
	}{
		{"GET /b/f/k", []string{"s3:GetObject: s3:GetObject " + o}},
		{"GET /b/f/a%2Bb%20c", []string{"s3:GetObject: s3:GetObject arn:aws:s3:::b/f/a+b c"}},
		{"HEAD /b/f/k", []string{"s3:HeadObject: s3:GetObject " + o}},
		{"GET /b/f/k?versionId=1", []string{"s3:GetObject: s3:GetObjectVersion " + o}},
		{"GET /b/f/k?tagging", []string{"s3:GetObjectTagging: s3:GetObjectTagging " + o}},
		{"PUT /b/f/k?tagging&versionId=1", []string{"s3:PutObjectTagging: s3:PutObjectVersionTagging " + o}},
		{"PUT /b/f/k", []string{"s3:PutObject: s3:PutObject " + o}},
		{"PUT /b/f/k If-None-Match:*", []string{"s3:PutObject: s3:PutObject " + o + " s3:if-none-match=*"}},
		{"POST /b/f/k?uploadId=1 If-None-Match:*", []string{"s3:CompleteMultipartUpload: s3:PutObject " + o + " s3:if-none-match=*"}},
		{"GET /b/f/k If-None-Match:x", []string{"s3:GetObject: s3:GetObject " + o}}, // a condition on what is read is none of policies
		{"PUT /b/f/k X-Amz-Tagging:a=b", []string{"s3:PutObject: s3:PutObject " + o, "s3:PutObjectTagging " + o}},
		{"PUT /b/f/k X-Amz-Copy-Source:b/s%20t?versionId=1 X-Amz-Tagging-Directive:REPLACE",
			[]string{"s3:CopyObject: s3:PutObject " + o, "s3:GetObjectVersion arn:aws:s3:::b/s t"}},
		{"PUT /b/f/k X-Amz-Copy-Source:/b/s",
			[]string{"s3:CopyObject: s3:PutObject " + o, "s3:GetObject arn:aws:s3:::b/s", "s3:GetObjectTagging arn:aws:s3:::b/s"}},
		{"POST /b/f/k?uploads", []string{"s3:CreateMultipartUpload: s3:PutObject " + o}},
		{"PUT /b/f/k?uploadId=1&partNumber=1", []string{"s3:UploadPart: s3:PutObject " + o}},
		{"PUT /b/f/k?uploadId=1&partNumber=1 X-Amz-Copy-Source:b/s",
			[]string{"s3:UploadPartCopy: s3:PutObject " + o, "s3:GetObject arn:aws:s3:::b/s"}},
		{"POST /b/f/k?uploadId=1", []string{"s3:CompleteMultipartUpload: s3:PutObject " + o}},
		{"DELETE /b/f/k?uploadId=1", []string{"s3:AbortMultipartUpload: s3:AbortMultipartUpload " + o}},
		{"DELETE /b/f/k", []string{"s3:DeleteObject: s3:DeleteObject " + o}},
		{"DELETE /b/f/k?versionId=1", []string{"s3:DeleteObject: s3:DeleteObjectVersion " + o}},
		{"GET /b?list-type=2&prefix=f/", []string{"s3:ListObjectsV2: s3:ListBucket " + b + " s3:prefix=f/"}},
		{"GET /b?versions", []string{"s3:ListObjectVersions: s3:ListBucketVersions " + b}},
		{"HEAD /b", []string{"s3:HeadBucket: s3:ListBucket " + b}},
		{"GET /b?policy", []string{"s3:GetBucket: s3:GetBucket " + b}}, // no action of IAM, and so allowed to nobody
	} {
		fields := strings.Fields(c.request)
		r := httptest.NewRequest(fields[0], fields[1], nil)
		for _, header := range fields[2:] {
			name, value, _ := strings.Cut(header, ":")
			r.Header.Set(name, value)
		}
		made, err := s3Calls(r, nil)
		if got := told(made); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.request, got, err, c.want)
		}
	}
}

func TestDynamoCalls(t *testing.T) {
	arn := func(name string) string { return "arn/" + name }
	for _, c := range []struct {
		operation, body string
		want            []string
	}{
		{"GetItem", `{"TableName":"t","Key":{"PK":{"S":"M#a"},"SK":{"S":"LIST"}}}`,
			[]string{"dynamodb:GetItem: dynamodb:GetItem arn/t dynamodb:LeadingKeys=M#a"}},
		{"PutItem", `{"TableName":"t","Item":{"PK":{"S":"P#a"},"data":{"B":"aGk="}}}`,
			[]string{"dynamodb:PutItem: dynamodb:PutItem arn/t dynamodb:LeadingKeys=P#a"}},
		{"Query", `{"TableName":"t","KeyConditionExpression":"begins_with(SK, :s) AND PK = :p","ExpressionAttributeValues":{":p":{"S":"M#a"},":s":{"S":"L"}}}`,
			[]string{"dynamodb:Query: dynamodb:Query arn/t dynamodb:LeadingKeys=M#a"}},
		{"Query", `{"TableName":"t","KeyConditionExpression":"#0 = :0","ExpressionAttributeNames":{"#0":"PK"},"ExpressionAttributeValues":{":0":{"S":"M#a"}}}`,
			[]string{"dynamodb:Query: dynamodb:Query arn/t dynamodb:LeadingKeys=M#a"}},
		{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":{"PK":{"S":"M#a"}}}},{"ConditionCheck":{"TableName":"t","Key":{"PK":{"S":"M#b"}}}}]}`,
			[]string{"dynamodb:TransactWriteItems: dynamodb:PutItem arn/t dynamodb:LeadingKeys=M#a", "dynamodb:ConditionCheckItem arn/t dynamodb:LeadingKeys=M#b"}},
		{"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"PK":{"S":"A#x"}},{"PK":{"S":"M#a"}}]}}}`,
			[]string{"dynamodb:BatchGetItem: dynamodb:BatchGetItem arn/t dynamodb:LeadingKeys=A#x", "dynamodb:BatchGetItem arn/t dynamodb:LeadingKeys=M#a"}},
		{"TransactWriteItems", `{"TransactItems":[{"Delete":{"TableName":"t","Key":{"PK":{"S":"M#a"}}}}]}`,
			[]string{"dynamodb:TransactWriteItems: dynamodb:DeleteItem arn/t dynamodb:LeadingKeys=M#a"}},
		{"UpdateItem", `{"TableName":"t","Key":{"PK":{"S":"A"},"SK":{"S":"x"}},"UpdateExpression":"SET used = :day, #n = :n","ConditionExpression":"attribute_exists(PK) AND used < :day","ExpressionAttributeNames":{"#n":"name"}}`,
			[]string{
				"dynamodb:UpdateItem: dynamodb:UpdateItem arn/t dynamodb:Attributes=PK dynamodb:LeadingKeys=A", "dynamodb:UpdateItem arn/t dynamodb:Attributes=SK dynamodb:LeadingKeys=A",
				"dynamodb:UpdateItem arn/t dynamodb:Attributes=name dynamodb:LeadingKeys=A", "dynamodb:UpdateItem arn/t dynamodb:Attributes=used dynamodb:LeadingKeys=A",
			}},
		{"Scan", `{"TableName":"t"}`, []string{"dynamodb:Scan: dynamodb:Scan arn/t"}},
		{"Scan", `{"TableName":"t","Select":"SPECIFIC_ATTRIBUTES","ProjectionExpression":"PK, #r","ExpressionAttributeNames":{"#r":"revision"}}`,
			[]string{"dynamodb:Scan: dynamodb:Scan arn/t dynamodb:Attributes=PK dynamodb:Select=SPECIFIC_ATTRIBUTES", "dynamodb:Scan arn/t dynamodb:Attributes=revision dynamodb:Select=SPECIFIC_ATTRIBUTES"}},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+c.operation)
		made, err := dynamoCalls(arn)(r, []byte(c.body))
		if got := told(made); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, want %q", c.body, got, err, c.want)
		}
	}
	for _, body := range []string{"", "{}", "[]"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if made, err := dynamoCalls(arn)(r, []byte(body)); err == nil {
			t.Errorf("%q is read as %q", body, told(made))
		}
	}
}

func TestKMSAndSQSCalls(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("X-Amz-Target", "TrentService.Sign")
	made, err := kmsCalls(r, []byte(`{"KeyId":"arn:key"}`))
	if want := []string{"kms:Sign: kms:Sign arn:key"}; err != nil || !slices.Equal(told(made), want) {
		t.Errorf("%q, %v, want %q", told(made), err, want)
	}
	if made, err := kmsCalls(r, nil); err == nil {
		t.Errorf("nothing is read as %q", told(made))
	}
	r.Header.Set("X-Amz-Target", "AmazonSQS.SendMessage")
	made, err = sqsCalls(r, []byte(`{"QueueUrl":"https://sqs.us-east-1.amazonaws.com/111122223333/fetch.fifo"}`))
	if want := []string{"sqs:SendMessage: sqs:SendMessage arn:aws:sqs:us-east-1:111122223333:fetch.fifo"}; err != nil || !slices.Equal(told(made), want) {
		t.Errorf("%q, %v, want %q", told(made), err, want)
	}
	if made, err := sqsCalls(r, nil); err == nil {
		t.Errorf("nothing is read as %q", told(made))
	}
}

func FuzzCalls(f *testing.F) {
	f.Add("/b/k?versionId=1", "b/s?versionId=1", `{"TableName":"t","Key":{"PK":{"S":"M#a"}}}`)
	f.Add("/", "%zz", `{"TransactItems":[{"Put":{}}]}`)
	f.Fuzz(func(t *testing.T, target, source, body string) {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			r, err := http.NewRequest(method, "http://127.0.0.1/"+strings.TrimPrefix(target, "/"), nil)
			if err != nil {
				return
			}
			r.Header.Set("X-Amz-Copy-Source", source)
			if made, err := s3Calls(r, nil); err == nil && (len(made) == 0 || made[0].Request == "") {
				t.Errorf("%s %s takes %v", method, target, made)
			}
			if made, err := dynamoCalls(func(name string) string { return name })(r, []byte(body)); err == nil && len(made) == 0 {
				t.Errorf("%s takes nothing", body)
			}
		}
	})
}
