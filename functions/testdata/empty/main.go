// Command empty is a function that does nothing. It takes as long to start as Lambda and Go
// take by themselves.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() {}) }
