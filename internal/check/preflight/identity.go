package preflight

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/larder-registry/larder/internal/awserror"
)

type identityAPI interface {
	GetCallerIdentity(context.Context, *sts.GetCallerIdentityInput, ...func(*sts.Options)) (*sts.GetCallerIdentityOutput, error)
}

// caller is the account and principal of the credentials.
type caller struct {
	arn, account, partition string
}

// identity checks whether region and credentials work. It needs no rights.
func (c check) identity(ctx context.Context, api identityAPI) (caller, bool) {
	const name = "aws.credentials"
	out, err := api.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		c.Fail(name, credentialsAdvice(err), "%v", err)
		return caller{}, false
	}
	parsed, err := arn.Parse(aws.ToString(out.Arn))
	if err != nil {
		c.Fail(name, "see which server AWS_ENDPOINT_URL names", "the answer names no caller: %v", err)
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

// samRegion checks whether SAM deploys to the region that is checked. SAM does not read
// AWS_REGION.
func (c check) samRegion(region, standard string) {
	const name = "sam.region"
	advice := "set AWS_DEFAULT_REGION=" + c.region + ", too, or deploy with `sam deploy --region " + c.region + "`"
	switch {
	case standard != "" && standard != c.region:
		c.Warn(name, advice, "this checks %s, but SAM deploys to %s, which is AWS_DEFAULT_REGION", c.region, standard)
	case standard == "" && region != "":
		c.Warn(name, advice, "SAM does not read AWS_REGION: it deploys to the region of the profile, if that has one")
	case standard == "":
		c.OK(name, "SAM deploys to the region of the profile, or to that of `sam deploy --region`")
	default:
		c.OK(name, "SAM deploys to %s, too", c.region)
	}
}

func credentialsAdvice(err error) string {
	switch code := awserror.Code(err); {
	case strings.HasPrefix(code, "ExpiredToken"):
		return "sign in again, for example with `aws sso login`: these credentials have expired"
	case code == "InvalidClientTokenId", code == "UnrecognizedClientException", code == "InvalidAccessKeyId":
		return "check the access key, and that the account has enabled the region"
	case code == "SignatureDoesNotMatch":
		return "check the secret access key, and this machine's clock"
	case code == "" && awserror.Status(err) == 0:
		return "set credentials as for the AWS CLI (`aws sts get-caller-identity` must work), check the region's name, and that this machine reaches AWS"
	}
	return "see what `aws sts get-caller-identity` says"
}
