package data

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/templater-dev/templater/internal/render/budget"
)

// Limits of what may be compiled, and its cost in units of work.
const (
	longestExpression = 1000      // bytes
	largestExpression = 2000      // instructions
	costOfInstruction = 100       // to compile
	costOfClass       = 14_000    // a class of Unicode, such as \pL
	costOfFolding     = 1_200_000 // a range that may be wide, in any case
)

// Pattern is a compiled regular expression. Only one execution may use it. Compiling and matching are charged for before they are
// done: their time is proportional to the text and to the size of the compiled expression, and a short one such as (a{1000}){1000}
// compiles to a huge one.
type Pattern struct {
	*regexp.Regexp
	size int  // in instructions
	far  bool // see looksFar
}

// Patterns are the patterns that one execution has compiled, by their text. The zero value is empty.
type Patterns map[string]*Pattern

var errSyntax = errors.New("argument 1 is not a regular expression")

// Compile compiles a text, argument 1 of a function, unless it has been compiled before. The error is that of the budget, or describes
// what is wrong with the text without quoting it.
func (c *Patterns) Compile(text string, b *budget.Meter) (*Pattern, error) {
	if p := (*c)[text]; p != nil {
		return p, nil
	}
	if len(text) > longestExpression {
		return nil, fmt.Errorf("the expression is longer than %d bytes", longestExpression)
	}
	if err := b.Charge(len(text)*costOfInstruction + costOfClasses(text)); err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, errSyntax
	}
	size := instructions(tree)
	if size > largestExpression {
		return nil, errors.New("the expression is too large; use smaller repetition counts")
	}
	if err := b.Charge(size * costOfInstruction); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, errSyntax
	}
	if *c == nil {
		*c = Patterns{}
	}
	p := &Pattern{re, size, looksFar(tree, false)}
	(*c)[text] = p
	return p, nil
}

// instructions returns the estimated number of instructions of a compiled expression.
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

// looksFar reports whether finding a match may read much text beyond it, such as a(.*b)?, which matches only a if no b follows. Then
// the time to find all matches is also proportional to their number.
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

// longestMatch returns the maximum number of characters that an expression matches, at most largestExpression.
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

// Costs of matching, in units of work.
const (
	costOfByte  = 4 // a byte of the text,
	costOfTry   = 2 // and an instruction tried on it
	costOfMatch = 160
)

// Cost returns the cost of looking for a match in s, in units of work.
func (p *Pattern) Cost(s string) int { return len(s) * (costOfByte + costOfTry*p.size) }

// Matches returns the positions of at most n matches in s, or of all if n is negative. It charges for finding them twice, because the
// caller may have regexp find them again. The error is that of the budget.
func (p *Pattern) Matches(s string, n int, b *budget.Meter) ([][]int, error) {
	if err := b.ChargeFor(2, p.Cost(s)); err != nil {
		return nil, err
	}
	if n < 0 {
		n = len(s) + 1
	}
	some, each := 16, 0 // matches to look for at first, and the time of each
	if p.far {
		some, each = 1, 2*p.Cost(s)
	}
	for ; ; some *= 4 {
		some = min(some, n)
		if err := b.ChargeFor(some, each+costOfMatch); err != nil {
			return nil, err
		}
		if found := p.FindAllStringIndex(s, some); len(found) < some || some == n {
			return found, nil
		}
	}
}
