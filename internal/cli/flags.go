package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
)

// FlagError formats errors about flag values uniformly: the flag, the value, and the allowed values. It is for
// cobra.Command.SetFlagErrorFunc. It does not change other errors.
func FlagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag, allowed := invalid.GetFlag(), invalid.Unwrap()
	switch flag.Value.Type() {
	case "bool":
		allowed = errors.New("use true or false")
	case "duration":
		allowed = errors.New("use a duration such as 90s or 10m")
	case "stringSlice":
		allowed = errors.New("use comma-separated values; quote values that contain commas or quotes")
	}
	return fmt.Errorf("--%s %q: %w", flag.Name, invalid.GetValue(), allowed)
}

// number is an integer flag.
type number struct {
	value    *int
	from, to int // to = math.MaxInt: no maximum
}

// AddNumber adds an integer flag with a minimum and a maximum; math.MaxInt = no maximum. value has the default.
func AddNumber(flags *pflag.FlagSet, value *int, name string, from, to int, usage string) {
	flags.Var(&number{value: value, from: from, to: to}, name, usage)
}

// String returns the value.
func (n *number) String() string { return strconv.Itoa(*n.value) }

// Set parses a number.
func (n *number) Set(text string) error {
	got, err := strconv.Atoi(text)
	switch {
	case err == nil && got >= n.from && got <= n.to:
		*n.value = got
		return nil
	case n.to == math.MaxInt:
		return fmt.Errorf("use a number of at least %d", n.from)
	}
	return fmt.Errorf("use a number from %d to %d", n.from, n.to)
}

// Type is what the help calls the value.
func (n *number) Type() string { return "int" }

// namespace is a flag for a namespace.
type namespace struct{ value *string }

// AddNamespace adds a flag for a namespace. value has the default.
func AddNamespace(flags *pflag.FlagSet, value *string, name, shorthand, usage string) {
	flags.VarP(namespace{value}, name, shorthand, usage)
}

// String returns the value.
func (n namespace) String() string { return *n.value }

// Set accepts a name or "", which scripts with an empty variable pass.
func (n namespace) Set(text string) error {
	if text != "" && len(validation.IsDNS1123Label(text)) > 0 {
		return fmt.Errorf("use the name of a namespace: at most %d lower-case letters, digits and -, and no - at either end", validation.DNS1123LabelMaxLength)
	}
	*n.value = text
	return nil
}

// Type is what the help calls the value.
func (n namespace) Type() string { return "string" }
