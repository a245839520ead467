package oldertest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/larder-registry/larder/pkg/access/admin"
	"github.com/larder-registry/larder/pkg/control"
	"github.com/larder-registry/larder/pkg/inbox"
)

// An Operator asks a registry that runs.
type Operator struct {
	Ask    func(control.Request) control.Answer
	Access func(admin.Request) admin.Answer
}

const knownName = "operators.json"

// KeepKnown keeps what operators are told of the registry.
func (f Folder) KeepKnown(t *testing.T, o Operator) {
	t.Helper()
	f.Write(t, knownName, o.known())
}

// CheckKnown holds that operators are told what they were told then, and that
// nothing is wrong.
func (f Folder) CheckKnown(t *testing.T, o Operator) {
	t.Helper()
	var want []string
	f.Read(t, knownName, &want)
	got := o.known()
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("it is not told any more: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("it was not told then: %s", line)
		}
	}
	o.CheckWhole(t)
}

// CheckWhole holds that a verification finds nothing wrong.
func (o Operator) CheckWhole(t *testing.T) {
	t.Helper()
	looked := 0
	o.Walk(func(p control.Part) control.Request { return control.Request{Verify: &control.Verify{Part: p}} }, func(w *control.Walked) {
		looked += w.Steps["records"]
		if len(w.Findings) > 0 {
			t.Errorf("the verification finds %+v", w.Findings)
		}
	})
	if looked == 0 {
		t.Error("the verification looked at nothing")
	}
}

// known is what operators are told, as lines that are sorted, and without times.
func (o Operator) known() (lines []string) {
	tell := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	o.Walk(func(p control.Part) control.Request { return control.Request{List: &control.List{Part: p}} }, func(w *control.Walked) {
		for _, v := range w.Versions {
			tell("%s %s %s is %s %q for %v from %q", v.Kind, v.Address, v.Version, v.Standing, v.Message, v.Platforms, v.Source)
		}
	})
	o.Walk(func(p control.Part) control.Request {
		return control.Request{Uploads: &control.Uploads{Part: p, Status: control.AnyStatus}}
	}, func(w *control.Walked) {
		for _, u := range w.Uploads {
			if u.Status == inbox.Pending { // it is decided again, and may be told in other words
				u.Reasons, u.Time = nil, time.Time{}
			}
			tell("upload %s is %s: %s, sha256 %s, by %s, %q, %q, at %v", u.Key, u.Status, u.Subject, u.SHA256, u.By, u.Reasons, u.Warnings, u.Time)
		}
	})
	for _, k := range o.keys() {
		tell("key %s %s is %s %s of %v and signed %v", k.KeyID, k.Fingerprint, k.Role, k.Trust, k.Namespaces, k.Versions)
	}
	for _, token := range o.Access(admin.Request{ListTokens: &admin.ListTokens{}}).Tokens.Tokens {
		tell("token %s %s of %s by %s: %s, made at %v, good until %v", token.ID, token.Name, token.Owner, token.Origin, token.Scopes, token.Created, token.Expires)
	}
	for _, rule := range o.Access(admin.Request{ListRules: &admin.ListRules{}}).Rules.Rules {
		tell("rule %s for %s trusts %s for %s with %v: %s, uploads to %v, for %s", rule.Name, rule.Use, rule.Issuer, rule.Audience, rule.Claims, rule.Scopes, rule.Uploads, rule.Lifetime)
	}
	slices.Sort(lines)
	return lines
}

// keys are all keys, with what each part of the walk knows of them.
func (o Operator) keys() map[string]control.Key {
	all := map[string]control.Key{}
	o.Walk(func(p control.Part) control.Request { return control.Request{Keys: &p} }, func(w *control.Walked) {
		for _, k := range w.Keys {
			if known, ok := all[k.KeyID]; ok {
				k.Role, k.Fingerprint, k.Trust = known.Role, cmp.Or(known.Fingerprint, k.Fingerprint), cmp.Or(k.Trust, known.Trust)
				k.Versions, k.Namespaces = append(known.Versions, k.Versions...), append(known.Namespaces, k.Namespaces...)
			}
			all[k.KeyID] = k
		}
	})
	return all
}

// Walk asks for all parts of a walk.
func (o Operator) Walk(request func(control.Part) control.Request, take func(*control.Walked)) {
	for after := ""; ; {
		walked := o.Ask(request(control.Part{After: after})).Walked
		take(walked)
		if after = walked.Next; after == "" {
			return
		}
	}
}
