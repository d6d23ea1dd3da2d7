package chart

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// expressions are placeholders for values of an object while it is marshaled. Each is a word that needs no quotes in
// YAML.
type expressions struct{ all []expression }

// expression is the replacement of a placeholder: inline text, or lines that replace its line. A line may contain
// %[1]s, its indentation, and %[2]s, the text before the placeholder.
type expression struct{ inline, lines string }

// quoted renders a string.
func quoted(code string) expression { return expression{inline: "{{ " + code + " | quote }}"} }

// plain renders a number or a word.
func plain(code string) expression { return expression{inline: "{{ " + code + " }}"} }

// optional renders the key with its value, or nothing if the value is empty.
func optional(value string) expression {
	return expression{lines: "{{- with " + value + " }}\n%[1]s%[2]s\n{{ toYaml . | indent %[3]d }}\n{{- end }}"}
}

// lines renders lines in place of a list item.
func lines(text string) expression { return expression{lines: text} }

func (e *expressions) add(one expression) string {
	e.all = append(e.all, one)
	return "zzEXPRESSION" + strconv.Itoa(len(e.all)-1) + "zz"
}

var word = regexp.MustCompile(`^( *)(.*?)zzEXPRESSION(\d+)zz$`)

// fill returns the template for marshaled text with placeholders. Text that looks like an expression is escaped.
func (e *expressions) fill(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "{{", `{{ "{{" }}`)
		m := word.FindStringSubmatch(line)
		if m == nil {
			out.WriteString(line + "\n")
			continue
		}
		n, _ := strconv.Atoi(m[3])
		switch one := e.all[n]; {
		case one.lines == "":
			out.WriteString(m[1] + m[2] + one.inline + "\n")
		case strings.Contains(one.lines, "%[3]d"):
			fmt.Fprintf(&out, one.lines+"\n", m[1], strings.TrimSpace(m[2]), len(m[1])+2)
		default:
			fmt.Fprintf(&out, one.lines+"\n", m[1])
		}
	}
	return out.String()
}

func indent(text, by string) string { return by + strings.ReplaceAll(text, "\n", "\n"+by) }

// at returns a pointer to a value, by map keys and list indexes.
func at(in any, path ...any) (*any, error) {
	value := &in
	for i, step := range path {
		var found bool
		switch step := step.(type) {
		case string:
			m, _ := (*value).(map[string]any)
			var next any
			if next, found = m[step]; found {
				value = &next
			}
		case int:
			if l, _ := (*value).([]any); step < len(l) {
				value, found = &l[step], true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no %v any more", path[:i+1])
		}
	}
	return value, nil
}

// set replaces the value at a path, which must exist.
func set(in map[string]any, value any, path ...any) error {
	if _, err := at(in, path...); err != nil {
		return err
	}
	last := len(path) - 1
	parent, err := at(in, path[:last]...)
	if err != nil {
		return err
	}
	switch p := (*parent).(type) {
	case map[string]any:
		p[path[last].(string)] = value
	case []any:
		p[path[last].(int)] = value
	}
	return nil
}
