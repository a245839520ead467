package settings

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Load reads the settings from the flags that AddFlags defined and from an environment like
// [os.Environ], where an empty variable counts as not set. An unknown variable that begins
// with LARDER_ is an error: with a misspelt variable, a setting would keep its default,
// which may be less safe.
//
// Errors name the variable and the flag, and say what to do.
func Load(flags *pflag.FlagSet, environ []string) (Settings, error) {
	env := variables(environ)
	if err := checkKnown(env); err != nil {
		return Settings{}, err
	}
	s := Settings{AuthSet: env["LARDER_AUTH"] != "" || flags.Changed("auth")}
	for _, row := range table {
		value := env[row.env]
		if value == "" || flags.Changed(row.flag) {
			var err error
			if value, err = flags.GetString(row.flag); err != nil {
				return Settings{}, err
			}
		}
		if value == "" && row.standard == "" {
			continue
		}
		if value == "" {
			return Settings{}, fmt.Errorf("%s is empty: leave it out for %q", row, row.standard)
		}
		if err := row.apply(&s, value); err != nil {
			return Settings{}, fmt.Errorf("%s is %q: %w", row, value, err)
		}
	}
	if err := s.check(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// prefix is the beginning of the names of all variables for Larder.
const prefix = "LARDER_"

// variables returns the variables of an environment that are for Larder and not empty.
func variables(environ []string) map[string]string {
	env := map[string]string{}
	for _, variable := range environ {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, prefix) && value != "" {
			env[name] = value
		}
	}
	return env
}

// ofClients are the variables for clients of a registry, which the shell that starts a node
// may have, too: those of the env file, and of the examples for pipelines.
var ofClients = []string{"LARDER_BUCKET", "LARDER_ENV", "LARDER_HOST", "LARDER_ID_TOKEN", "LARDER_VERSION"}

// ofKubernetes are the names of the variables that Kubernetes gives to all
// containers beside a service whose name begins with "larder".
// https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables
var ofKubernetes = regexp.MustCompile(`^LARDER_([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// checkKnown refuses variables that are not settings, and not variables of clients or
// Kubernetes.
func checkKnown(env map[string]string) error {
	var unknown, known []string
	for _, row := range table {
		known = append(known, row.env)
	}
	for name := range env {
		if !slices.Contains(known, name) && !slices.Contains(ofClients, name) && !ofKubernetes.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	slices.Sort(known)
	return fmt.Errorf("%s: there is no such setting, is it misspelt? The settings are %s: unset all others",
		strings.Join(unknown, ", "), strings.Join(known, ", "))
}
