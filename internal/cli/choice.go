package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Choice is a flag whose value is one of a few words.
type Choice struct {
	value *string
	words []string
}

var _ pflag.Value = (*Choice)(nil)

// NewChoice returns a flag that writes to value, which holds the default.
func NewChoice(value *string, words ...string) *Choice { return &Choice{value, words} }

// AddOutput adds the flag -o, --output, of which the first word is the default.
func AddOutput(flags *pflag.FlagSet, value *string, words ...string) {
	*value = words[0]
	flags.VarP(NewChoice(value, words...), "output", "o", "how to print: "+List(words))
}

// String returns the value.
func (c *Choice) String() string { return *c.value }

// Set takes one of the words.
func (c *Choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		return fmt.Errorf("give %s", List(c.words))
	}
	*c.value = word
	return nil
}

// Type is what the help calls the value.
func (c *Choice) Type() string { return "string" }

// List is "a", "a or b", or "a, b or c".
func List(words []string) string {
	last := len(words) - 1
	if last <= 0 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
