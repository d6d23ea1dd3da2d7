package manifest

import (
	"regexp"
	"strconv"
)

// inTemplate matches the beginning of messages about a place in a template.
var inTemplate = regexp.MustCompile(`^((?:children|related)\[[^]]+\](?:\.[a-zA-Z]+)?|status|helpers)(?::(\d+))?(?::(\d+))?: `)

// Located returns a message about the TemplateController with its place in the file: that in the template which the message begins with, as
// in "children[pod]:3:7: …", or else where the TemplateController begins.
func (c *Controller) Located(message string) *Error {
	e := &Error{File: c.File, Line: c.Line, Message: message}
	if m := inTemplate.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		e.File, e.Line, e.Column = c.Place(m[1], line, column)
	}
	return e
}
