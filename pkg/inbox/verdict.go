package inbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/larder-registry/larder/pkg/blob"
)

// Verdict is the error that ends an upload with an outcome that has reasons.
type Verdict struct {
	Status  Status
	Reasons []string // full sentences
}

func (v *Verdict) Error() string { return string(v.Status) + ": " + strings.Join(v.Reasons, "; ") }

// Reject returns the verdict that an upload breaks a rule.
func Reject(format string, args ...any) error { return newVerdict(Rejected, format, args...) }

// Wait returns the verdict that an upload waits for another file.
func Wait(format string, args ...any) error { return newVerdict(Pending, format, args...) }

// Ignore returns the verdict that an upload is not something to publish.
func Ignore(format string, args ...any) error { return newVerdict(Ignored, format, args...) }

func newVerdict(status Status, format string, args ...any) error {
	return &Verdict{status, []string{fmt.Sprintf(format, args...)}}
}

// Problems are the violations of several rules, in full sentences.
type Problems []string

// Add adds the violation of a rule, unless it is nil.
func (p *Problems) Add(err error) {
	if err != nil {
		*p = append(*p, err.Error())
	}
}

// Verdict rejects the upload if there are problems.
func (p Problems) Verdict() error {
	if len(p) == 0 {
		return nil
	}
	return &Verdict{Rejected, p}
}

// Conclude turns the error that ended an upload into the status and the reasons of its
// outcome. If the error is not about the upload, it is returned: the upload has to be tried
// again.
func Conclude(err error) (Status, []string, error) {
	var v *Verdict
	var tooLarge *blob.TooLargeError
	switch {
	case err == nil:
		return Published, nil, nil
	case errors.As(err, &v):
		return v.Status, v.Reasons, nil
	case errors.As(err, &tooLarge):
		return Rejected, []string{tooLarge.Error()}, nil
	default:
		return "", nil, err
	}
}
