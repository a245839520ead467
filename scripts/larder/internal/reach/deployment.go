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

	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/scripts/larder/internal/awsconfig"
)

// invocationTimeout is a little more than the function may run.
const invocationTimeout = 6 * time.Minute

// deployment is a registry on AWS, asked with the operator's own credentials.
type deployment struct {
	stack, region, function string
	lambda                  *lambda.Client
}

func newDeployment(ctx context.Context, stack, region string) (*deployment, error) {
	cfg, err := awsconfig.Load(ctx, region)
	if err != nil {
		return nil, err
	}
	return &deployment{stack, cfg.Region, stack + "-publish", lambda.NewFromConfig(cfg)}, nil
}

// event is what the function is invoked with.
type event struct {
	Control control.Request `json:"control"`
}

func (d *deployment) ask(ctx context.Context, request control.Request) (answer control.Answer, err error) {
	payload, err := json.Marshal(event{request})
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, invocationTimeout)
	defer cancel()
	out, err := d.lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &d.function, Payload: payload})
	if err != nil {
		return answer, d.explain(err)
	}
	if out.FunctionError != nil {
		return answer, d.failed(out.Payload)
	}
	if err := json.Unmarshal(out.Payload, &answer); err != nil {
		return answer, fmt.Errorf("the answer of the function %s is not readable: %w", d.function, err)
	}
	return answer, nil
}

// failed is the error of an invocation that ended without an answer.
func (d *deployment) failed(payload []byte) error {
	var said struct {
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(payload, &said) != nil || said.Message == "" {
		said.Message = "it does not say why"
	}
	return fmt.Errorf("the function %s failed: %s; its log group /aws/lambda/%[1]s may say more", d.function, said.Message)
}

// explain says in the operator's words why there was no invocation.
func (d *deployment) explain(err error) error {
	var missing *types.ResourceNotFoundException
	var busy *types.TooManyRequestsException
	var api smithy.APIError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("there is no deployment %q in region %s: --stack is the BucketName parameter that it was deployed with", d.stack, d.region)
	case errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException":
		return fmt.Errorf("these credentials may not ask the deployment %q in region %s: they need lambda:InvokeFunction on its function %s: %w",
			d.stack, d.region, d.function, err)
	case errors.As(err, &busy):
		err = fmt.Errorf("the function %s runs as often as it may, for there are many uploads or the account's limit is low: try again later: %w", d.function, err)
	default:
		err = fmt.Errorf("ask the deployment %q in region %s: %w", d.stack, d.region, err)
	}
	if retryable(err) {
		return &Lost{err}
	}
	return err
}

// retryable says whether the same request may well succeed later.
func retryable(err error) bool {
	return retry.IsErrorRetryables(retry.DefaultRetryables).IsErrorRetryable(err) == aws.TrueTernary
}
