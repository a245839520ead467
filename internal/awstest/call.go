package awstest

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Call is a permission that a request to AWS needs. A request may need several.
type Call struct {
	Function string            // whose role it was made with
	Action   string            // such as s3:GetObject
	Resource string            // an ARN
	Context  map[string]string // what policies' conditions look at, such as dynamodb:LeadingKeys

	// Request is the operation that the caller asked for, such as s3:HeadObject. It is empty
	// for the further permissions of a request, so that requests can be counted by it.
	Request string
}

// Service returns the service that was called, such as s3.
func (c Call) Service() string {
	service, _, _ := strings.Cut(c.Action, ":")
	return service
}

// name is the same for calls on which AWS decides in the same way.
func (c Call) name() string {
	parts := []string{c.Function, c.Action, c.Resource}
	for _, key := range slices.Sorted(maps.Keys(c.Context)) {
		parts = append(parts, key+"="+c.Context[key])
	}
	return strings.Join(parts, " ")
}

// calls is a list of calls that grows. It is safe for concurrent use.
type calls struct {
	mu   sync.Mutex
	made []Call
}

func (c *calls) add(more ...Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, more...)
}

// take returns the calls since the last take.
func (c *calls) take() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

// Requests counts the requests among calls by their operation.
func Requests(made []Call) map[string]int {
	counts := map[string]int{}
	for _, call := range made {
		if call.Request != "" {
			counts[call.Request]++
		}
	}
	return counts
}
