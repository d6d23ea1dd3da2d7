package typed

import (
	"strings"

	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
)

// verbs are what the letters of a format take.
var verbs = map[byte]schema.Kinds{
	'v': value.Scalar, 's': schema.String, 'q': schema.String | schema.Integer, 't': schema.Boolean, 'x': schema.String | value.Numeric, 'X': schema.String | value.Numeric,
	'e': value.Numeric, 'E': value.Numeric, 'f': value.Numeric, 'F': value.Numeric, 'g': value.Numeric, 'G': value.Numeric,
	'd': value.Numeric, 'b': value.Numeric, 'o': value.Numeric, 'c': value.Numeric, 'U': value.Numeric,
}

// printf compares the arguments with the format, where that is written out.
func printf(c *checker, call *invocation) *value.Value {
	format, written := call.text(0)
	if !written {
		return value.OfKinds(schema.String)
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
			return value.OfKinds(schema.String)
		}
		takes, known := verbs[rest[0]]
		switch {
		case !known:
			c.errorf(finding.Format, c.at(call.node(0)), "printf: the format has a directive that is not supported: %%%c; write one of the letters v s q d x X f F g G e E t c b o U", rest[0])
			return value.OfKinds(schema.String)
		case used >= len(call.args):
			c.errorf(finding.Format, c.at(call.node(0)), "printf: the format has more directives than there are arguments")
			return value.OfKinds(schema.String)
		case !call.args[used].May(takes):
			c.errorf(finding.Format, c.at(call.node(used)), "printf: argument %d%s is %s, which %%%c cannot format", used+1, call.words(used), (call.args[used].Kinds &^ schema.Null).Words(), rest[0])
		}
		format = rest[1:]
		used++
	}
	if used < len(call.args) {
		c.errorf(finding.Format, c.at(call.node(used)), "printf: the format does not use argument %d%s", used+1, strings.TrimSuffix(call.words(used), ","))
	}
	return value.OfKinds(schema.String)
}
