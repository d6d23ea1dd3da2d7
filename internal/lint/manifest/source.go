package manifest

import "strings"

// SourceLine returns a line of the file that the TemplateController is in, without its end, or "" if its document does not have that
// line.
func (c *Controller) SourceLine(fileLine int) string {
	i := fileLine - c.document.first
	if i < 0 || i >= len(c.document.lines) {
		return ""
	}
	return strings.TrimPrefix(c.document.lines[i], "\ufeff")
}
