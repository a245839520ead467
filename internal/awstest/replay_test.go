package awstest

import (
	"maps"
	"slices"
	"testing"

	"github.com/larder-registry/larder/internal/templatetest"
)

// deployment has one function with a policy to try.
func deployment() *templatetest.Deployment {
	return &templatetest.Deployment{
		Bucket: templatetest.Bucket{Name: "acme"},
		Functions: map[string]templatetest.Function{"read": {Policy: templatetest.Policy{
			{Effect: "Allow", Actions: []string{"s3:GetObject", "s3:PutObject"}, Resources: []string{"arn:aws:s3:::acme/a/*"}},
			{Effect: "Allow", Actions: []string{"dynamodb:Query"}, Resources: []string{"arn:table"}, Conditions: []templatetest.Condition{
				{Operator: "ForAllValues:StringLike", Key: "dynamodb:LeadingKeys", Values: []string{"M#*"}},
			}},
		}}},
	}
}

func leading(key string) map[string]string { return map[string]string{"dynamodb:LeadingKeys": key} }

func TestDenied(t *testing.T) {
	for _, c := range []struct {
		call    Call
		allowed bool
	}{
		{Call{Function: "read", Action: "s3:GetObject", Resource: "arn:aws:s3:::acme/a/k"}, true},
		{Call{Function: "read", Action: "s3:GetObject", Resource: "arn:aws:s3:::acme/b/k"}, false},
		{Call{Function: "read", Action: "s3:DeleteObject", Resource: "arn:aws:s3:::acme/a/k"}, false},
		{Call{Function: "write", Action: "s3:GetObject", Resource: "arn:aws:s3:::acme/a/k"}, false},
		{Call{Function: "read", Action: "dynamodb:Query", Resource: "arn:table", Context: leading("M#a")}, true},
		{Call{Function: "read", Action: "dynamodb:Query", Resource: "arn:table", Context: leading("A#a")}, false},
	} {
		denied := Denied(deployment(), []Call{c.call, c.call})
		if want := map[bool]int{true: 0, false: 1}[c.allowed]; len(denied) != want {
			t.Errorf("%+v: denied %v", c.call, denied)
		}
	}
}

func TestPermissions(t *testing.T) {
	got := Permissions(deployment(), []Call{
		{Function: "read", Action: "s3:GetObject", Resource: "arn:aws:s3:::acme/a/k"},
		{Function: "read", Action: "dynamodb:Query", Resource: "arn:table", Context: leading("A#a")},
	})
	want := map[Permission]bool{
		{"read", "s3:GetObject", "arn:aws:s3:::<name>/a/*"}: true,
		{"read", "s3:PutObject", "arn:aws:s3:::<name>/a/*"}: false,
		{"read", "dynamodb:Query", "arn:table"}:             false,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestCheck holds which requests to AWS an answer may take.
func TestCheck(t *testing.T) {
	requests := func(names ...string) []Call {
		var made []Call
		for _, name := range names {
			made = append(made, Call{Action: name, Request: name})
		}
		return made
	}
	for _, c := range []struct {
		function string
		status   int
		calls    []Call
		ok       bool
	}{
		{"versions", 200, requests("dynamodb:Query"), true},
		{"download", 204, requests("dynamodb:GetItem"), true},
		{"versions", 302, requests("dynamodb:Query"), true},
		{"versions", 302, nil, false},
		{"versions", 200, nil, false},
		{"versions", 200, requests("dynamodb:Query", "dynamodb:Query"), false},
		{"versions", 200, requests("dynamodb:Query", "s3:GetObject"), false},
		{"download", 200, requests("dynamodb:GetItem", "kms:Sign"), false},
		{"fetch", 200, requests("dynamodb:GetItem", "sqs:SendMessage", "sqs:SendMessage"), true},
		{"fetch", 200, requests("sqs:SendMessage"), false},
		{"fetch", 200, requests("dynamodb:GetItem", "s3:HeadObject"), false},
		{"download", 200, requests("dynamodb:GetItem", "sqs:SendMessage"), false},
		{"versions", 404, requests("dynamodb:Query"), true},
		{"versions", 404, nil, true},
		{"versions", 404, requests("dynamodb:Query", "dynamodb:GetItem"), false},
		{"versions", 400, requests("dynamodb:Query"), false},
		{"versions", 200, requests("dynamodb:BatchGetItem"), true},
		{"versions", 200, requests("dynamodb:BatchGetItem", "dynamodb:UpdateItem"), true},
		{"versions", 404, requests("dynamodb:BatchGetItem", "dynamodb:UpdateItem"), true},
		{"versions", 200, requests("dynamodb:BatchGetItem", "dynamodb:Query"), false},
		{"versions", 200, requests("dynamodb:BatchGetItem", "dynamodb:UpdateItem", "dynamodb:UpdateItem"), false},
		{"versions", 200, requests("dynamodb:Query", "dynamodb:UpdateItem"), false},
		{"versions", 401, requests("dynamodb:BatchGetItem"), true},
		{"versions", 401, requests("dynamodb:BatchGetItem", "dynamodb:UpdateItem"), false},
		{"login", 200, requests("dynamodb:DeleteItem", "ssm:GetParameter", "dynamodb:PutItem"), true},
		{"login", 200, requests("s3:GetObject"), false},
		{"catalog", 200, requests("dynamodb:GetItem", "dynamodb:Query", "s3:GetObject"), true},
		{"catalog", 200, requests("dynamodb:BatchGetItem", "dynamodb:UpdateItem"), true},
		{"catalog", 200, requests("dynamodb:BatchGetItem", "dynamodb:BatchGetItem", "dynamodb:BatchGetItem", "dynamodb:BatchGetItem"), true},
		{"catalog", 404, nil, true},
		{"catalog", 200, nil, false},
		{"catalog", 200, requests("s3:GetObject"), false},
		{"catalog", 200, requests("dynamodb:GetItem", "s3:HeadObject"), false},
		{"catalog", 200, requests("dynamodb:GetItem", "s3:GetObject", "s3:GetObject", "s3:GetObject"), false},
		{"catalog", 200, requests("dynamodb:GetItem", "dynamodb:UpdateItem"), false},
		{"catalog", 200, requests("dynamodb:GetItem", "dynamodb:PutItem"), false},
		{"catalog", 400, requests("dynamodb:GetItem"), false},
		{"catalog", 401, requests("dynamodb:BatchGetItem"), true},
		{"catalog", 401, requests("dynamodb:BatchGetItem", "s3:GetObject"), false},
		{"catalog", 503, requests("dynamodb:GetItem", "dynamodb:GetItem", "s3:GetObject", "s3:GetObject", "s3:GetObject"), true},
		{"versions", 405, nil, true},
		{"versions", 503, requests("dynamodb:Query", "dynamodb:Query"), true},
		{"discovery", 200, nil, true},
		{"discovery", 404, requests("dynamodb:Query"), false},
	} {
		if err := (Request{Function: c.function, Status: c.status, Calls: c.calls}).check(); (err == nil) != c.ok {
			t.Errorf("%s %d %v: %v", c.function, c.status, slices.Collect(maps.Keys(Requests(c.calls))), err)
		}
	}
}

// TestUninvited takes away what lets AWS call what is deployed.
func TestUninvited(t *testing.T) {
	for name, change := range map[string]func(d *templatetest.Deployment){
		"bucket":   func(d *templatetest.Deployment) { d.Queue.Policy = nil },
		"API":      func(d *templatetest.Deployment) { d.Routes["$default"] = "publish" },
		"schedule": func(d *templatetest.Deployment) { d.Reconcile.Policy = nil },
	} {
		d, err := templatetest.Load("../../template.yaml", templatetest.Values{
			Account: account, Region: region, Parameters: map[string]string{"BucketName": "acme"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if errs := uninvited(d); len(errs) > 0 {
			t.Errorf("as it is deployed: %v", errs)
		}
		change(d)
		if errs := uninvited(d); len(errs) != 1 {
			t.Errorf("%s: %v, want one error", name, errs)
		}
	}
}
