package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"text/template"

	"github.com/larder-registry/larder/internal/node/datadir"
	"github.com/larder-registry/larder/internal/node/envfile"
	"github.com/larder-registry/larder/internal/node/locals3"
	"github.com/larder-registry/larder/internal/node/settings"
	"github.com/larder-registry/larder/internal/shell"
)

// banner is what the node prints for people when it serves.
type banner struct {
	Host, Bucket, S3URL, Data string
	// Env is the file to source, quoted for a shell.
	Env string
	// TrustedBy is the file with which clients trust the bucket's certificate. Empty: the
	// operator's certificate is the bucket's, too, or both are the local CA's.
	TrustedBy string
	// Open says that everyone may read.
	Open bool
	// Token is the command that makes a token, without the token's name and scopes.
	Token string
	// Login is the URL at which people log in. Empty: they cannot.
	Login string
}

var bannerText = template.Must(template.New("banner").Parse(`
Larder serves {{.Host}}

  modules and providers   https://{{.Host}}
  bucket for uploads      s3://{{.Bucket}} at {{.S3URL}}, where clients download, too
{{- with .TrustedBy}}
                          with a certificate of the local CA, which clients must trust: {{.}}
{{- end}}
  data                    {{.Data}}
  who may read            {{if .Open}}everyone who can connect (LARDER_AUTH=open){{else}}who has a token (LARDER_AUTH=required){{end}}
{{- with .Login}}
  people log in at        {{.}}
{{- end}}

Next, in another terminal:

{{if not .Open}}  # a token, for a credentials "{{.Host}}" block of the CLI configuration
  {{.Token}} --name NAME --scope "read *"
{{end}}  . {{.Env}}
  aws s3 cp terraform-provider-widget_1.0.0_linux_amd64.zip s3://$LARDER_BUCKET/providers/acme/widget/
  terraform init        # source = "{{.Host}}/acme/widget"

`))

func writeBanner(out io.Writer, b banner) error {
	if err := bannerText.Execute(out, b); err != nil {
		return fmt.Errorf("say that the registry serves: %w", err)
	}
	return nil
}

// announce makes sure that the registry answers, and prints the banner.
func (n *node) announce(ctx context.Context, out io.Writer) error {
	if err := n.certs.probe(ctx, n.listener.Addr()); err != nil {
		return fmt.Errorf("the registry does not answer at its own address: %w", err)
	}
	if err := n.writeEnv(); err != nil {
		return err
	}
	return writeBanner(out, banner{
		Host:   n.host(),
		Bucket: locals3.Bucket,
		S3URL:  n.settings.S3Endpoint(n.bucket.Port),
		Data:   n.dir.Path(""),
		Env:    shell.Quote(n.dir.Path(datadir.Env)),
		Open:   n.settings.Auth == settings.AuthOpen,
		Token:  n.tokenCommand(),
		Login:  n.settings.Login.Issuer,

		TrustedBy: n.certs.bucketTrust(),
	})
}

// writeEnv writes the file to source, with the operator's current key.
func (n *node) writeEnv() error {
	n.env.Lock()
	defer n.env.Unlock()
	roots, err := envfile.SystemRoots(n.dir, os.Getenv)
	if err != nil {
		return err
	}
	key := n.bucket.Keys.Operator()
	return envfile.Write(n.dir, envfile.Values{
		S3URL:           n.settings.S3Endpoint(n.bucket.Port),
		Region:          locals3.Region,
		Bucket:          locals3.Bucket,
		AccessKeyID:     key.AccessKeyID,
		SecretAccessKey: key.SecretAccessKey,
		Host:            n.host(),
	}, roots)
}

// tokenCommand returns the command that makes a token, to paste into any shell.
func (n *node) tokenCommand() string {
	command := "larder"
	if _, err := exec.LookPath(command); err != nil {
		if self, err := os.Executable(); err == nil {
			command = shell.Quote(self)
		}
	}
	return command + " token create --data " + shell.Quote(n.dir.Path(""))
}
