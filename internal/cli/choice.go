package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// Choice is a flag with a fixed set of values.
type Choice struct {
	value *string
	words []string
}

var _ pflag.Value = (*Choice)(nil)

// NewChoice returns a flag that sets value, which has the default.
func NewChoice(value *string, words ...string) *Choice { return &Choice{value, words} }

// AddOutput adds the flag -o, --output. The first format is the default.
func AddOutput(flags *pflag.FlagSet, value *string, words ...string) {
	*value = words[0]
	flags.VarP(NewChoice(value, words...), "output", "o", "output format: "+problem.Or(words))
}

// String returns the value.
func (c *Choice) String() string { return *c.value }

// Set sets one of the values.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("use %s", problem.Or(c.words))
	}
	*c.value = word
	return nil
}

// Type is the name of the type in the help.
func (c *Choice) Type() string { return "string" }
