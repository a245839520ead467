package control

import (
	"fmt"
	"regexp"
	"strings"
)

// Validate says what is wrong with a request, as far as no registry has to be
// asked for it.
func (d Distrust) Validate() error {
	_, err := d.parse()
	return err
}

var fingerprint = regexp.MustCompile(`^[0-9A-F]{40}$`)

// parse returns the fingerprint as the registry writes it.
func (d Distrust) parse() (string, error) {
	written := strings.ToUpper(strings.Join(strings.Fields(d.Fingerprint), ""))
	if written = strings.TrimPrefix(written, "0X"); !fingerprint.MatchString(written) {
		return "", fmt.Errorf("%q is not the fingerprint of a key: it has 40 hexadecimal digits, and gpg --fingerprint or larder keys prints it", d.Fingerprint)
	}
	return written, nil
}
