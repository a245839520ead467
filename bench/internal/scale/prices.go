// Package scale says what requests cost on AWS, and which of AWS's limits they reach as there
// come to be more of them. It computes: it asks nobody, and knows only counted requests,
// measured times and what AWS publishes.
package scale

// Price is what AWS takes for a number of something, in US dollars.
type Price struct {
	What    string
	Dollars float64
	Per     float64
	Unit    string
}

// of is what a number of that thing costs.
func (p Price) of(n float64) float64 { return p.Dollars * n / p.Per }

const million = 1e6

// PricesOf says for which region the prices are, and when they were read.
const PricesOf = "us-east-1, list prices of November 2026, without free tiers"

// The prices. docs/costs.md has the links.
var (
	GatewayRequest = Price{"HTTP API: requests", 1.00, million, "million"}
	LambdaRequest  = Price{"Lambda: requests", 0.20, million, "million"}
	LambdaTime     = Price{"Lambda: time", 0.0000133334, 1, "GB-second"}
	LambdaDisk     = Price{"Lambda: disk beyond 512 MB", 0.0000000309, 1, "GB-second"}
	TableRead      = Price{"DynamoDB: read units", 0.125, million, "million"}
	TableWrite     = Price{"DynamoDB: write units", 0.625, million, "million"}
	BucketRead     = Price{"S3: GET, HEAD", 0.40, million, "million"}
	BucketWrite    = Price{"S3: PUT, COPY", 5.00, million, "million"}
	Signature      = Price{"KMS: Sign with RSA_4096", 15.00, million, "million"}
	QueueRequest   = Price{"SQS: requests", 0.40, million, "million"}
	Announcement   = Price{"SNS: publish", 0.50, million, "million"}
)
