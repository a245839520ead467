// Command echo is what a function takes at least: it reads one item by a signed request, if the
// event names one, and answers with what it got.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// keys are those of the function, and signer signs with them.
var (
	keys = aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}
	signer = v4.NewSigner()
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
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", target)
	sum := sha256.Sum256([]byte(body))
	if err := signer.SignHTTP(ctx, keys, request, hex.EncodeToString(sum[:]), "dynamodb", os.Getenv("AWS_REGION"), time.Now()); err != nil {
		return "", err
	}
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
