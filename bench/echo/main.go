// Command echo is what a function takes at least: it reads one item, if the event names one,
// and answers with what it got.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

func main() { lambda.Start(answer) }

func answer(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	body := "{}"
	if read := event.Headers["x-bench-read"]; read != "" {
		var err error
		if body, err = ask(ctx, event.Headers["x-bench-target"], read); err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
	}
	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusOK, Headers: map[string]string{"Content-Type": "application/json"}, Body: body}, nil
}

// ask asks the stand-in for DynamoDB.
func ask(ctx context.Context, target, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), strings.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Amz-Target", target)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	item, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return string(item), err
}
