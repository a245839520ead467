package awstest

import (
	"fmt"
	"net/http"
)

// SlowDown is S3's answer to too many requests: 503.
func SlowDown() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseXML(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
	})
}

// ServiceUnavailable is S3's answer when it fails itself: 503.
func ServiceUnavailable() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseXML(w, http.StatusServiceUnavailable, "ServiceUnavailable", "Service is unable to handle request.")
	})
}

// Throttled is DynamoDB's answer to too many requests: 400.
func Throttled() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseJSON(w, "com.amazonaws.dynamodb.v20120810#ThrottlingException",
			"Throughput exceeds the current capacity of your table or index.")
	})
}

// KMSInternal is the answer of KMS when it fails itself: 500.
func KMSInternal() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, encode(map[string]string{"__type": "KMSInternalException", "message": "An internal error occurred."})) //nolint:errcheck // the client may have left
	})
}

// SNSInternal is the answer of SNS when it fails itself: 500.
func SNSInternal() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseQuery(w, http.StatusInternalServerError, "InternalError", "Internal server error.")
	})
}

// SSMInternal is the answer of Systems Manager when it fails itself: 500.
func SSMInternal() Fault {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuseSSM(w, http.StatusInternalServerError, "InternalServerError", "An error occurred on the server side.")
	})
}

// refuseXML answers with an error in S3's form.
func refuseXML(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", //nolint:errcheck // the client may have left
		code, xmlText(message))
}
