package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/larder-registry/larder/internal/awserror"
)

type policyAPI interface {
	iam.SimulatePrincipalPolicyAPIClient
	GetRole(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error)
}

const lookYourself = "see that you may make all resources: else the deployment fails midway"

// permissions checks whether the caller may do what the deployment does, with the policies of
// the caller and the organisation. It does not check the policies of resources, and conditions
// that only a real request meets.
func (c check) permissions(ctx context.Context, api policyAPI, who caller) {
	const name = "iam.permissions"
	principal, err := c.principal(ctx, api, who)
	if err != nil {
		c.Warn(name, lookYourself, "not checked: %v", err)
		return
	}
	var refused []string
	checked := 0
	for _, need := range c.needs(who) {
		found, err := c.simulate(ctx, api, principal, need)
		if awserror.Code(err) == "NoSuchEntity" {
			c.Warn(name, lookYourself, "not checked: IAM does not know %s", principal)
			return
		}
		if err != nil {
			c.unchecked(name, "iam:SimulatePrincipalPolicy", err)
			return
		}
		if len(found) > 0 {
			refused = append(refused, strings.Join(found, ", ")+" on "+need.resources[0])
		}
		checked += len(need.actions)
	}
	with := tools[c.With].name
	if len(refused) > 0 {
		c.Fail(name, "allow these to the role or user that deploys with "+with, "not allowed: %s", strings.Join(refused, "; "))
		return
	}
	c.OK(name, "%d actions of a deployment with %s are allowed", checked, with)
}

// principal returns the IAM user or role with the policies of a caller.
func (c check) principal(ctx context.Context, api policyAPI, who caller) (string, error) {
	parsed, err := arn.Parse(who.arn)
	if err != nil {
		return "", err
	}
	kind, rest, _ := strings.Cut(parsed.Resource, "/")
	switch {
	case parsed.Service == "iam" && kind == "user":
		return who.arn, nil
	case parsed.Resource == "root":
		return "", errors.New("the root user has no policies")
	case kind != "assumed-role":
		return "", fmt.Errorf("IAM does not tell the rights of %s", parsed.Resource)
	}
	role, _, _ := strings.Cut(rest, "/")
	out, err := api.GetRole(ctx, &iam.GetRoleInput{RoleName: &role})
	if err == nil && out.Role != nil {
		return aws.ToString(out.Role.Arn), nil // with its path, which the session does not have
	}
	return fmt.Sprintf("arn:%s:iam::%s:role/%s", parsed.Partition, parsed.AccountID, role), nil
}

// context returns the condition keys of the deployment's requests: a policy may allow the
// caller only to make roles with this boundary.
func (c check) context() []iamtypes.ContextEntry {
	if c.BoundaryArn == "" {
		return nil
	}
	return []iamtypes.ContextEntry{{
		ContextKeyName: aws.String("iam:PermissionsBoundary"), ContextKeyType: iamtypes.ContextKeyTypeEnumString, ContextKeyValues: []string{c.BoundaryArn},
	}}
}

// simulate returns the actions that a principal may not do, each once.
func (c check) simulate(ctx context.Context, api policyAPI, principal string, need need) (refused []string, err error) {
	pages := iam.NewSimulatePrincipalPolicyPaginator(api, &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: &principal, ActionNames: need.actions, ResourceArns: need.resources, ContextEntries: c.context(),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, result := range page.EvaluationResults {
			if result.EvalDecision != iamtypes.PolicyEvaluationDecisionTypeAllowed {
				refused = append(refused, aws.ToString(result.EvalActionName))
			}
		}
	}
	slices.Sort(refused)
	return slices.Compact(refused), nil
}
