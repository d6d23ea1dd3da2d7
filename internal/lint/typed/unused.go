package typed

import (
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/internal/lint/types"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// unused reports unused helpers and values.
func (c *checker) unused() {
	if c.notes.Ended() || c.walk.anyName || len(c.notes.Partial) > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.units.Helpers)) {
		if c.notes.Ended() {
			return
		}
		def := c.units.Helpers[name]
		if !c.walk.called[def.Tree] {
			at := types.Place{Text: def.Text, Offset: int(def.Tree.Root.Pos)}
			if i := strings.LastIndex(def.Text.Content[:min(at.Offset, len(def.Text.Content))], name); i >= 0 {
				at.Offset, at.Length = i, len(name)
			}
			c.notes.Warn(finding.UnusedHelper, at, "unused define block %q: remove it, or include it", name)
		}
	}
	read, whole := c.valuesRead()
	if whole {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.roots.values)) {
		if c.notes.Full() {
			return
		}
		if !read[key] {
			c.notes.AddFinding(finding.Finding{
				Code: finding.UnusedValue, Severity: finding.Warning, Where: "spec.values." + syntax.OneLine(key),
				Message: "no template uses .values." + syntax.OneLine(key) + ": remove it, or use it",
			})
		}
	}
}

// valuesRead returns the keys that texts read as .values.KEY, and whether a text reads .values as a whole.
func (c *checker) valuesRead() (keys map[string]bool, whole bool) {
	const name = ".values"
	keys = map[string]bool{}
	for _, text := range c.units.Texts {
		rest := text.Content
		for {
			_, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			key, dotted := strings.CutPrefix(after, ".")
			end := strings.IndexFunc(key, func(r rune) bool { return !word(r) })
			if end < 0 {
				end = len(key)
			}
			if !dotted || end == 0 {
				return nil, true
			}
			keys[key[:end]] = true
			rest = after
		}
	}
	return keys, false
}

func word(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r >= 0x80
}
