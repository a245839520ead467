package preflight

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/larder-registry/larder/internal/awserror"
)

// renewal is how long before its end a certificate should have been renewed: ACM begins 60 days
// before.
const renewal = 30 * 24 * time.Hour

type certificateAPI interface {
	DescribeCertificate(context.Context, *acm.DescribeCertificateInput, ...func(*acm.Options)) (*acm.DescribeCertificateOutput, error)
}

// certificate checks whether the API can use the certificate for the domain: it takes only
// certificates of its own region.
func (c check) certificate(ctx context.Context, api certificateAPI) {
	const name = "acm.certificate"
	if parsed, err := arn.Parse(c.CertificateArn); err == nil && parsed.Region != c.region {
		c.Fail(name, "ask ACM for one in "+c.region, "the certificate is in %s, and the API in %s", parsed.Region, c.region)
		return
	}
	out, err := api.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: &c.CertificateArn})
	switch {
	case awserror.Code(err) == "ResourceNotFoundException":
		c.Fail(name, "check the ARN: it must be of this account", "there is no certificate %s", c.CertificateArn)
	case err != nil:
		c.unchecked(name, "acm:DescribeCertificate", err)
	case out.Certificate == nil:
		c.Warn(name, "look at it in ACM", "not checked: the answer has no certificate")
	default:
		c.certificateDetail(name, out.Certificate)
	}
}

func (c check) certificateDetail(name string, detail *acmtypes.CertificateDetail) {
	names := append(detail.SubjectAlternativeNames, aws.ToString(detail.DomainName))
	switch {
	case detail.Status == acmtypes.CertificateStatusPendingValidation:
		c.Fail(name, "make the DNS records that ACM names for its validation, and wait until it is issued", "the certificate is not validated yet")
	case detail.Status != acmtypes.CertificateStatusIssued:
		c.Fail(name, "ask ACM for a new one", "the certificate is %s", detail.Status)
	case !covers(names, c.DomainName):
		c.Fail(name, "ask ACM for one for "+c.DomainName, "the certificate is for %s", strings.Join(detail.SubjectAlternativeNames, ", "))
	case detail.NotAfter != nil && c.now().Add(renewal).After(*detail.NotAfter):
		c.Warn(name, "see in ACM why it was not renewed; an imported one you must renew yourself", "the certificate ends on %s", detail.NotAfter.UTC().Format(time.DateOnly))
	default:
		c.OK(name, "issued for %s, in %s", c.DomainName, c.region)
	}
}

// covers says whether a certificate for some names is valid for a domain. A star is any one
// label.
func covers(names []string, domain string) bool {
	_, parent, _ := strings.Cut(domain, ".")
	for _, name := range names {
		if strings.EqualFold(name, domain) || strings.EqualFold(name, "*."+parent) {
			return true
		}
	}
	return false
}

type zoneAPI interface {
	GetHostedZone(context.Context, *route53.GetHostedZoneInput, ...func(*route53.Options)) (*route53.GetHostedZoneOutput, error)
}

// zone checks whether the domain's record can be made in the hosted zone.
func (c check) zone(ctx context.Context, api zoneAPI) {
	const name = "route53.zone"
	out, err := api.GetHostedZone(ctx, &route53.GetHostedZoneInput{Id: &c.HostedZoneID})
	switch {
	case awserror.Code(err) == "NoSuchHostedZone":
		c.Fail(name, "check the ID: `aws route53 list-hosted-zones` has those of this account", "there is no hosted zone %s", c.HostedZoneID)
		return
	case err != nil:
		c.unchecked(name, "route53:GetHostedZone", err)
		return
	case out.HostedZone == nil:
		c.Warn(name, "look at it in Route 53", "not checked: the answer has no zone")
		return
	}
	zone := strings.TrimSuffix(aws.ToString(out.HostedZone.Name), ".")
	switch {
	case out.HostedZone.Config != nil && out.HostedZone.Config.PrivateZone:
		c.Fail(name, "name the public zone", "%s is a private zone: nobody outside its networks would find the registry", zone)
	case c.DomainName != zone && !strings.HasSuffix(c.DomainName, "."+zone):
		c.Fail(name, "name the zone that "+c.DomainName+" is in", "it is the zone of %s, which cannot have %s", zone, c.DomainName)
	default:
		c.OK(name, "%s is in the zone of %s", c.DomainName, zone)
	}
}
