package typed

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/templater-dev/templater/internal/finding"
	"github.com/templater-dev/templater/internal/schema"
)

// value compares what one action prints, where it is all of a value, with the type that is expected there.
func (at *shape) value(n *yaml.Node, t *schema.Type, path string) {
	if n.Kind != yaml.ScalarNode || n.Style&^yaml.FlowStyle != 0 || n.Value == "" || strings.Trim(n.Value, string(blank)) != "" {
		return
	}
	here := at.place(n)
	v, first, found := (*value)(nil), 0, 0
	for offset := here.offset; offset < here.offset+here.length; offset++ {
		if printed := at.c.printed[spot{here.text, offset}]; printed != nil {
			v, first = printed, offset
			found++
		}
	}
	// What functions make of YAML and JSON is text that stands for something else.
	if found != 1 || v.kinds == 0 || v.kinds == null || v.kinds&str != 0 && v.origin == nil && v.lit == nil {
		return
	}
	if got := classes(v.kinds); classes(t.Kinds)&got == 0 {
		here.offset, here.length = first, here.length-(first-here.offset)
		at.c.warnf(finding.FieldType, here, "%s of %s is %s, and what is printed here is %s%s", path, at.object, kindWords(t.Kinds&^null), kindWords(got), asText(t.Kinds, got))
	}
}

// asText says how what is printed becomes a text, if that is wanted.
func asText(want, got schema.Kinds) string {
	if want&str == 0 || got&^(number|boolean) != 0 {
		return ""
	}
	return ": put quotes around it"
}
