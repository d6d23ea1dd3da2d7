package render

import (
	"regexp"
	"strings"

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

// matching pays for matching s once, and reports whether to go on.
func (c *call) matching(e *expression, s string) bool {
	return e != nil && c.pay(e.cost(s))
}

// matches returns where at most n matches in s are, or all if n is negative,
// and pays for finding them twice.
func (c *call) matches(e *expression, s string, n int) [][]int {
	if !c.matching(e, s) || !c.pay(e.cost(s)) {
		return nil
	}
	if n < 0 {
		n = len(s) + 1
	}
	some, each := 16, 0 // matches to look for at first, and the time of each
	if e.far {
		some, each = 1, 2*e.cost(s)
	}
	for ; ; some *= 4 {
		some = min(some, n)
		if !c.payFor(some, each+costOfMatch) {
			return nil
		}
		if found := e.FindAllStringIndex(s, some); len(found) < some || some == n {
			return found
		}
	}
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
