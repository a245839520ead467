// Command empty is a function that does nothing: what it takes to start is what
// Lambda and Go take.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() { lambda.Start(func() {}) }
