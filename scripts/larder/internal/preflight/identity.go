package preflight

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

type identityAPI interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// caller is who deploys.
type caller struct {
	arn, account, partition string
}

// identity says whether region and credentials work. It needs no rights.
func (c check) identity(ctx context.Context, api identityAPI) (caller, bool) {
	const name = "aws.credentials"
	out, err := api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		c.Fail(name, credentialsAdvice(err), "%v", err)
		return caller{}, false
	}
	parsed, err := arn.Parse(aws.ToString(out.Arn))
	if err != nil {
		c.Fail(name, "see where AWS_ENDPOINT_URL leads", "the answer names nobody: %v", err)
		return caller{}, false
	}
	who := caller{aws.ToString(out.Arn), aws.ToString(out.Account), parsed.Partition}
	if parsed.Resource == "root" {
		c.Warn(name, "deploy as a role that may do what the deployment needs, and no more", "account %s in %s, as its root user", who.account, c.region)
		return who, true
	}
	c.OK(name, "account %s in %s, as %s", who.account, c.region, parsed.Resource)
	return who, true
}

func credentialsAdvice(err error) string {
	switch code := errorCode(err); {
	case strings.HasPrefix(code, "ExpiredToken"):
		return "sign in again, such as by `aws sso login`: these credentials have expired"
	case code == "InvalidClientTokenId", code == "UnrecognizedClientException", code == "InvalidAccessKeyId":
		return "check the access key, and that the account has switched the region on"
	case code == "SignatureDoesNotMatch":
		return "check the secret access key, and this machine's clock"
	case code == "" && errorStatus(err) == 0:
		return "set credentials as for the AWS CLI (`aws sts get-caller-identity` must work), check the region's name, and that this machine reaches AWS"
	}
	return "see what `aws sts get-caller-identity` says"
}
