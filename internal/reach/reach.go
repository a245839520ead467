// Package reach sends requests of operators to a registry that runs: to a single node by the
// socket in its data folder, to a deployment on AWS by its function that publishes, or for
// tokens by the function that gives tokens.
package reach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/socket"
	"github.com/larder-registry/larder/pkg/control"
)

// Options name a registry: the data folder of a single node, or a deployment.
type Options struct {
	Data   string // the data folder of a single node
	Stack  string // the BucketName of a deployment; empty for a single node
	Region string // of the deployment. Empty: that of the environment.
}

// Registry is a registry that can be asked.
type Registry struct {
	ask func(context.Context, control.Request) (control.Answer, error)
}

// Lost is an error on the way to the registry or back. The registry may have done the request
// or not, and the same request can be sent again.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }

// Unwrap returns Err.
func (l *Lost) Unwrap() error { return l.Err }

// ErrUnknown is in every error after which it is not known whether the registry did the
// request: not if the registry refused it, or was not reached.
var ErrUnknown = errors.New("it is not known whether the registry did it")

// unknown adds ErrUnknown to an error.
type unknown struct{ error }

func (u unknown) Unwrap() []error { return []error{u.error, ErrUnknown} }

// Find finds a registry. It sends no request.
func Find(ctx context.Context, o Options) (*Registry, error) {
	if o.Stack != "" {
		d, err := newDeployment(ctx, o.Stack, o.Region)
		if err != nil {
			return nil, err
		}
		return &Registry{d.ask}, nil
	}
	if o.Region != "" {
		return nil, errors.New("--region is for a deployment: give --stack, too")
	}
	return &Registry{node{o.Data}.ask}, nil
}

// Ask sends one request. The answer always has the field of the request.
//
// Errors are the registry's own, a [*Lost], errors of a registry that is not there or may not
// be asked, and others with [ErrUnknown].
func (r *Registry) Ask(ctx context.Context, request control.Request) (control.Answer, error) {
	answer, err := r.ask(ctx, request)
	switch {
	case err != nil:
		return control.Answer{}, err
	case answer.Error != "":
		return control.Answer{}, errors.New(answer.Error)
	case !answers(answer, request):
		return control.Answer{}, unknown{errors.New("the registry answered another request: it may be of another version than this larder")}
	}
	return answer, nil
}

// answers says whether an answer has the field of a request.
func answers(a control.Answer, r control.Request) bool {
	switch {
	case r.Standing != nil:
		return a.Standing != nil
	case r.Rotate != nil:
		return a.Rotated != nil
	case r.Distrust != nil:
		return a.Distrusted != nil
	case r.Access != nil:
		return a.Access != nil && a.Access.Answers(*r.Access)
	case r.RotateAccess != nil:
		return a.AccessRotated != nil
	case r.CreateUploader != nil:
		return a.UploaderCreated != nil
	case r.ListUploaders != nil:
		return a.Uploaders != nil
	case r.RevokeUploader != nil:
		return a.UploaderRevoked != nil
	default:
		return a.Walked != nil
	}
}

// node is the single node that serves from a data folder.
type node struct{ data string }

func (n node) ask(ctx context.Context, request control.Request) (control.Answer, error) {
	answer, err := socket.Ask(ctx, filepath.Join(n.data, datadir.Socket), request)
	switch {
	case errors.Is(err, socket.ErrNobody):
		return control.Answer{}, &Lost{fmt.Errorf("no larder serves from %s: start it, or name another folder with --data, or a deployment with --stack", n.folder())}
	case errors.Is(err, fs.ErrPermission): // to connect, so the registry got no request
		return control.Answer{}, &Lost{datadir.AsOwner(n.folder(), err)}
	case err != nil:
		return control.Answer{}, &Lost{unknown{err}}
	}
	return answer, nil
}

// folder returns the absolute path of the data folder: the default is relative.
func (n node) folder() string {
	if whole, err := filepath.Abs(n.data); err == nil {
		return whole
	}
	return n.data
}
