package typed

import (
	"strings"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/schema"
)

// verbs are what the letters of a format take.
var verbs = map[byte]schema.Kinds{
	'v': scalar, 's': str, 'q': str | integer, 't': boolean, 'x': str | number, 'X': str | number,
	'e': number, 'E': number, 'f': number, 'F': number, 'g': number, 'G': number,
	'd': number, 'b': number, 'o': number, 'c': number, 'U': number,
}

// printf compares the arguments with the format, where that is written out.
func printf(c *checker, call *invocation) *value {
	format, written := call.text(0)
	if !written {
		return ofKinds(str)
	}
	used := 1
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			format = rest[1:]
			continue
		}
		rest = strings.TrimLeft(rest, "+- #0123456789.")
		if rest == "" {
			return ofKinds(str)
		}
		takes, known := verbs[rest[0]]
		switch {
		case !known:
			c.errorf(finding.Format, c.at(call.node(0)), "printf: the format has a directive that is not supported: %%%c; write one of the letters v s q d x X f F g G e E t c b o U", rest[0])
			return ofKinds(str)
		case used >= len(call.args):
			c.errorf(finding.Format, c.at(call.node(0)), "printf: the format has more directives than there are arguments")
			return ofKinds(str)
		case !call.args[used].may(takes):
			c.errorf(finding.Format, c.at(call.node(used)), "printf: argument %d%s is %s, which %%%c cannot format", used+1, call.words(used), (call.args[used].kinds &^ null).Words(), rest[0])
		}
		format = rest[1:]
		used++
	}
	if used < len(call.args) {
		c.errorf(finding.Format, c.at(call.node(used)), "printf: the format does not use argument %d%s", used+1, strings.TrimSuffix(call.words(used), ","))
	}
	return ofKinds(str)
}
