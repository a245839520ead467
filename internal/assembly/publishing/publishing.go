// Package publishing puts together the registry's publisher: what publishes uploads, and
// does what operators ask for.
package publishing

import (
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/publish"
)

// Publisher publishes uploads, and answers operators.
type Publisher struct {
	*publish.Publisher
	*control.Handler
}

// New is a publisher. What operators ask that is not for a publisher is for the others in
// operators to answer, whose Publisher is set here.
func New(c publish.Config, operators control.Config) Publisher {
	publisher := publish.New(c)
	operators.Publisher = publisher
	return Publisher{publisher, control.New(operators)}
}
