package e2e

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// browser is a real browser, without a window.
type browser struct {
	ctx   context.Context
	shots string // the folder of screenshots
}

// needBrowser skips a test if there is no browser, but not in CI.
func needBrowser(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath(chromium); err == nil {
		return
	}
	const missing = "there is no chromium to log in with: apt install chromium, or brew install chromium"
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip(missing)
}

const chromium = "chromium"

// openBrowser starts one, with a profile of its own, until the test ends. It trusts the keys of these servers, each
// host:port, and finds hostnames as the rules say, which are those of Chromium's flag host-resolver-rules.
func openBrowser(t testing.TB, rules string, servers ...string) *browser {
	t.Helper()
	needBrowser(t)
	keys := make([]string, 0, len(servers))
	for _, server := range servers {
		keys = append(keys, keyOf(t, server))
	}
	home, err := os.MkdirTemp(scratch, "browser") // a test's own folder is removed while Chromium may still write there
	if err != nil {
		t.Fatal(err)
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(chromium),
		chromedp.Headless, chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.NoInheritEnv, chromedp.Env(environment(map[string]string{"HOME": home, "TMPDIR": home})...),
		chromedp.UserDataDir(filepath.Join(home, "profile")),
		chromedp.Flag("ignore-certificate-errors-spki-list", strings.Join(keys, ",")),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true), // which is small in containers
		chromedp.Flag("disable-sync", true),
	}
	if rules != "" {
		options = append(options, chromedp.Flag("host-resolver-rules", rules))
	}
	bounded, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	allocator, cancel := chromedp.NewExecAllocator(bounded, options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	return &browser{ctx, t.TempDir()}
}

// keyOf is the sha256 of a server's public key, by which Chromium trusts the server.
func keyOf(t testing.TB, server string) string {
	t.Helper()
	connection, err := tls.Dial("tcp", server, &tls.Config{InsecureSkipVerify: true}) // it is asked who it is
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	sum := sha256.Sum256(connection.ConnectionState().PeerCertificates[0].RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// open opens an URL.
func (b *browser) open(t testing.TB, url string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
}

// write types a text into a field, and click clicks on what a CSS selector finds. Both wait until it is there.
func (b *browser) write(t testing.TB, selector, text string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.SendKeys(chromedp.CSS(selector), text)); err != nil {
		t.Fatalf("write into %s: %v", selector, err)
	}
}

func (b *browser) click(t testing.TB, selector string) {
	t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		t.Fatalf("click on %s: %v", selector, err)
	}
}

// sees waits until the page has all of the words, and returns its text.
func (b *browser) sees(t testing.TB, words ...string) string {
	t.Helper()
	var text string
	eventually(t, func() (err error) {
		if text, err = chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body"))); err != nil {
			return err
		}
		for _, word := range words {
			if !strings.Contains(text, word) {
				return fmt.Errorf("the page does not say %q:\n%s", word, text)
			}
		}
		return nil
	})
	return text
}

// style is a computed style of an element, such as its background-color.
func (b *browser) style(t testing.TB, selector, property string) string {
	t.Helper()
	const script = "getComputedStyle(document.querySelector(%q)).getPropertyValue(%q)"
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](fmt.Sprintf(script, selector, property)))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// picture keeps a picture of the page, to look into a test.
func (b *browser) picture(t testing.TB, name string) {
	t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(b.shots, name+".png"), string(picture))
}
