package render

import (
	"regexp"
	"regexp/syntax"
)

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

// cost is that of looking for a match in s.
func (e *expression) cost(s string) int { return len(s) * (costOfByte + costOfTry*e.size) }
