package render

import (
	"regexp"
	"strings"

	"github.com/templater-dev/templater/internal/render/budget"
	"github.com/templater-dev/templater/internal/render/pattern"
	"github.com/templater-dev/templater/internal/render/syntax"
)

func init() {
	g := group{source: "sprig", rendered: syntax.Expands}
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
		matches := c.matches(e, s, clampInt(n))
		list := c.newList(len(matches))
		for _, m := range matches {
			if c.err == nil {
				list = append(list, s[m[0]:m[1]])
			}
		}
		return list
	})
	g.add(names("regexSplit", "mustRegexSplit"), 3, 3, "the parts of the text between matches", func(c *call) any {
		e, s, n := c.expression(), c.str(1), c.integer(2)
		if c.matches(e, s, clampInt(n)); c.err != nil {
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

// expression returns argument 0 compiled, or nil.
func (c *call) expression() *pattern.Pattern {
	e, err := c.x.patterns.Compile(c.str(0), &c.x.Meter)
	c.cannot(err)
	return e
}

// cannot makes the call fail with err, if there is one: as it is where the budget is used up.
func (c *call) cannot(err error) {
	switch {
	case budget.Ended(err):
		c.failed(err)
	case err != nil:
		c.fail("%s", err)
	}
}

// matching pays for matching s once, and reports whether to go on.
func (c *call) matching(e *pattern.Pattern, s string) bool {
	return e != nil && c.pay(e.Cost(s))
}

// matches returns where at most n matches in s are, or all if n is negative,
// and pays for finding them twice.
func (c *call) matches(e *pattern.Pattern, s string, n int) [][]int {
	if e == nil || c.err != nil {
		return nil
	}
	found, err := e.Matches(s, n, &c.x.Meter)
	c.failed(err)
	return found
}

type replacer func(re *regexp.Regexp, s, to string) string

// regexReplace pays for the result before it is made: each match yields the
// replacement, and each $ in it at most the match.
func (c *call) regexReplace(do replacer, groups bool) any {
	e, s, to := c.expression(), c.str(1), c.str(2)
	matches := len(c.matches(e, s, -1))
	size := len(s) + matches*len(to)
	if groups {
		size += len(s) * strings.Count(to, "$")
	}
	if !c.pay(size) {
		return nil
	}
	return do(e.Regexp, s, to)
}
