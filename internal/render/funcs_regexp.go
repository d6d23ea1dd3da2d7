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

// Go's regular expressions take time in proportion to the text and to the
// size of the compiled expression, and a short one such as (a{1000}){1000}
// compiles to something huge.
const (
	longestExpression = 1000
	largestExpression = 2000 // instructions
	costOfInstruction = 100
	costOfClass       = 14_000    // a class of Unicode, such as \pL
	costOfFolding     = 1_200_000 // a range that may be wide, in any case
	costOfByte        = 4         // a byte of the text,
	costOfTry         = 2         // and an instruction tried on it
	costOfMatch       = 160
)

// expression is a compiled regular expression of some number of instructions.
type expression struct {
	*regexp.Regexp
	size int
	far  bool // see looksFar
}

// expression returns argument 0 compiled, or nil.
func (c *call) expression() *expression {
	s := c.str(0)
	if e := c.x.expressions[s]; e != nil {
		return e
	}
	if len(s) > longestExpression {
		c.fail("the expression is longer than %d bytes", longestExpression)
		return nil
	}
	if !c.pay(len(s)*costOfInstruction + costOfClasses(s)) {
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
	e := &expression{re, size, looksFar(tree, false)}
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

var (
	unicodeClass = regexp.MustCompile(`\\[pP]`)
	anyCase      = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	wideRange    = regexp.MustCompile(`-(\\x|[^\x00-\x7f])`)
)

// costOfClasses is what the classes of characters in an expression cost to
// compile, besides their length: some stand for many ranges, and a range in
// any case is walked through character by character.
func costOfClasses(s string) int {
	cost := costOfClass * len(unicodeClass.FindAllStringIndex(s, -1))
	if anyCase.MatchString(s) {
		cost += costOfFolding * len(wideRange.FindAllStringIndex(s, -1))
	}
	return cost
}

// looksFar reports whether finding a match may take looking at much text
// beyond it, as for a(.*b)?, which matches only a where no b follows. Finding
// all matches then takes time in proportion to their number, too.
func looksFar(re *syntax.Regexp, within bool) bool {
	const far = 16
	switch re.Op {
	case syntax.OpAlternate, syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		within = true
	default:
	}
	for _, sub := range re.Sub {
		if within && longestMatch(sub) > far || looksFar(sub, within) {
			return true
		}
	}
	return false
}

// longestMatch returns the number of characters that an expression matches at
// most, or largestExpression if there are as many or more.
func longestMatch(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
	default:
	}
	for _, sub := range re.Sub {
		if re.Op == syntax.OpAlternate {
			n = max(n, longestMatch(sub))
		} else {
			n = min(n+longestMatch(sub), largestExpression)
		}
	}
	switch {
	case n > 0 && (re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Max < 0): // that of a repetition without end
		return largestExpression
	case re.Op == syntax.OpRepeat:
		return min(n*re.Max, largestExpression)
	}
	return n
}

// matching pays for matching s once, and reports whether to go on.
func (c *call) matching(e *expression, s string) bool {
	return e != nil && c.pay(e.cost(s))
}

// cost is that of looking for a match in s.
func (e *expression) cost(s string) int { return len(s) * (costOfByte + costOfTry*e.size) }

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
