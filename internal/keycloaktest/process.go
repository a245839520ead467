package keycloaktest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"github.com/larder-registry/larder/internal/enginetest"
)

// startTimeout is how long Keycloak may take to start. On a quiet machine with
// two cores it takes fifteen seconds.
const startTimeout = 4 * time.Minute

// javaOptions bound the memory to some 400 MB, and limit the optimiser of the virtual machine,
// because the process is short. The others are those of Keycloak's own kc.sh.
var javaOptions = []string{
	"-Xmx192m", "-XX:MaxMetaspaceSize=192m", "-XX:ReservedCodeCacheSize=64m", "-XX:+ExitOnOutOfMemoryError",
	"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
	"--add-opens=java.base/java.util=ALL-UNNAMED",
	"--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
	"--add-opens=java.base/java.security=ALL-UNNAMED",
	"-Djava.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory",
	"-Djava.util.logging.manager=org.jboss.logmanager.LogManager",
	"-Dpicocli.disable.closures=true",
}

//go:embed pom.xml
var pom []byte

var program = enginetest.Engine{Folder: enginetest.Folder("keycloak"), Pom: pom, Missing: missing}

// realm is the company of the tests: its people, and the claims of their groups.
//
//go:embed realm.json
var realm json.RawMessage

// process is a Keycloak that starts or runs.
type process struct {
	server Server // without its URL, which it prints when it serves
	dir    string // for what it writes
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
}

// launch starts one on a port of its own choice.
func launch() (p *process, err error) {
	p = &process{ended: make(chan struct{})}
	if p.dir, err = os.MkdirTemp("", "keycloak"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(p.dir))
		}
	}()
	chain, key := filepath.Join(p.dir, "chain.pem"), filepath.Join(p.dir, "key.pem")
	if p.server.CA, err = writeCertificate(chain, key); err != nil {
		return nil, err
	}
	p.server.Secret, p.server.Log = rand.Text(), filepath.Join(p.dir, "log")
	log, err := os.Create(p.server.Log)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	p.cmd = exec.Command("java", append(javaOptions,
		"-Djava.io.tmpdir="+p.dir, "-Dkc.home.dir="+program.Folder, "-Djboss.server.config.dir="+filepath.Join(program.Folder, "conf"),
		"-Dquarkus.transaction-manager.object-store.directory="+p.dir,
		"-cp", filepath.Join(program.Folder, "lib", "quarkus-run.jar"), "io.quarkus.bootstrap.runner.QuarkusEntryPoint",
		"start", "--optimized", "--cache=local", "--hostname-strict=false", "--http-host=127.0.0.1", "--https-port=0",
		"--https-certificate-file="+chain, "--https-certificate-key-file="+key)...)
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "LC_ALL=C",
		"KC_BOOTSTRAP_ADMIN_CLIENT_ID=" + adminClient, "KC_BOOTSTRAP_ADMIN_CLIENT_SECRET=" + p.server.Secret,
	}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = log, log, enginetest.DiesWithParent()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // it only ends by being killed, or with its reason in the log
		close(p.ended)
	}()
	return p, nil
}

// stop ends it, and removes what it wrote.
func (p *process) stop() {
	_ = p.cmd.Process.Kill() // fails where it has ended
	<-p.ended
	_ = os.RemoveAll(p.dir)
}

// listens is the form of its log line when it serves.
var listens = regexp.MustCompile(`Listening on: (https://127\.0\.0\.1:\d+)`)

// await returns when it serves and has the realm.
func (p *process) await(ctx context.Context) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	server := p.server
	var err error
	if server.URL, err = p.awaitURL(ctx); err != nil {
		return nil, fmt.Errorf("start Keycloak, which needs Java 17 or newer: %w", err)
	}
	if err := server.admin(ctx, http.MethodPost, "realms", realm); err != nil {
		return nil, fmt.Errorf("import the realm into Keycloak: %w", err)
	}
	return &server, nil
}

// awaitURL waits until it serves, and returns its URL.
func (p *process) awaitURL(ctx context.Context) (string, error) {
	for {
		log, err := os.ReadFile(p.server.Log)
		if err != nil {
			return "", err
		}
		if found := listens.FindSubmatch(log); found != nil {
			return string(found[1]), nil
		}
		select {
		case <-p.ended:
			log, err := os.ReadFile(p.server.Log)
			return "", errors.Join(fmt.Errorf("it ended: %s", log), err)
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %s", ctx.Err(), log)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// writeCertificate writes a certificate for 127.0.0.1 and its key to files, and returns the CA to
// trust.
func writeCertificate(chain, key string) (ca []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Keycloak of the tests"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ca, errors.Join(
		os.WriteFile(chain, ca, 0o600),
		os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600),
	)
}
