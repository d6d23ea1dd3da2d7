package main

import (
	"regexp"
	"strconv"

	"github.com/templater-dev/templater/internal/manifest"
)

// inTemplate is how messages begin that are about a place in a template.
var inTemplate = regexp.MustCompile(`^((?:children|related)\[[^]]+\](?:\.[a-zA-Z]+)?|status|helpers)(?::(\d+))?(?::(\d+))?: `)

// located returns a message about a TemplateController with the place in its file before it.
func located(c *manifest.Controller, message string) error {
	e := &manifest.Error{File: c.File, Line: c.Line, Message: message}
	if m := inTemplate.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		e.File, e.Line, e.Column = c.Place(m[1], line, column)
	}
	return e
}
