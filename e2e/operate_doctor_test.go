package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// doctor is what `larder doctor --json` found.
func (r *registry) doctor(t testing.TB, args ...string) (found doctorReport, content bool) {
	t.Helper()
	argv := append([]string{larder, "doctor", "--json", "https://" + r.host}, args...)
	out, failed := command{env: r.vars, argv: argv}.run()
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		t.Fatalf("%v\n%v", err, failed)
	}
	return found, failed == nil
}

type doctorReport struct {
	Subject string
	Checks  []struct{ Check, Result, Found, Advice string }
}

// checkDoctor wants the doctor to find nothing wrong on the whole way of installing a module and a provider.
func (r *registry) checkDoctor(t testing.TB, module, provider, platform string) {
	t.Helper()
	found, content := r.doctor(t, "--module", module, "--provider", provider, "--platform", platform)
	last := map[string]bool{}
	for _, f := range found.Checks {
		if f.Result != "ok" {
			t.Errorf("%s: %s: %s", f.Result, f.Check, f.Found)
		}
		last[f.Check] = true
	}
	for _, check := range []string{"discovery.anonymous", "paths.encoded", "access", "module.format", "provider.signature", "provider.head"} {
		if !last[check] {
			t.Errorf("the check %s was not made", check)
		}
	}
	if !content {
		t.Error("larder doctor failed")
	}
}

// The doctor finds nothing wrong with a good registry. If clients cannot install from a registry, it says what is
// wrong.
func TestDoctor(t *testing.T) {
	t.Parallel()
	r := sharedRegistry(t)
	r.publish(t, "modules/doctor/network/aws/1.2.0.tar.gz", tinyModule(t, "1.2.0"))
	r.publish(t, "providers/doctor/widget/terraform-provider-widget_1.0.0_linux_amd64.zip", providerZip(t, "widget", "1.0.0", "doctor"))
	r.checkDoctor(t, "doctor/network/aws", "doctor/widget@1.0.0", "linux_amd64")

	if found, content := r.doctor(t, "--module", "doctor/nothing/aws"); content || found.Checks[len(found.Checks)-1].Check != "module.versions" {
		t.Errorf("a module that is not there: %+v", found)
	}
	stranger := &registry{host: r.host, vars: map[string]string{}}
	found, content := stranger.doctor(t)
	if end := found.Checks[len(found.Checks)-1]; content || end.Check != "tls.chain" || !strings.Contains(end.Advice, "SSL_CERT_FILE") {
		t.Errorf("a certificate that is not trusted: %+v", end)
	}
}
