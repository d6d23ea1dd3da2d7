package render

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

func init() {
	g := group{source: "sprig", rendered: Expands}
	g.add(names("regexMatch", "mustRegexMatch"), 2, 2, "whether the text, the second argument, matches the expression", func(c *call) any {
		e, s := c.expression(), c.str(1)
		return c.matching(e, s) && e.MatchString(s)
	})
	g.add(names("regexFind", "mustRegexFind"), 2, 2, "the first match in the text, or empty text", func(c *call) any {
		e, s := c.expression(), c.str(1)
		if !c.matching(e, s) {
			return nil
		}
		return e.FindString(s)
	})
	g.add(names("regexFindAll", "mustRegexFindAll"), 3, 3, "at most so many matches, or all if the number is negative", func(c *call) any {
		e, s, n := c.expression(), c.str(1), c.integer(2)
		if !c.matching(e, s) || !c.pay((len(s)+1)*costItem) {
			return nil
		}
		return c.stringList(e.FindAllString(s, clampInt(n)))
	})
	g.add(names("regexSplit", "mustRegexSplit"), 3, 3, "the parts of the text between matches", func(c *call) any {
		e, s, n := c.expression(), c.str(1), c.integer(2)
		if !c.matching(e, s) || !c.pay((len(s)+1)*costItem) {
			return nil
		}
		return c.stringList(e.Split(s, clampInt(n)))
	})
	g.add(names("regexReplaceAll", "mustRegexReplaceAll"), 3, 3, "the text, the second argument, with matches replaced by the third, in which $1 is a group",
		func(c *call) any { return c.regexReplace((*regexp.Regexp).ReplaceAllString, true) })
	g.add(names("regexReplaceAllLiteral", "mustRegexReplaceAllLiteral"), 3, 3, "the same without $1",
		func(c *call) any { return c.regexReplace((*regexp.Regexp).ReplaceAllLiteralString, false) })
	g.text1("regexQuoteMeta", 2, "an expression that matches the text itself", regexp.QuoteMeta)
}

// Go's regular expressions take time in proportion to the text and to the
// size of the compiled expression, and a short one such as (a{1000}){1000}
// compiles to something huge.
const (
	longestExpression  = 1000
	largestExpression  = 2000 // instructions
	costOfInstruction  = 100
	instructionsPerJob = 8 // instructions tried on a byte for a unit of work
)

// expression is a compiled regular expression of some number of instructions.
type expression struct {
	*regexp.Regexp
	size int
}

// expression returns argument 0 compiled, or nil.
func (c *call) expression() *expression {
	s := c.str(0)
	if c.err != nil {
		return nil
	}
	if e := c.x.expressions[s]; e != nil {
		return e
	}
	if len(s) > longestExpression {
		c.fail("the expression is longer than %d bytes", longestExpression)
		return nil
	}
	if !c.pay(len(s) * costOfInstruction) {
		return nil
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		c.fail("argument 1 is not a regular expression")
		return nil
	}
	size := instructions(tree)
	if size > largestExpression {
		c.fail("the expression is too large; use smaller repetition counts")
		return nil
	}
	if !c.pay(size * costOfInstruction) {
		return nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		c.fail("argument 1 is not a regular expression")
		return nil
	}
	if c.x.expressions == nil {
		c.x.expressions = map[string]*expression{}
	}
	e := &expression{re, size}
	c.x.expressions[s] = e
	return e
}

// instructions estimates the size of a compiled expression.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n = min(n+instructions(sub), largestExpression+1)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), largestExpression+1)
	}
	return n
}

// matching pays for matching s once, and reports whether to go on.
func (c *call) matching(e *expression, s string) bool {
	return e != nil && c.pay(len(s)*(e.size/instructionsPerJob+1))
}

type replacer func(re *regexp.Regexp, s, to string) string

// regexReplace pays for the result before it is made: each match yields the
// replacement, and each $ in it at most the match.
func (c *call) regexReplace(do replacer, groups bool) any {
	e, s, to := c.expression(), c.str(1), c.str(2)
	if !c.matching(e, s) || !c.pay((len(s)+1)*costItem) {
		return nil
	}
	matches := len(e.FindAllStringIndex(s, -1))
	size := len(s) + matches*len(to)
	if groups {
		size += len(s) * strings.Count(to, "$")
	}
	if !c.pay(size) {
		return nil
	}
	return do(e.Regexp, s, to)
}
