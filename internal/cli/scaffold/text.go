package scaffold

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml"
)

// marshal returns plain data as YAML. It panics on errors, which plain data does not cause.
func marshal(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// scalar returns a string as YAML on one line.
func scalar(text string) string { return strings.TrimSuffix(marshal(text), "\n") }

// quoted returns a string in single quotes.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// mapping returns a mapping as indented YAML, with each text on one line: the YAML library would fold long ones.
func mapping(m map[string]any, by int) string {
	pad := strings.Repeat(" ", by)
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out.WriteString(pad + scalar(key) + ":")
		switch value := m[key].(type) {
		case map[string]any:
			if len(value) > 0 {
				out.WriteString("\n" + mapping(value, by+2))
				continue
			}
			out.WriteString(" {}\n")
		case string:
			text := scalar(value)
			if strings.Contains(text, "\n") && !strings.Contains(value, "\n") { // folded
				if text = value; scalar(value)[0] == '\'' || scalar(value)[0] == '"' {
					text = quoted(value)
				}
			}
			out.WriteString(" " + text + "\n")
		default:
			if text := marshal(value); strings.HasPrefix(text, "- ") {
				out.WriteString("\n" + indent(text, by))
			} else {
				out.WriteString(" " + text)
			}
		}
	}
	return out.String()
}

// indent indents each non-empty line.
func indent(text string, by int) string {
	pad := strings.Repeat(" ", by)
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimRight(line, "\n") != "" {
			out.WriteString(pad)
		}
		out.WriteString(line)
	}
	return out.String()
}

// literal returns a text as an indented block scalar, or quoted if a block scalar cannot represent it. It ends with one
// line end.
func literal(text string, by int) string {
	text = strings.TrimRight(text, "\n") + "\n"
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
		return strconv.Quote(text) + "\n"
	}
	header := "|"
	if first := strings.TrimLeft(text, "\n"); strings.HasPrefix(first, " ") || strings.HasPrefix(first, "\t") {
		header = "|2"
	}
	return header + "\n" + indent(text, by)
}

// EntryName derives the name of a child template from a text: a lower-case letter, then letters and digits.
func EntryName(text string) string {
	var out strings.Builder
	upper := false
	for _, r := range text {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			upper = out.Len() > 0
		case out.Len() == 0 && unicode.IsDigit(r):
			out.WriteString("n")
			out.WriteRune(r)
		case out.Len() == 0:
			out.WriteRune(unicode.ToLower(r))
		case upper:
			out.WriteRune(unicode.ToUpper(r))
			upper = false
		default:
			out.WriteRune(r)
		}
	}
	const longest = 60
	if out.Len() == 0 {
		return "entry"
	}
	return out.String()[:min(out.Len(), longest)]
}

// Unique returns an unused name, and marks it as used.
func Unique(name string, taken map[string]bool) string {
	free := name
	for i := 2; taken[free]; i++ {
		free = name + strconv.Itoa(i)
	}
	taken[free] = true
	return free
}
