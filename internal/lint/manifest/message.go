package manifest

import (
	"regexp"
	"strconv"
)

// inField matches the beginning of messages about a field.
var inField = regexp.MustCompile(`^((?:spec|metadata)(?:\.[a-zA-Z]+|\[[^]]+\])+): `)

// inTemplate matches the beginning of messages about a place in a template.
var inTemplate = regexp.MustCompile(`^((?:children|related)\[[^]]+\](?:\.[a-zA-Z]+)?|status|helpers)(?::(\d+))?(?::(\d+))?: `)

// Located returns a message about the TemplateController with its place in the file: that in the template or of the field which the message begins
// with, as in "children[pod]:3:7: …" and "spec.watch: …", or else where the TemplateController begins.
func (c *Controller) Located(message string) *Error {
	e := &Error{File: c.File, Line: c.Line, Message: message}
	if m := inTemplate.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		e.File, e.Line, e.Column = c.Place(m[1], line, column)
	} else if m := inField.FindStringSubmatch(message); m != nil {
		e.File, e.Line, e.Column = c.Place(m[1], 0, 0)
	}
	return e
}
