package serve

import (
	"fmt"
	"io"
	"text/template"
)

// banner is what a person learns when the node serves.
type banner struct {
	Host, Bucket, S3URL, Data string
	// Env is the file to source, quoted for a shell.
	Env string
	// TrustedBy is the file by which clients trust the bucket's certificate. Empty: the
	// operator's certificate is the bucket's, too, or the registry has none but the local
	// CA's.
	TrustedBy string
	// Open says that everyone may read.
	Open bool
	// Token is the command that makes a token, but for the token's name and scopes.
	Token string
	// Login is where people log in. Empty: nowhere.
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
