package preflight

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Params are the tool that deploys, and the parameters of the deployment that must fit the
// account, with their names in template.yaml.
type Params struct {
	With               string // "sam" or "terraform"
	BucketName         string // of the bucket, from which all other names are made
	DomainName         string // the registry's own host name. Empty: AWS makes one
	CertificateArn     string // of the certificate for DomainName
	HostedZoneID       string // of the zone that gets the record for DomainName. Empty: no record
	UploaderNamespace  string // for which a policy is made. Empty: no policy
	PublishConcurrency int    // uploads that are published at once
	BoundaryArn        string // of the policy that bounds every role. Empty: no boundary
	SubnetIDs          string // of functions in a VPC. Empty: no VPC
	MoreAlarms         bool   // and their metrics
}

// param is one parameter: its name in the template, its flag, and the form of its values.
type param struct {
	name, flag, standard, usage, pattern string
	apply                                func(*Params, string) error
}

func (p param) String() string { return fmt.Sprintf("--%s (%s)", p.flag, p.name) }

var params = []param{
	{"BucketName", "bucket-name", "", "`name` of the bucket; everything else is named after it", `^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$`,
		func(p *Params, v string) error { p.BucketName = v; return nil }},
	{"DomainName", "domain-name", "", "the registry's own `host` name, such as registry.example.com", `^$|^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`,
		func(p *Params, v string) error { p.DomainName = v; return nil }},
	{"CertificateArn", "certificate-arn", "", "`ARN` of the ACM certificate for it", `^$|^arn:aws[a-z-]*:acm:[a-z0-9-]+:[0-9]{12}:certificate/.+$`,
		func(p *Params, v string) error { p.CertificateArn = v; return nil }},
	{"HostedZoneId", "hosted-zone-id", "", "Route 53 hosted zone (`ID`) that gets its record", `^$|^Z[A-Z0-9]+$`,
		func(p *Params, v string) error { p.HostedZoneID = v; return nil }},
	{"UploaderNamespace", "uploader-namespace", "", "`namespace` for which a policy for uploaders is made", `^$|^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`,
		func(p *Params, v string) error { p.UploaderNamespace = v; return nil }},
	{"PublishConcurrency", "publish-concurrency", "4", "`number` of uploads that are published at once", `^[0-9]{1,4}$`,
		func(p *Params, v string) (err error) { p.PublishConcurrency, err = strconv.Atoi(v); return err }},
	{"PermissionsBoundaryArn", "permissions-boundary-arn", "", "`ARN` of the policy that bounds every role", `^$|^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/[a-zA-Z0-9+=,.@_/-]+$`,
		func(p *Params, v string) error { p.BoundaryArn = v; return nil }},
	{"SubnetIds", "subnet-ids", "", "`subnets` of functions in a VPC, with commas between them", `^$|^subnet-[0-9a-f]+(,subnet-[0-9a-f]+)*$`,
		func(p *Params, v string) error { p.SubnetIDs = v; return nil }},
	{"MoreAlarms", "more-alarms", "false", "`true` for more alarms", `^(true|false)$`,
		func(p *Params, v string) error { p.MoreAlarms = v == "true"; return nil }},
}

// AddFlags defines a flag for each parameter, and one for the tool that deploys.
func AddFlags(flags *pflag.FlagSet) {
	flags.String("with", "sam", "`tool` that deploys: sam, or terraform for Terraform and OpenTofu")
	for _, p := range params {
		flags.String(p.flag, p.standard, fmt.Sprintf("%s [%s]", p.usage, p.name))
	}
}

// Load reads the parameters from the flags that AddFlags defined. It refuses the values that the
// template would refuse.
func Load(flags *pflag.FlagSet) (Params, error) {
	with, err := flags.GetString("with")
	if err != nil {
		return Params{}, err
	}
	if _, known := tools[with]; !known {
		return Params{}, fmt.Errorf("--with is %q: it must be sam or terraform", with)
	}
	loaded := Params{With: with}
	for _, p := range params {
		value, err := flags.GetString(p.flag)
		if err != nil {
			return Params{}, err
		}
		if !regexp.MustCompile(p.pattern).MatchString(value) {
			return Params{}, fmt.Errorf("%s is %q: it must match %s", p, value, strings.TrimPrefix(p.pattern, "^$|"))
		}
		if err := p.apply(&loaded, value); err != nil {
			return Params{}, fmt.Errorf("%s is %q: %w", p, value, err)
		}
	}
	return loaded, loaded.check()
}

func (p Params) check() error {
	const minConcurrency, maxConcurrency = 2, 1000 // Lambda's for a queue
	switch {
	case p.DomainName != "" && p.CertificateArn == "":
		return errors.New("--domain-name needs --certificate-arn: a certificate for it, in the region of the deployment")
	case p.DomainName == "" && (p.CertificateArn != "" || p.HostedZoneID != ""):
		return errors.New("--certificate-arn and --hosted-zone-id are for --domain-name: give it, too")
	case p.PublishConcurrency < minConcurrency || p.PublishConcurrency > maxConcurrency:
		return fmt.Errorf("--publish-concurrency is %d: it must be from %d to %d", p.PublishConcurrency, minConcurrency, maxConcurrency)
	}
	return nil
}
