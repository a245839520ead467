package awstest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/larder-registry/larder/internal/templatetest"
)

// Denied returns the calls that a deployment's policies do not allow, each once.
func Denied(d *templatetest.Deployment, made []Call) []Call {
	var denied []Call
	seen := map[string]bool{}
	for _, c := range made {
		if name := c.name(); !seen[name] {
			seen[name] = true
			if !d.Allows(c.Function, c.Action, c.Resource, c.Context) {
				denied = append(denied, c)
			}
		}
	}
	return denied
}

// Permission is an action on a resource that a function's policy allows.
type Permission struct{ Function, Action, Resource string }

func (p Permission) String() string { return p.Function + " " + p.Action + " " + p.Resource }

// Permissions returns the permissions of a deployment's functions, and whether a call needed
// them. The name of the bucket, of which others are made, is written <name>.
func Permissions(d *templatetest.Deployment, made []Call) map[Permission]bool {
	used := map[Permission]bool{}
	for name, f := range d.Functions {
		for _, statement := range f.Policy {
			if statement.Effect != "Allow" {
				continue
			}
			for _, action := range statement.Actions {
				for _, resource := range statement.Resources {
					p := Permission{name, action, strings.ReplaceAll(resource, d.Bucket.Name, "<name>")}
					one := statement
					one.Actions, one.Resources = []string{action}, []string{resource}
					used[p] = used[p] || slices.ContainsFunc(made, func(c Call) bool {
						return c.Function == name && templatetest.Policy{one}.Allows(c.Action, c.Resource, c.Context)
					})
				}
			}
		}
	}
	return used
}

// Calls returns the calls of all functions so far.
func (s *Stack) Calls() []Call {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return slices.Clone(s.ledger.made)
}

// verify fails the test if template.yaml or infra/ does not allow a call, or if an answer of the
// registry needed other requests to AWS than it may.
func (s *Stack) verify(t testing.TB) {
	t.Helper()
	for _, err := range s.problems {
		t.Error(err)
	}
	s.verifyCalls(t)
	for _, r := range s.Requests() {
		if err := r.check(); err != nil {
			t.Error(err)
		}
	}
}

// verifyCalls fails the test if template.yaml or infra/ does not allow a call.
func (s *Stack) verifyCalls(t testing.TB) {
	t.Helper()
	for name, d := range map[string]*templatetest.Deployment{"template.yaml": s.Deployment, "infra/": s.twin} {
		for _, c := range Denied(d, s.Calls()) {
			t.Errorf("%s does not allow %s: %s on %s %v", name, c.Function, c.Action, c.Resource, c.Context)
		}
		for _, err := range uninvited(d) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// uninvited reports what a deployment does not allow the services of AWS, which the stack plays:
// to send the bucket's events, and to call the functions.
func uninvited(d *templatetest.Deployment) []error {
	var errs []error
	bucket := map[string]string{
		"aws:SourceArn": objectARN(d.Bucket.Name, ""), "aws:SourceAccount": account, "aws:SecureTransport": "true",
	}
	if !d.Queue.Policy.Allows("sqs:SendMessage", d.Queue.ARN, bucket) {
		errs = append(errs, errors.New("the bucket may not send to the queue"))
	}
	for route, function := range d.Routes {
		if !slices.ContainsFunc(d.Functions[function].Invokers, func(i templatetest.Invoker) bool {
			return i.Action == "lambda:InvokeFunction" && i.Principal == "apigateway.amazonaws.com"
		}) {
			errs = append(errs, fmt.Errorf("the API may not call %s for %s", function, route))
		}
	}
	publish := fmt.Sprintf("arn:aws:lambda:%s:%s:function:%s", region, account, d.Functions[publisher].Name)
	if !d.Reconcile.Policy.Allows("lambda:InvokeFunction", publish, nil) {
		errs = append(errs, errors.New("the schedule may not call publish"))
	}
	return errs
}

// check says whether an answer needed only the requests to AWS that it may: one read of the
// catalog for what exists, at most one for what does not, and none without the catalog. The
// caller's token is in the same read. A presigned URL needs no request. The first use of a token
// on a day is recorded, after a read with the token; and a mirror that pulls through also sends
// a message to the queue for what it lacks. The function for tokens asks only DynamoDB and the
// parameter store. The one that lists and describes may ask more: see [Request.checkCatalog].
func (r Request) check() error {
	switch r.Function {
	case login:
		return r.checkLogin()
	case cataloger:
		return r.checkCatalog()
	}
	reads, notes, others := 0, 0, 0
	for _, c := range r.Calls {
		switch c.Request {
		case "":
		case "dynamodb:GetItem", "dynamodb:Query", "dynamodb:BatchGetItem":
			reads++
		case "dynamodb:UpdateItem":
			notes++
		default:
			if r.Function != fetcher || c.Request != "sqs:SendMessage" {
				others++
			}
		}
	}
	atLeast, atMost := 0, 0
	switch {
	case r.Status >= http.StatusInternalServerError: // what failed was tried again
		return nil
	case r.Function == "discovery":
	case r.Status == http.StatusOK, r.Status == http.StatusNoContent, r.Status == http.StatusFound:
		atLeast, atMost = 1, 1
	case r.Status == http.StatusNotFound, r.Status == http.StatusUnauthorized:
		atMost = 1
	}
	with := Requests(r.Calls)["dynamodb:BatchGetItem"]
	if others > 0 || reads < atLeast || reads > atMost || notes > with || notes > 0 && r.Status == http.StatusUnauthorized {
		return r.tooMuch()
	}
	return nil
}

// checkCatalog says whether an answer of lists and details needed no more than it may: two reads
// of the catalog for details, and two of documents; for a list that of the head of the directory,
// and those of all its shards. Who has no good token costs one read at most.
func (r Request) checkCatalog() error {
	const mostReads, mostDocuments = 5, 2
	asked := Requests(r.Calls)
	reads := asked["dynamodb:GetItem"] + asked["dynamodb:Query"] + asked["dynamodb:BatchGetItem"]
	notes, documents, all := asked["dynamodb:UpdateItem"], asked["s3:GetObject"], 0
	for _, n := range asked {
		all += n
	}
	tooMuch := all > reads+notes+documents || reads > mostReads || documents > mostDocuments || notes > min(1, asked["dynamodb:BatchGetItem"])
	switch r.Status {
	case http.StatusOK, http.StatusNotModified:
		tooMuch = tooMuch || reads == 0
	case http.StatusUnauthorized:
		tooMuch = tooMuch || reads > 1 || notes+documents > 0
	case http.StatusBadRequest, http.StatusMethodNotAllowed:
		tooMuch = all > 0
	}
	if tooMuch && r.Status < http.StatusInternalServerError { // what failed was tried again
		return r.tooMuch()
	}
	return nil
}

func (r Request) checkLogin() error {
	for _, c := range r.Calls {
		if service := c.Service(); c.Request != "" && service != "dynamodb" && service != "ssm" {
			return r.tooMuch()
		}
	}
	return nil
}

func (r Request) tooMuch() error {
	return fmt.Errorf("%s %s, answered with %d by %s, took %v", r.Method, r.Path, r.Status, r.Function, Requests(r.Calls))
}
