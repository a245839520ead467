// Package preflight checks an AWS account before Larder is deployed to it, so that a deployment
// does not fail after half an hour. It checks the credentials and their rights, the quota of
// the functions, the bucket's name, the certificate and the hosted zone.
//
// It changes nothing. If the credentials lack the right for a check, it reports that as
// unchecked, which does not fail.
package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/larder-registry/larder/internal/awsconfig"
	"github.com/larder-registry/larder/internal/awserror"
	"github.com/larder-registry/larder/internal/check/findings"
)

// limit bounds the time of all checks together.
const limit = 3 * time.Minute

// check has all that a check of the account needs.
type check struct {
	*findings.List
	Params
	region string
	now    func() time.Time
}

// Run runs all checks on the account of the configuration. The environment must be that of the
// tool that deploys.
func Run(ctx context.Context, p Params, cfg aws.Config, getenv func(string) string, list *findings.List) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := check{list, p, cfg.Region, time.Now}
	caller, ok := c.identity(ctx, sts.NewFromConfig(cfg))
	if !ok {
		return
	}
	if p.With == "sam" {
		c.samRegion(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"))
	}
	c.concurrency(ctx, lambda.NewFromConfig(cfg))
	c.bucket(ctx, awsconfig.S3(cfg), caller)
	if p.DomainName != "" {
		c.certificate(ctx, acm.NewFromConfig(cfg))
	}
	if p.HostedZoneID != "" {
		c.zone(ctx, route53.NewFromConfig(cfg))
	}
	c.permissions(ctx, iam.NewFromConfig(cfg), caller)
}

// unchecked adds a finding of a check without a result: the credentials lack the right, or
// there was no answer.
func (c check) unchecked(name, action string, err error) {
	if denied(err) {
		c.Warn(name, "allow "+action+", or look yourself", "not checked: these credentials may not %s", action)
		return
	}
	c.Fail(name, "see whether this machine reaches AWS in "+c.region, "%s gave no answer: %v", action, err)
}

// denied says whether AWS refused a request for missing rights.
func denied(err error) bool {
	switch awserror.Code(err) {
	case "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "NotAuthorized":
		return true
	}
	return false
}

// errorHeader returns a header of the answer with an error.
func errorHeader(err error, name string) string {
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.Response != nil {
		return http.Header(response.Response.Header).Get(name)
	}
	return ""
}

// arn returns the ARN of a resource in this account and region.
func (c check) arn(caller caller, service, resource string) string {
	return fmt.Sprintf("arn:%s:%s:%s:%s:%s", caller.partition, service, c.region, caller.account, resource)
}
