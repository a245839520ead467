package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	"github.com/larder-registry/larder/internal/awsconfig"
	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
)

// invocationTimeout is a little more than the function may run.
const invocationTimeout = 6 * time.Minute

// deployment is a registry on AWS, asked with the operator's own credentials.
type deployment struct {
	stack, region string
	lambda        *lambda.Client
}

func newDeployment(ctx context.Context, stack, region string) (*deployment, error) {
	cfg, err := awsconfig.Load(ctx, region)
	if err != nil {
		return nil, err
	}
	return &deployment{stack, cfg.Region, lambda.NewFromConfig(cfg)}, nil
}

// event is the event for a function: one of its fields is set.
type event struct {
	Control *control.Request `json:"control,omitempty"` // for the function that publishes
	Access  *admin.Request   `json:"access,omitempty"`  // for the function that gives tokens
}

func (d *deployment) ask(ctx context.Context, request control.Request) (answer control.Answer, err error) {
	if request.Access == nil {
		err := d.invoke(ctx, d.stack+"-publish", event{Control: &request}, &answer)
		return answer, err
	}
	var of admin.Answer
	if err := d.invoke(ctx, d.stack+"-login", event{Access: request.Access}, &of); err != nil {
		return answer, err
	}
	return control.Answer{Error: of.Error, Access: &of}, nil
}

// invoke invokes a function and reads its answer.
func (d *deployment) invoke(ctx context.Context, function string, with event, answer any) error {
	payload, err := json.Marshal(with)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, invocationTimeout)
	defer cancel()
	out, err := d.lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &function, Payload: payload})
	if err != nil {
		return d.explain(function, err)
	}
	if out.FunctionError != nil {
		return unknown{failed(function, out.Payload)}
	}
	if err := json.Unmarshal(out.Payload, answer); err != nil {
		return unknown{fmt.Errorf("the answer of the function %s cannot be read: %w", function, err)}
	}
	return nil
}

// failed returns the error of an invocation that ended without an answer.
func failed(function string, payload []byte) error {
	var said struct {
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(payload, &said) != nil || said.Message == "" {
		said.Message = "it does not say why"
	}
	return fmt.Errorf("the function %s failed: %s; its log group /aws/lambda/%[1]s may say more", function, said.Message)
}

// explain says in words for operators why there was no invocation.
func (d *deployment) explain(function string, err error) error {
	var missing *types.ResourceNotFoundException
	var busy *types.TooManyRequestsException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("there is no deployment %q in region %s, or it is older than this larder and lacks the function %s: --stack is the BucketName parameter that it was deployed with",
			d.stack, d.region, function)
	case errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("these credentials may not ask the deployment %q in region %s: they need lambda:InvokeFunction on its function %s: %w",
			d.stack, d.region, function, err)
	case errors.As(err, &busy):
		err = fmt.Errorf("the function %s runs as often as it may, for there are many uploads or the account's limit is low: try again later: %w", function, err)
	default:
		err = unknown{fmt.Errorf("ask the deployment %q in region %s: %w", d.stack, d.region, err)}
	}
	if retryable(err) {
		return &Lost{err}
	}
	return err
}

// retryable says whether the same request may succeed later.
func retryable(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}
