package access

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	pattern := regexp.MustCompile(`^larder_[A-Z2-7]{33}$`)
	seen := map[string]bool{}
	for range 1000 {
		secret, id := NewToken()
		if !pattern.MatchString(secret) || seen[secret] {
			t.Fatalf("%s was made, and was before: %v", secret, seen[secret])
		}
		seen[secret] = true
		if got, err := ParseToken(secret); err != nil || got != id {
			t.Fatalf("%s: %v, %v", secret, got, err)
		}
		if strings.Contains(id.String(), secret) || len(id.Short()) != 8 {
			t.Fatalf("%s has the ID %s", secret, id)
		}
	}
}

// No letter of a token can be another one, or be missing.
func TestWhatIsNoToken(t *testing.T) {
	const good = "larder_MHWKFS3BTX7SQE536XUEBSTWWC5BELGNQ"
	id, err := ParseToken(good)
	if err != nil || id.String() != "fffc8891"+id.String()[8:] {
		t.Fatalf("%s, %v", id, err)
	}
	bad := []string{"", "larder_", "x", good + "A", " " + good, good + "\n", strings.ToLower(good), "Larder_" + good[7:], strings.Repeat("A", 1<<20), "ghp_" + good[4:]}
	for i := range good {
		bad = append(bad, good[:i]+good[i+1:], good[:i]+"7"+good[i+1:], good[:i]+"é"+good[i+1:])
	}
	for i := range len(good) - 1 {
		bad = append(bad, good[:i]+good[i+1:i+2]+good[i:i+1]+good[i+2:])
	}
	for _, text := range bad {
		if _, err := ParseToken(text); text != good && !errors.Is(err, ErrNoToken) {
			t.Errorf("%.60q is a token: %v", text, err)
		}
		if _, err := ParseToken(text); err != nil && text != "" && len(text) > 7 && strings.Contains(err.Error(), text) {
			t.Errorf("the error tells the text: %v", err)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	const good = "larder_MHWKFS3BTX7SQE536XUEBSTWWC5BELGNQ"
	for _, header := range []string{"Bearer " + good, "bearer " + good, "BEARER   " + good + " "} {
		if id, ok := Authenticate([]string{header}).Token(); !ok || id.Short() != "fffc8891" {
			t.Errorf("%q is not taken", header)
		}
	}
	for name, headers := range map[string][]string{
		"none": nil, "empty": {""}, "no secret": {"Bearer"}, "empty secret": {"Bearer "}, "short": {"bearer x"}, "basic": {"Basic " + good},
		"bare": {good}, "two": {"Bearer " + good, "Bearer " + good}, "joined": {"Bearer " + good + ", Bearer " + good},
		"long": {"Bearer " + strings.Repeat(" ", maxHeader) + good}, "tab": {"Bearer\t" + good}, "with more": {"Bearer " + good + " x"},
	} {
		c := Authenticate(headers)
		if _, ok := c.Token(); ok || c.IsAnyone() || strings.Contains(c.Why(), good) {
			t.Errorf("%s: %+v", name, c)
		}
	}
	if _, ok := Anyone.Token(); ok || !Anyone.IsAnyone() || (Caller{}).IsAnyone() {
		t.Error("anyone and nobody are not who they are")
	}
}

func TestTokenAsText(t *testing.T) {
	scopes, _ := ParseScopes([]string{"read *"})
	_, id := NewToken()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	token := Token{ID: id, Name: "ci", Owner: "alice", Origin: ByOperator, Scopes: scopes, Created: at, Expires: at.Add(time.Hour), Used: DayOf(at)}
	data, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	var again Token
	if err := json.Unmarshal(data, &again); err != nil || !reflect.DeepEqual(again, token) || token.Validate() != nil {
		t.Errorf("%s is read as %+v, %v", data, again, err)
	}
	if token.Expired(at.Add(time.Hour-time.Nanosecond)) || !token.Expired(at.Add(time.Hour)) || (Token{}).Expired(at) {
		t.Error("it does not expire when it should")
	}
	for name, spoil := range map[string]func(*Token){
		"no name": func(t *Token) { t.Name = " " }, "a name like another": func(t *Token) { t.Name = "ci " }, "a name to confuse": func(t *Token) { t.Name = "a\u202eb" }, "a long name": func(t *Token) { t.Name = strings.Repeat("a", MaxName+1) },
		"no owner": func(t *Token) { t.Owner = "" }, "two lines": func(t *Token) { t.Owner = "a\nb" }, "no scopes": func(t *Token) { t.Scopes = nil },
		"no ID": func(t *Token) { t.ID = ID{} }, "no time": func(t *Token) { t.Created = time.Time{} }, "expired": func(t *Token) { t.Expires = t.Created },
	} {
		spoiled := token
		spoil(&spoiled)
		if spoiled.Validate() == nil {
			t.Errorf("%s: it is valid", name)
		}
	}
	for _, text := range []string{`"` + id.Short() + `"`, `"x"`, `1`, `"` + id.String() + `00"`} {
		if err := json.Unmarshal([]byte(text), &id); err == nil {
			t.Errorf("%s is an ID", text)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add("larder_MHWKFS3BTX7SQE536XUEBSTWWC5BELGNQ")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseToken(text); err == nil && !regexp.MustCompile(`^larder_[A-Z2-7]{33}$`).MatchString(text) && len(text) != secretLength {
			t.Fatalf("%q is a token", text)
		}
		Authenticate([]string{text})
	})
}
