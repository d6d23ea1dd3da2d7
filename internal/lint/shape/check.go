package shape

import (
	"text/template/parse"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/schema"
	"github.com/templater-dev/templater/internal/lint/outline"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// Place is where something stands in a template.
type Place struct {
	Text           *syntax.Text
	Offset, Length int // in bytes of what is parsed
}

// end returns the offset behind it.
func (p Place) end() int { return p.Offset + p.Length }

// Book is what the checks of a TemplateController share.
type Book interface {
	Findings
	// Nearest returns the known key that may have been meant, or "", Within the path from a type down to the nearest one that
	// has the key, or "".
	Nearest(key string, known []string) string
	Within(t *schema.Type, key string) string
	// Printed returns what kinds of values an action prints that begins at an offset: false if none begins there, and 0 if that is not known.
	Printed(text *syntax.Text, offset int) (kinds schema.Kinds, prints bool)
	// PrintsValue reports whether a node of a template prints values and none of the author's text, and whether that is certain
	// if no branch or loop is around it.
	PrintsValue(u *syntax.Unit, n parse.Node) (prints, certain bool)
	// Skeleton returns what the text of a template shows.
	Skeleton(u *syntax.Unit) *outline.Skeleton
}

// Findings bounds the work of the checks, and keeps what they find.
type Findings interface {
	// Warn keeps what is probably not as meant. replacement is what to write instead; "" means that nobody can tell.
	Warn(code finding.Code, at Place, replacement, format string, args ...any)
	// Fail keeps what rendering fails on: a warning unless it is sure that rendering gets there.
	Fail(sure bool, code finding.Code, at Place, format string, args ...any)
	// Step counts the work, and reports whether to go on. Ended reports that it is used up.
	Step() bool
	Ended() bool
}

// checker looks at what templates write out.
type checker struct {
	Book
	spec  *v1.TemplateControllerSpec
	known schema.Set
	units *syntax.Templates
	// finals are the names of the templates of entries of finalize.
	finals map[string]bool
}

// Check looks at what the templates of a spec write out. A nil set knows nothing.
func Check(spec *v1.TemplateControllerSpec, units *syntax.Templates, known schema.Set, book Book) {
	c := &checker{book, spec, known, units, finalTemplates(spec)}
	c.texts()
	c.plain()
}
