package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// login is a `terraform login` or `tofu login` that waits for the person.
type login struct {
	process *exec.Cmd
	opened  string        // the file that gets the URL which a browser is to open
	out     *bytes.Buffer // to be read when it has ended
	ended   chan struct{}
	exit    error
}

// atHome makes a workspace that of a person: with a home folder, in which the client keeps its token, and with a
// browser, which writes the URL that it shall open into a file.
func (w workspace) atHome(t testing.TB) workspace {
	t.Helper()
	home := t.TempDir()
	w.env = maps.Clone(w.env)
	delete(w.env, "TF_IN_AUTOMATION")
	delete(w.env, "TF_CLI_CONFIG_FILE") // with which the clients do not read what they kept
	w.env["HOME"] = home
	w.env["PATH"] = home + string(os.PathListSeparator) + os.Getenv("PATH")
	if err := os.Mkdir(filepath.Join(home, ".terraform.d"), 0o700); err != nil { // without which Terraform keeps nothing
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".terraformrc"), "provider_installation {\n  direct {}\n}\n")
	for _, opener := range []string{"xdg-open", "open"} { // on Linux, on macOS
		file := filepath.Join(home, opener)
		writeFile(t, file, "#!/bin/sh\nprintf %s \"$1\" >\"$HOME/opened.part\" && mv \"$HOME/opened.part\" \"$HOME/opened\"\n")
		if err := os.Chmod(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// login starts to log in to a host. It ends with the test at the latest.
func (w workspace) login(t testing.TB, host string) *login {
	t.Helper()
	l := &login{opened: filepath.Join(w.env["HOME"], "opened"), out: new(bytes.Buffer), ended: make(chan struct{})}
	removeAll(t, l.opened)
	c := w.command("login", host)
	l.process = exec.Command(c.argv[0], c.argv[1:]...)
	l.process.Dir, l.process.Env, l.process.SysProcAttr = c.dir, environment(c.env), ownGroup()
	l.process.Stdin, l.process.Stdout, l.process.Stderr = strings.NewReader("yes\n"), l.out, l.out
	if err := l.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.exit = l.process.Wait()
		close(l.ended)
	}()
	t.Cleanup(l.kill)
	return l
}

// url is the URL that the client opens in the browser.
func (l *login) url(t testing.TB) string {
	t.Helper()
	var opened []byte
	eventually(t, func() (err error) {
		select {
		case <-l.ended:
			t.Fatalf("it ended before it opened a browser: %v\n%s", l.exit, l.out)
		default:
		}
		opened, err = os.ReadFile(l.opened)
		return err
	})
	return string(opened)
}

// succeeds waits for the login to succeed, and returns what the client said.
func (l *login) succeeds(t testing.TB) string {
	t.Helper()
	if !l.endsWithin(patience) {
		l.kill()
		t.Fatalf("it waits on:\n%s", l.out)
	}
	if l.exit != nil {
		t.Fatalf("%v\n%s", l.exit, l.out)
	}
	return l.out.String()
}

// waits wants the client to go on waiting: it does nothing else when a person says no.
func (l *login) waits(t testing.TB) {
	t.Helper()
	if l.endsWithin(0) {
		t.Errorf("it did not wait for the person: %v\n%s", l.exit, l.out)
	}
}

func (l *login) endsWithin(d time.Duration) bool {
	select {
	case <-l.ended:
		return true
	default:
	}
	select {
	case <-l.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// interrupt ends it as the registry's pages say: by Ctrl-C, or by Ctrl-\ for Terraform, which ignores Ctrl-C.
func (l *login) interrupt(t testing.TB) {
	t.Helper()
	for _, key := range []struct {
		signal syscall.Signal
		within time.Duration
	}{{syscall.SIGINT, time.Second}, {syscall.SIGQUIT, patience}} {
		if err := syscall.Kill(-l.process.Process.Pid, key.signal); err != nil {
			t.Fatal(err)
		}
		if l.endsWithin(key.within) {
			return
		}
	}
	t.Error("it cannot be ended as the page says")
}

// kill ends it.
func (l *login) kill() {
	_ = syscall.Kill(-l.process.Process.Pid, syscall.SIGKILL)
	<-l.ended
}

// kept is the token that a client keeps for a host, or empty.
func (w workspace) kept(t testing.TB, host string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.env["HOME"], ".terraform.d", "credentials.tfrc.json"))
	if os.IsNotExist(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Credentials map[string]struct{ Token string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	return file.Credentials[host].Token
}

// logIn opens the client's URL, and logs in as a person whom Keycloak knows.
func (b *browser) logIn(t testing.TB, url, email string) {
	t.Helper()
	b.open(t, url)
	b.write(t, "#username", email)
	b.write(t, "#password", password)
	b.click(t, "#kc-login")
}

// logOut has Keycloak ask for the password again.
func (b *browser) logOut(t testing.TB, c *company) {
	t.Helper()
	b.open(t, c.Issuer()+"/protocol/openid-connect/logout")
	b.click(t, "#kc-logout")
	b.sees(t, "You are logged out")
}

const (
	allow  = "button[value=allow]"
	cancel = "button[value=cancel]"
)

// What the tests of logging in need: a provider of identities of their own, and a module and a provider of acme to
// install.
func startForLogin(t testing.TB, hostname, secret string) (*registry, *company) {
	t.Helper()
	needBrowser(t)
	provider := newCompany(t, secret)
	r := startClosed(t, setUp{hostname: hostname, provider: provider})
	provider.register(t, r.host)
	publishAcme(t, r)
	r.operate(t, "trust", "add", "platform", "--login", "--claim", "groups=platform",
		"--scope", "read modules:acme/*", "--scope", "read providers:acme/widget", "--lifetime", "30d")
	return r, provider
}

// People log in with the real clients, a real browser and a real provider of identities, and install with their
// tokens. The registry has a name, so that it is another site to the browser, and a secret with the provider.
func TestLogin(t *testing.T) {
	t.Parallel()
	r, provider := startForLogin(t, ownHostname, "a secret of the registry's")
	b := provider.openBrowser(t, r)
	const login = `"login.v1":{"client":"terraform-cli","grant_types":["authz_code"],"authz":"/v1/login","token":"/v1/token","ports":[10000,10010]}`
	checkSays(t, string(r.askAs(t, "not-a-token", "/.well-known/terraform.json").body), login)
	forEachClient(t, func(t *testing.T, c client) {
		w := c.workspace(t, r, acmeConfig).atHome(t)
		w.refuses(t, "nauthorized", "init", "-input=false")

		waiting := w.login(t, r.host)
		b.logIn(t, waiting.url(t), ada)
		b.sees(t, "Allow access?", "access to "+r.host, ada, "read modules:acme/*", "read providers:acme/widget", "30 days", "Allow", "Cancel")
		b.picture(t, "consent")
		if property := "background-color"; b.style(t, allow, property) == b.style(t, cancel, property) {
			t.Error("the page keeps its own style out")
		}
		waiting.waits(t)
		b.click(t, allow)
		checkSays(t, waiting.succeeds(t), "Success!", r.host) // the page that Terraform has for the browser may get lost

		token := w.kept(t, r.host)
		if !tokenText.MatchString(token) {
			t.Fatalf("the client keeps %q", token)
		}
		w.run(t, "init", "-input=false")
		checkSays(t, r.operate(t, "token", "list"), "terraform login", ada, "login", "read modules:acme/*, read providers:acme/widget")
		w.logOut(t, r, token)
		b.logOut(t, provider)
	})
}

// logOut has the client forget its token. The token stays valid until it is revoked.
func (w workspace) logOut(t testing.TB, r *registry, token string) {
	t.Helper()
	w.run(t, "logout", r.host)
	if kept := w.kept(t, r.host); kept != "" {
		t.Error("it still keeps a token")
	}
	removeAll(t, filepath.Join(w.dir, ".terraform"))
	w.refuses(t, "nauthorized", "init", "-input=false")
	w.env[tokenVariable(r.host)] = token
	w.run(t, "init", "-input=false")
	removeAll(t, filepath.Join(w.dir, ".terraform"))
	r.operate(t, "token", "revoke", token)
	if door == deployed { // where it is forgotten within a minute: see TestTokenIsForgotten
		return
	}
	w.refuses(t, "nauthorized", "init", "-input=false")
}

// A person who says no, and a person whom no rule fits, see that, and how to end the client, which waits for ever.
// Afterwards both can log in as somebody else. The registry has an address, and no secret with the provider.
func TestLoginThatGivesNothing(t *testing.T) {
	t.Parallel()
	r, provider := startForLogin(t, "", "")
	b := provider.openBrowser(t, r)
	forEachClient(t, func(t *testing.T, c client) {
		w := c.workspace(t, r, acmeConfig).atHome(t)
		waiting := w.login(t, r.host)
		b.logIn(t, waiting.url(t), bob)
		b.sees(t, "You have no access here", bob, "Ask those who run "+r.host, "Ctrl-C", `Ctrl-\`)
		waiting.waits(t)
		waiting.interrupt(t)
		b.logOut(t, provider)

		waiting = w.login(t, r.host)
		b.logIn(t, waiting.url(t), ada)
		b.click(t, cancel)
		b.sees(t, "Nothing was given", "Ctrl-C", `Ctrl-\`)
		waiting.waits(t)
		waiting.interrupt(t)
		if kept := w.kept(t, r.host); kept != "" {
			t.Errorf("the client keeps %q", kept)
		}

		waiting = w.login(t, r.host)
		b.open(t, waiting.url(t)) // for the provider knows who it is
		b.click(t, allow)
		waiting.succeeds(t)
		w.run(t, "init", "-input=false")
		b.logOut(t, provider)
	})
}

// The provider changes its signing key between two logins, and the registry finds the new key by itself. People log
// in, and pipelines get tokens, also with identities that the old key signed. Only the registry asks the provider.
func TestProviderRotatesItsKeys(t *testing.T) {
	t.Parallel()
	r, provider := startForLogin(t, ownHostname, "a secret of the registry's")
	r.operate(t, "trust", "add", "pipeline", "--issuer", provider.Issuer(), "--audience", "https://"+r.host,
		"--claim", "azp=pipeline", "--scope", "read modules:acme/*")
	b := provider.openBrowser(t, r)
	w := clients[0].workspace(t, r, acmeConfig).atHome(t)
	waiting := w.login(t, r.host)
	b.logIn(t, waiting.url(t), ada)
	b.click(t, allow)
	waiting.succeeds(t)
	first, before := w.kept(t, r.host), provider.identity(t)

	if err := provider.RotateKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := provider.identity(t)
	if signedBy(after) == signedBy(before) {
		t.Fatal("the provider signs by the same key")
	}
	waiting = w.login(t, r.host)
	b.open(t, waiting.url(t))
	b.sees(t, "Allow access?", ada)
	b.click(t, allow)
	waiting.succeeds(t)
	if second := w.kept(t, r.host); second == first {
		t.Error("the client keeps the token of its first login")
	}
	w.run(t, "init", "-input=false")
	for _, identity := range []string{before, after} {
		if a := r.exchangeIdentity(t, identity); a.status != http.StatusOK {
			t.Errorf("the exchange is answered %d: %s", a.status, a.body)
		}
	}
}

// signedBy is the header of an identity token, which names the key of its signature.
func signedBy(token string) string {
	header, _, _ := strings.Cut(token, ".")
	return header
}

// openBrowser starts a browser for a registry and its provider.
func (c *company) openBrowser(t testing.TB, r *registry) *browser {
	t.Helper()
	return openBrowser(t, r.resolver(), r.listen, strings.TrimPrefix(c.URL, "https://"))
}

// So the browser finds the registry's name at the address where it really listens.
func (r *registry) resolver() string {
	if r.host == r.listen {
		return ""
	}
	return fmt.Sprintf("MAP %s:443 %s", r.host, r.listen)
}
