// Package parameter reads a secret from the Parameter Store of AWS Systems
// Manager.
package parameter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/larder-registry/larder/functions/internal/variables"
	"github.com/larder-registry/larder/internal/ttlcache"
)

const (
	// keptFor is how long a value is used before it is read again. So a new value
	// needs no deployment.
	keptFor = 5 * time.Minute

	// timeout is how long Systems Manager may take to answer, with all retries.
	timeout = 5 * time.Second
)

// Parameter is a parameter of type SecureString. It is safe for concurrent use.
type Parameter struct {
	client *ssm.Client
	name   string
	now    func() time.Time

	mu    sync.Mutex                      // held while the value is read, so that one of many callers reads it
	value *ttlcache.Cache[string, string] // by the name; it has one
}

// New is the parameter with a name. It sends no request.
func New(env variables.Values, name string) *Parameter {
	options := ssm.Options{Region: env.Region, Credentials: env.Credentials}
	if env.SSMEndpoint != "" {
		options.BaseEndpoint = &env.SSMEndpoint
	}
	return &Parameter{client: ssm.New(options), name: name, now: time.Now, value: ttlcache.New[string, string](1)}
}

// Value is the parameter's value, which may be some minutes old. An error names
// the parameter, and never has the value.
func (p *Parameter) Value(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value, ok := p.value.Get(p.name, p.now()); ok {
		return value, nil
	}
	value, err := p.read(ctx)
	if err != nil {
		return "", fmt.Errorf("read the parameter %s of Systems Manager: %w", p.name, err)
	}
	p.value.Put(p.name, value, p.now(), keptFor)
	return value, nil
}

func (p *Parameter) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := p.client.GetParameter(ctx, &ssm.GetParameterInput{Name: &p.name, WithDecryption: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	value := ""
	if out.Parameter != nil {
		value = strings.TrimRight(aws.ToString(out.Parameter.Value), "\r\n") // the end of the file that it was put from
	}
	if value == "" {
		return "", errors.New("it has no value")
	}
	return value, nil
}
