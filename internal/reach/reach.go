// Package reach reaches a registry that runs, to ask it for what only it can do:
// a single node through the socket in its data folder, a deployment on AWS
// through its function that publishes, or for tokens the one that gives them.
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

// Options say which registry: that of a data folder, or a deployment.
type Options struct {
	Data   string // the data folder of a single node
	Stack  string // the BucketName of a deployment, which all of it is named after; empty for a single node
	Region string // of the deployment. Empty: that of the environment.
}

// Registry is a registry that can be asked.
type Registry struct {
	ask func(context.Context, control.Request) (control.Answer, error)
}

// Lost is an error on the way to the registry or back. What became of the
// request is not known, and the same one can be sent again.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }

// Unwrap returns what was lost by what.
func (l *Lost) Unwrap() error { return l.Err }

// ErrUnknown is in every error after which it is not known whether the registry
// did what it was asked for. Not in that of a registry that refused, or that was
// not reached.
var ErrUnknown = errors.New("it is not known whether the registry did it")

// unknown is an error that is an ErrUnknown, too.
type unknown struct{ error }

func (u unknown) Unwrap() []error { return []error{u.error, ErrUnknown} }

// Find finds out how a registry is reached. It sends no request.
func Find(ctx context.Context, o Options) (*Registry, error) {
	if o.Stack != "" {
		d, err := newDeployment(ctx, o.Stack, o.Region)
		if err != nil {
			return nil, err
		}
		return &Registry{d.ask}, nil
	}
	if o.Region != "" {
		return nil, errors.New("--region is of a deployment: give --stack, too")
	}
	return &Registry{node{o.Data}.ask}, nil
}

// Ask sends one request. The answer has what was asked for.
//
// Errors are the registry's own, a [*Lost], those that say that the registry is
// not there or may not be asked, and others that are an [ErrUnknown].
func (r *Registry) Ask(ctx context.Context, request control.Request) (control.Answer, error) {
	answer, err := r.ask(ctx, request)
	switch {
	case err != nil:
		return control.Answer{}, err
	case answer.Error != "":
		return control.Answer{}, errors.New(answer.Error)
	case !answers(answer, request):
		return control.Answer{}, unknown{errors.New("the registry gave an answer to something else: it may be of another version than this larder")}
	}
	return answer, nil
}

// answers says whether an answer has what a request asks for.
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
	case errors.Is(err, fs.ErrPermission): // to connect, so the registry has heard of nothing
		return control.Answer{}, &Lost{datadir.AsOwner(n.folder(), err)}
	case err != nil:
		return control.Answer{}, &Lost{unknown{err}}
	}
	return answer, nil
}

// folder is the data folder by its whole path: the default one is another in every folder.
func (n node) folder() string {
	if whole, err := filepath.Abs(n.data); err == nil {
		return whole
	}
	return n.data
}
