package funcs

import (
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/render/data"
)

// wrap breaks text at spaces into lines of at most as many characters as
// argument 0, and replaces these spaces by the separator. Longer words are
// broken only if within is set.
func wrap(c *data.Call, separator, s string, within bool) any {
	width := c.Integer(0)
	if width < 1 {
		return c.Fail("argument 1 must be at least 1")
	}
	if !c.Pay(8 * len(s)) {
		return nil
	}
	runes := []rune(s)
	width = min(width, int64(len(runes))+1)
	if !c.PayFor(len(runes)/int(width)+strings.Count(s, " ")+1, len(separator)) {
		return nil
	}
	var out strings.Builder
	for len(runes) > int(width) {
		if runes[0] == ' ' {
			runes = runes[1:]
			continue
		}
		end, next := lineEnd(runes, int(width), within)
		out.WriteString(string(runes[:end]))
		if end < len(runes) {
			out.WriteString(separator)
		}
		runes = runes[next:]
	}
	return out.String() + string(runes)
}

// lineEnd returns where the first line ends and the next one begins.
func lineEnd(runes []rune, width int, within bool) (end, next int) {
	for i := width; i > 0; i-- {
		if runes[i] == ' ' {
			return i, i + 1
		}
	}
	if within {
		return width, width
	}
	if i := slices.Index(runes[width:], ' '); i >= 0 {
		return width + i, width + i + 1
	}
	return len(runes), len(runes)
}
