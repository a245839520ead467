package access

import (
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/larder-registry/larder/internal/logtest"
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
	signed := func(text string) string { return text + checksum(text) }
	bad := []string{signed(good[:33] + "A"), signed(good[:32]), signed("lardar_" + good[7:33]), signed("larder-" + good[7:33]), "", "larder_", "x", good + "A", " " + good, good + "\n", strings.ToLower(good), "Larder_" + good[7:], strings.Repeat("A", 1<<20), "ghp_" + good[4:]}
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
			t.Errorf("the error quotes the text: %v", err)
		}
	}
}

func TestAuthenticate(t *testing.T) {
	const good = "larder_MHWKFS3BTX7SQE536XUEBSTWWC5BELGNQ"
	longest := "Bearer" + strings.Repeat(" ", maxHeader-len("Bearer"+good)) + good
	for _, header := range []string{"Bearer " + good, "bearer " + good, "BEARER   " + good + " ", longest} {
		if id, ok := Authenticate([]string{header}).Token(); !ok || id.Short() != "fffc8891" {
			t.Errorf("%q is not taken", header)
		}
	}
	const none, many, another, foreign = "there is no token", "there is more than one Authorization header",
		"the Authorization header has no bearer token", "what was sent is not a token of this registry"
	for _, tt := range []struct {
		name    string
		headers []string
		why     string
	}{
		{"none", nil, none},
		{"empty", []string{""}, another},
		{"no secret", []string{"Bearer"}, foreign},
		{"empty secret", []string{"Bearer "}, foreign},
		{"short", []string{"bearer x"}, foreign},
		{"basic", []string{"Basic " + good}, another},
		{"bare", []string{good}, another},
		{"two", []string{"Bearer " + good, "Bearer " + good}, many},
		{"joined", []string{"Bearer " + good + ", Bearer " + good}, many},
		{"long", []string{"Bearer " + strings.Repeat(" ", maxHeader-len("Bearer "+good)) + " " + good}, another},
		{"tab", []string{"Bearer\t" + good}, another},
		{"with more", []string{"Bearer " + good + " x"}, foreign},
	} {
		if c := Authenticate(tt.headers); c.id != (ID{}) || c.IsAnyone() || c.Why() != tt.why {
			t.Errorf("%s: %+v; want %s", tt.name, c, tt.why)
		}
	}
	if _, ok := Anyone.Token(); ok || !Anyone.IsAnyone() || (Caller{}).IsAnyone() {
		t.Error("anyone may not read, or nobody may")
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
		"many scopes": func(token *Token) { token.Scopes = manyScopes(t, MaxScopes+1) }, "a name that is no text": func(t *Token) { t.Name = "a\xff" },
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
	most := token
	most.Name, most.Owner, most.Scopes = strings.Repeat("é", MaxName), strings.Repeat("a", MaxName), manyScopes(t, MaxScopes)
	if err := most.Validate(); err != nil {
		t.Errorf("with the most of everything: %v", err)
	}
	for _, text := range []string{`"` + id.String() + `0"`, `"` + id.Short() + `"`, `"x"`, `1`, `"` + id.String() + `00"`} {
		if err := json.Unmarshal([]byte(text), &id); err == nil {
			t.Errorf("%s is an ID", text)
		}
	}
}

// TestListedUntil: an expired token is listed for a while, and that of a pipeline's job
// for a shorter one.
func TestListedUntil(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		token Token
		want  time.Time
	}{
		{Token{Origin: ByOperator}, time.Time{}},
		{Token{Origin: ByExchange}, time.Time{}},
		{Token{Origin: ByOperator, Expires: at}, at.Add(7 * 24 * time.Hour)},
		{Token{Origin: ByLogin, Expires: at}, at.Add(7 * 24 * time.Hour)},
		{Token{Origin: ByExchange, Expires: at}, at.Add(24 * time.Hour)},
	} {
		if got := tt.token.ListedUntil(); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.token, got, tt.want)
		}
	}
}

// TestLookup: nothing else is read where the token does not want it.
func TestLookup(t *testing.T) {
	token := &Token{Name: "ci"}
	for _, tt := range []struct {
		name   string
		wanted func(*Token) bool
		found  *Token
		want   bool
	}{
		{"for whoever", nil, nil, true},
		{"for whoever has one", nil, token, true},
		{"wanted", func(t *Token) bool { return t == token }, token, true},
		{"not wanted", func(t *Token) bool { return t != token }, token, false},
		{"none", func(t *Token) bool { return t != nil }, nil, false},
	} {
		l := Lookup{Wanted: tt.wanted}
		if got := l.Found(tt.found); got != tt.want || l.Token != tt.found {
			t.Errorf("%s: %v, %+v", tt.name, got, l.Token)
		}
	}
}

// TestTickets: each ticket has its own secret, and is good for one purpose.
func TestTickets(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret, id := NewTicket("login")
		if len(secret) != 26 || seen[secret] || id != TicketID("login", secret) || id == TicketID("code", secret) {
			t.Fatalf("%q, %v", secret, id)
		}
		seen[secret] = true
	}
}

// TestAuditLine is the whole line of a decision.
func TestAuditLine(t *testing.T) {
	var out strings.Builder
	logger := logtest.Timeless(&out)
	LogTo(logger)(t.Context(), Decision{Who: `token "ci"`, What: "read *", Allowed: true, Why: "by rule acme"})
	LogTo(logger)(t.Context(), Decision{Who: "nobody", What: "read *", Why: "there is no token"})
	const want = `level=INFO msg=access who="token \"ci\"" what="read *" allowed=true why="by rule acme"
level=INFO msg=access who=nobody what="read *" allowed=false why="there is no token"
`
	if out.String() != want {
		t.Errorf("%s", &out)
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
