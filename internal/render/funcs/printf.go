package funcs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/templater-dev/templater/internal/render/data"
	"github.com/templater-dev/templater/internal/render/token"
)

// longestField limits widths and precisions, so that a few characters cannot
// produce megabytes.
const longestField = 1000

// printf formats one directive at a time, so that a verb that does not fit its
// argument is an error instead of %! in the output.
func printf(c *data.Call) any {
	format := c.Str(0)
	var out strings.Builder
	used := 1
	for format != "" {
		before, rest, found := strings.Cut(format, "%")
		out.WriteString(before)
		if !found {
			break
		}
		var piece string
		piece, format, used = directive(c, rest, used)
		if !c.Pay(len(piece)) {
			return nil
		}
		out.WriteString(piece)
	}
	if used < len(c.Args) {
		return c.Fail("the format does not use argument %d", used+1)
	}
	return out.String()
}

// directive formats the directive after a %; used is the number of arguments
// that are already used.
func directive(c *data.Call, s string, used int) (piece, rest string, nowUsed int) {
	if strings.HasPrefix(s, "%") {
		return "%", s[1:], used
	}
	rest = strings.TrimLeft(s, "+- #0")
	rest = sized(c, rest)
	if after, precise := strings.CutPrefix(rest, "."); precise {
		rest = sized(c, after)
	}
	if rest == "" {
		c.Fail("the format ends within a directive")
		return "", "", used
	}
	spec := "%" + s[:len(s)-len(rest)]
	return verb(c, spec, rest[0], used), rest[1:], used + 1
}

// sized returns s without the width or precision that it begins with.
func sized(c *data.Call, s string) string {
	rest := strings.TrimLeft(s, "0123456789")
	digits := s[:len(s)-len(rest)]
	if n, _ := strconv.Atoi(digits); n > longestField { // Atoi returns the largest int on overflow
		c.Fail("a width in the format is greater than %d", longestField)
	}
	return rest
}

// verb formats argument i with the verb, or fails if the verb cannot format it.
func verb(c *data.Call, spec string, verb byte, i int) string {
	if strings.IndexByte("vsqdbocxXUeEfFgGt", verb) < 0 {
		c.Fail("the format has a directive that is not supported; " +
			"write %%[flags][width][.precision] and one of the letters v s q d x X f F g G e E t c b o U, without * and [1]")
		return ""
	}
	if i >= len(c.Args) {
		c.Fail("the format has more directives than there are arguments")
		return ""
	}
	v := c.Scalar(i)
	if data.IsCollection(v) {
		c.Fail("argument %d is %s; convert it with toJson", i+1, token.KindOf(v))
		return ""
	}
	v, fits := fitVerb(v, verb)
	if !fits {
		c.Fail("argument %d is %s, which %%%c cannot format", i+1, token.KindOf(v), verb)
		return ""
	}
	if s, _ := v.(string); !c.Pay(4 * len(s)) {
		return ""
	}
	if f, isFloat := v.(float64); isFloat && verb == 'v' && plainSpec(spec) {
		v, verb = token.FormatFloat(f), 's' // same output as printing the value
	}
	return fmt.Sprintf(spec+string(verb), v)
}

// plainSpec reports whether a directive has no flags or precision that affect numbers.
func plainSpec(spec string) bool {
	rest := strings.TrimLeft(spec, "%-")
	return !strings.ContainsAny(rest, ".+ #") && !strings.HasPrefix(rest, "0")
}

// fitVerb converts between int64 and whole float64 values as the verb requires,
// and reports whether the verb can format the value.
func fitVerb(v any, verb byte) (any, bool) {
	switch verb {
	case 'v':
		return v, true
	case 's', 'q':
		_, isText := v.(string)
		_, isInt := v.(int64)
		return v, isText || isInt && verb == 'q'
	case 't':
		_, isBool := v.(bool)
		return v, isBool
	case 'x', 'X':
		if _, isText := v.(string); isText {
			return v, true
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if n, isInt := v.(int64); isInt {
			return float64(n), true
		}
		_, isFloat := v.(float64)
		return v, isFloat
	}
	if f, isFloat := v.(float64); isFloat {
		if n, whole := data.WholeNumber(f); whole {
			return n, true
		}
	}
	_, isInt := v.(int64)
	return v, isInt
}
