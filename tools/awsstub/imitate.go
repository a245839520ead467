package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// What AWS and its provider do beyond the schema, as far as infra/ depends on it.

// plan corrects the plan of a resource where the provider knows more than the schema.
func plan(kind string, prior, planned fields) {
	switch kind {
	case "aws_acm_certificate": // for which names there will be records is known, or nobody could have one for each
		planOptions(prior, planned)
	case "aws_lambda_function":
		for _, name := range []string{"filename", "source_code_hash", "s3_bucket", "s3_key"} {
			if prior != nil && !prior[name].Equal(planned[name]) {
				planned["code_sha256"] = tftypes.NewValue(tftypes.String, tftypes.UnknownValue)
			}
		}
	}
}

func planOptions(prior, planned fields) {
	if prior != nil || !planned["domain_name"].IsKnown() {
		return
	}
	options := planned["domain_validation_options"].Type().(tftypes.Set)
	option := options.ElementType.(tftypes.Object)
	values := map[string]tftypes.Value{}
	for name, of := range option.AttributeTypes {
		values[name] = tftypes.NewValue(of, tftypes.UnknownValue)
	}
	values["domain_name"] = planned["domain_name"]
	planned["domain_validation_options"] = tftypes.NewValue(options, []tftypes.Value{tftypes.NewValue(option, values)})
}

// apply does what the provider does to a resource, if that may fail. Without planned, the resource is deleted.
func (p *provider) apply(kind string, prior, planned fields) error {
	switch kind {
	case "aws_lambda_function":
		return upload(planned)
	case "aws_s3_bucket":
		if planned != nil {
			planned["id"] = planned["bucket"]
		}
	case "aws_s3_bucket_policy", "aws_s3_bucket_public_access_block", "aws_s3_bucket_ownership_controls":
		if planned == nil && kind == "aws_s3_bucket_policy" && denies(prior.text("policy"), "s3:DeleteBucketPolicy") {
			return errors.New("deleting S3 Bucket Policy: AccessDenied: with an explicit deny in a resource-based policy")
		}
		return p.buckets.change(prior, planned)
	case "aws_dynamodb_table":
		if planned == nil && prior.flag("deletion_protection_enabled") {
			return errors.New("deleting DynamoDB Table: ValidationException: Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first")
		}
	case "aws_kms_key":
		if planned == nil && prior.text("policy") != "" && !allows(prior.text("policy"), "kms:ScheduleKeyDeletion") {
			return errors.New("deleting KMS Key: AccessDeniedException: is not authorized to perform: kms:ScheduleKeyDeletion on resource")
		}
	}
	return nil
}

// upload reads a function's code from the function's path.
func upload(f fields) error {
	if f == nil || f["code_sha256"].IsKnown() || f.text("filename") == "" {
		return nil
	}
	code, err := os.ReadFile(f.text("filename"))
	if err != nil {
		return fmt.Errorf("reading ZIP file (%s): %w", f.text("filename"), err)
	}
	sum := sha256.Sum256(code)
	f["code_sha256"] = tftypes.NewValue(tftypes.String, base64.StdEncoding.EncodeToString(sum[:]))
	return nil
}

// changing are the buckets whose access rules are being changed. S3 refuses a second change meanwhile.
type changing struct {
	sync.Mutex
	now []string
}

func (c *changing) change(prior, planned fields) error {
	bucket := planned.text("bucket")
	if planned == nil {
		bucket = prior.text("bucket")
	}
	c.Lock()
	busy := slices.Contains(c.now, bucket)
	c.now = append(c.now, bucket)
	c.Unlock()
	defer func() {
		c.Lock()
		defer c.Unlock()
		i := slices.Index(c.now, bucket)
		c.now = slices.Delete(c.now, i, i+1)
	}()
	if busy {
		return errors.New("OperationAborted: A conflicting conditional operation is currently in progress against this resource. Please try again")
	}
	time.Sleep(100 * time.Millisecond)
	return nil
}

// denies says whether a policy denies an action to everybody.
func denies(policy, action string) bool {
	return slices.ContainsFunc(statements(policy), func(s statement) bool {
		return s.Effect == "Deny" && s.Principal == "*" && s.Condition == nil && slices.Contains(s.actions(), action)
	})
}

// allows says whether a policy allows an action to anybody.
func allows(policy, action string) bool {
	return slices.ContainsFunc(statements(policy), func(s statement) bool {
		return s.Effect == "Allow" && slices.Contains(s.actions(), action)
	})
}

type statement struct {
	Effect, Principal, Action, Condition any
}

func statements(policy string) []statement {
	var document struct{ Statement []statement }
	_ = json.Unmarshal([]byte(policy), &document) // what is no policy, allows and denies nothing
	return document.Statement
}

// actions are one text or a list of them.
func (s statement) actions() []string {
	if one, ok := s.Action.(string); ok {
		return []string{one}
	}
	var all []string
	list, _ := s.Action.([]any)
	for _, action := range list {
		text, _ := action.(string)
		all = append(all, text)
	}
	return all
}
