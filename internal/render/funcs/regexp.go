package funcs

import (
	"regexp"
	"strings"

	"github.com/templater-dev/templater/internal/render/data"
)

func regexMatch(c *data.Call) any {
	e, s := compiled(c), c.Str(1)
	return matching(c, e, s) && e.MatchString(s)
}

func regexFind(c *data.Call) any {
	e, s := compiled(c), c.Str(1)
	if !matching(c, e, s) {
		return nil
	}
	return e.FindString(s)
}

func regexFindAll(c *data.Call) any {
	e, s, n := compiled(c), c.Str(1), c.Integer(2)
	found := matches(c, e, s, clampInt(n))
	list := c.NewList(len(found))
	for _, m := range found {
		if c.Err == nil {
			list = append(list, s[m[0]:m[1]])
		}
	}
	return list
}

func regexSplit(c *data.Call) any {
	e, s, n := compiled(c), c.Str(1), c.Integer(2)
	if matches(c, e, s, clampInt(n)); c.Err != nil {
		return nil
	}
	return stringList(c, e.Split(s, clampInt(n)))
}

// compiled compiles argument 0. It returns nil if that fails.
func compiled(c *data.Call) *data.Pattern {
	e, err := c.Patterns.Compile(c.Str(0), &c.Meter)
	c.FailBecause(err)
	return e
}

// matching charges for matching s once, and reports whether to continue.
func matching(c *data.Call, e *data.Pattern, s string) bool {
	return e != nil && c.Pay(e.Cost(s))
}

// matches returns the positions of at most n matches in s, or of all if n is
// negative, and charges for finding them twice. It returns nil if the call has
// failed, which includes a nil expression.
func matches(c *data.Call, e *data.Pattern, s string, n int) [][]int {
	if c.Err != nil {
		return nil
	}
	found, err := e.Matches(s, n, &c.Meter)
	c.FailWith(err)
	return found
}

type replacer func(re *regexp.Regexp, s, to string) string

// regexReplace charges for the result in advance: each match adds the
// replacement, and each $ in it at most the match.
func regexReplace(c *data.Call, do replacer, groups bool) any {
	e, s, to := compiled(c), c.Str(1), c.Str(2)
	found := len(matches(c, e, s, -1))
	size := len(s) + found*len(to)
	if groups {
		size += len(s) * strings.Count(to, "$")
	}
	if !c.Pay(size) {
		return nil
	}
	return do(e.Regexp, s, to)
}
