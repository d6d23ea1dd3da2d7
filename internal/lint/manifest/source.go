package manifest

import "strings"

// Lines returns the lines of the document that the TemplateController is in, without their ends, and the number of the first one in the file.
func (c *Controller) Lines() (first int, lines []string) { return c.document.first, c.document.lines }

// SameDocument reports whether both TemplateControllers are items of one List.
func (c *Controller) SameDocument(other *Controller) bool { return c.document == other.document }

// SourceLine returns a line of the file that the TemplateController is in, without its end, or "" if its document does not have that
// line.
func (c *Controller) SourceLine(fileLine int) string {
	i := fileLine - c.document.first
	if i < 0 || i >= len(c.document.lines) {
		return ""
	}
	return strings.TrimPrefix(c.document.lines[i], "\ufeff")
}
