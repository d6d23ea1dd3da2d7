package typed

import (
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/lint/shape"
	"github.com/templater-dev/templater/internal/lint/value"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// This file makes the checker the book of what is written out: see shape.Book.

// Warn notes that something is probably not as meant.
func (c *checker) Warn(code finding.Code, at shape.Place, replacement, format string, args ...any) {
	c.warnf(code, value.Place{Text: at.Text, Offset: at.Offset, Length: at.Length}, format, args...).Replacement = replacement
}

// Fail notes that rendering fails here if it gets here, and, if sure, that it gets here.
func (c *checker) Fail(sure bool, code finding.Code, at shape.Place, format string, args ...any) {
	c.maybe(sure, code, value.Place{Text: at.Text, Offset: at.Offset, Length: at.Length}, format, args...)
}

// Step counts the work.
func (c *checker) Step() bool { return c.step() }

// Ended reports whether steps or notes are used up.
func (c *checker) Ended() bool { return c.gaveUp }

// Nearest returns the known key that may have been meant, or "".
func (c *checker) Nearest(key string, known []string) string { return c.suggest.Nearest(key, known) }

// Within returns the path from a type down to the nearest one that has the key, or "".
func (c *checker) Within(t *schema.Type, key string) string {
	return c.suggest.Within(t, key)
}

// Printed returns what kinds of values an action of a template itself prints. What functions make of YAML and JSON is text that
// stands for something else, so that 0 is said of it.
func (c *checker) Printed(text *syntax.Text, offset int) (kinds schema.Kinds, prints bool) {
	v := c.printed[value.Spot{Text: text, Offset: offset}]
	if v == nil {
		return 0, false
	}
	if v.Kinds&schema.String != 0 && v.Origin == nil && v.Literal == nil {
		return 0, true
	}
	return v.Kinds, true
}

// Skeleton returns that of a template, which is made once.
func (c *checker) Skeleton(u *syntax.Unit) *outline.Skeleton { return c.skeletons.Of(u) }
