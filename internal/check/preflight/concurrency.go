package preflight

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

type accountAPI interface {
	GetAccountSettings(context.Context, *lambda.GetAccountSettingsInput, ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error)
}

// fewReaders is how many requests a registry should be able to answer at once: parallel
// pipelines install at the same time.
const fewReaders = 20

// concurrency checks whether enough functions may run at once. New accounts may run 10, and
// publishing takes some of them.
func (c check) concurrency(ctx context.Context, api accountAPI) {
	const name = "lambda.concurrency"
	out, err := api.GetAccountSettings(ctx, &lambda.GetAccountSettingsInput{})
	if err != nil {
		c.unchecked(name, "lambda:GetAccountSettings", err)
		return
	}
	if out.AccountLimit == nil || out.AccountLimit.UnreservedConcurrentExecutions == nil {
		c.Warn(name, "look at the quota \"Concurrent executions\" of Lambda", "not checked: the answer has no limit")
		return
	}
	free := int(aws.ToInt32(out.AccountLimit.UnreservedConcurrentExecutions))
	if readers := free - c.PublishConcurrency; readers < fewReaders {
		c.Warn(name, "ask for more in Service Quotas (Lambda, \"Concurrent executions\"; 1,000 are usual), or lower PublishConcurrency",
			"%d functions may run at once, and publishing takes %d of them: the others answer %d requests at once", free, min(c.PublishConcurrency, free), max(readers, 0))
		return
	}
	c.OK(name, "%d functions may run at once", free)
}
