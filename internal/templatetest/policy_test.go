package templatetest

import "testing"

func TestPolicyAllows(t *testing.T) {
	read := map[string]any{"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/registry/*"}
	with := func(statement map[string]any, name string, value any) map[string]any {
		changed := map[string]any{name: value}
		for n, v := range statement {
			if n != name {
				changed[n] = v
			}
		}
		return changed
	}
	when := func(operator, key string, values ...any) map[string]any {
		return with(read, "Condition", map[string]any{operator: map[string]any{key: values}})
	}
	deny := func(statement map[string]any) map[string]any { return with(statement, "Effect", "Deny") }
	const object = "arn:aws:s3:::b/registry/x"
	type row struct {
		name             string
		statements       []any
		action, resource string
		context          map[string]string
		want             bool
	}
	rows := []row{
		{"as written", []any{read}, "s3:GetObject", object, nil, true},
		{"an action in other letters", []any{read}, "s3:getobject", object, nil, true},
		{"another action", []any{read}, "s3:GetObjectVersion", object, nil, false},
		{"the beginning of an action", []any{read}, "s3:GetObj", object, nil, false},
		{"another resource", []any{read}, "s3:GetObject", "arn:aws:s3:::b/inbox/x", nil, false},
		{"a resource in other letters", []any{read}, "s3:GetObject", "arn:aws:s3:::b/Registry/x", nil, false},
		{"the folder itself", []any{read}, "s3:GetObject", "arn:aws:s3:::b/registry/", nil, true},
		{"below the folder", []any{read}, "s3:GetObject", "arn:aws:s3:::b/registry/a/b/c", nil, true},
		{"no statement", nil, "s3:GetObject", object, nil, false},
		{"a list of actions", []any{with(read, "Action", []any{"s3:PutObject", "s3:GetObject"})}, "s3:GetObject", object, nil, true},
		{"a wildcard action", []any{with(read, "Action", "s3:Get*")}, "s3:GetObjectVersion", object, nil, true},
		{"a question mark", []any{with(read, "Resource", "arn:aws:s3:::b/registry/?")}, "s3:GetObject", object, nil, true},
		{"a question mark for nothing", []any{with(read, "Resource", "arn:aws:s3:::b/registry/x?")}, "s3:GetObject", object, nil, false},
		{"a star in the middle", []any{with(read, "Resource", "arn:aws:s3:::b/*/x")}, "s3:GetObject", object, nil, true},
		{"a star that must give back", []any{with(read, "Resource", "*/x")}, "s3:GetObject", "arn:aws:s3:::b/x/y/x", nil, true},
		{"a denial after", []any{read, deny(read)}, "s3:GetObject", object, nil, false},
		{"a denial before", []any{deny(read), read}, "s3:GetObject", object, nil, false},
		{"a denial of something else", []any{read, deny(with(read, "Action", "s3:PutObject"))}, "s3:GetObject", object, nil, true},
		{"a denial under a condition", []any{read, deny(when("Bool", "aws:SecureTransport", "false"))}, "s3:GetObject", object, map[string]string{"aws:SecureTransport": "true"}, true},
		{"a denial whose condition holds", []any{read, deny(when("Bool", "aws:SecureTransport", "false"))}, "s3:GetObject", object, map[string]string{"aws:SecureTransport": "false"}, false},
		{"two conditions, one of which fails", []any{with(read, "Condition", map[string]any{
			"StringEquals": map[string]any{"a": "1", "b": "2"},
		})}, "s3:GetObject", object, map[string]string{"a": "1", "b": "3"}, false},
	}
	conditions := []struct {
		operator string
		pattern  string
		value    string // "-" for a missing key
		want     bool
	}{
		{"StringEquals", "a*", "a*", true},
		{"StringEquals", "a*", "ab", false},
		{"StringEquals", "a", "-", false},
		{"StringEqualsIfExists", "a", "-", true},
		{"StringNotEquals", "a", "b", true},
		{"StringNotEquals", "a", "a", false},
		{"StringNotEquals", "a", "-", true},
		{"StringNotEqualsIfExists", "a", "-", true},
		{"StringLike", "a*", "ab", true},
		{"StringLike", "a*", "ba", false},
		{"ForAllValues:StringLike", "P#*", "P#acme/widget", true},
		{"ForAllValues:StringLike", "P#*", "T#issuer", false},
		{"ForAllValues:StringLike", "P#*", "-", true},
		{"ArnEquals", "arn:aws:iam::1:role/x", "arn:aws:iam::1:role/x", true},
		{"ArnEquals", "arn:aws:iam::1:role/x", "arn:aws:iam::1:role/y", false},
		{"ArnNotEquals", "arn:aws:iam::1:role/x", "arn:aws:iam::1:role/x", false},
		{"ArnNotEquals", "arn:aws:iam::1:role/x", "arn:aws:iam::1:role/y", true},
		{"Bool", "true", "TRUE", true},
		{"Bool", "true", "-", false},
		{"Null", "true", "-", true},
		{"Null", "true", "x", false},
		{"Null", "false", "x", true},
		{"Null", "false", "-", false},
		{"NumericLessThan", "1.2", "1.1", true},
		{"NumericLessThan", "1.2", "1.2", false},
		{"NumericLessThan", "1.2", "1.3", false},
		{"NumericLessThan", "1.2", "-", false},
	}
	for _, c := range conditions {
		context := map[string]string{"key": c.value}
		if c.value == "-" {
			context = nil
		}
		name := c.operator + " " + c.pattern + " of " + c.value
		rows = append(rows, row{name, []any{when(c.operator, "key", c.pattern)}, "s3:GetObject", object, context, c.want})
	}
	for _, r := range rows {
		p, err := parsePolicy(map[string]any{"Version": "2012-10-17", "Statement": r.statements})
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		if got := p.Allows(r.action, r.resource, r.context); got != r.want {
			t.Errorf("%s: Allows = %t, want %t", r.name, got, r.want)
		}
	}
}

// TestPolicyRefused holds that what is not understood is not passed over.
func TestPolicyRefused(t *testing.T) {
	for name, document := range map[string]string{
		"no JSON":              `{`,
		"an old version":       `{"Version": "2008-10-17", "Statement": []}`,
		"an unknown operator":  `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B", "Resource": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}]}`,
		"any of several":       `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B", "Resource": "*", "Condition": {"ForAnyValue:StringLike": {"k": "v"}}}]}`,
		"an inverted action":   `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "NotAction": "a:B", "Resource": "*"}]}`,
		"an inverted resource": `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "a:B", "NotResource": "*"}]}`,
		"no effect":            `{"Version": "2012-10-17", "Statement": [{"Action": "a:B", "Resource": "*"}]}`,
	} {
		if p, err := parsePolicy(document); err == nil {
			t.Errorf("%s: read as %+v", name, p)
		}
	}
}
