package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/templater-dev/templater/config/schema"
)

// fields explains the fields of a TemplateController's spec, by their paths without list markers, such as spec.children.template.
func fields() []Entry {
	var entries []Entry
	below(schema.TemplateController().Properties["spec"], "spec", &entries)
	return entries
}

// below adds the fields of a field recursively, in depth-first order.
func below(f *schema.Node, path string, entries *[]Entry) {
	if f.Items != nil {
		f = f.Items
	}
	for _, name := range names(f) {
		in := f.Properties[name]
		*entries = append(*entries, entry(in, path+"."+name))
		below(in, path+"."+name, entries)
	}
}

func names(f *schema.Node) []string { return slices.Sorted(maps.Keys(f.Properties)) }

// entry explains a field: its first sentence, and then the rest.
func entry(f *schema.Node, path string) Entry {
	about, rest, more := strings.Cut(strings.Join(strings.Fields(f.Description), " "), ". ")
	lines := []string{"Takes " + takes(f) + "."}
	if more {
		lines = append([]string{rest}, lines...)
	}
	inner := f
	if f.Items != nil {
		inner = f.Items
	}
	if names := names(inner); len(names) > 0 {
		lines = append(lines, "Fields: "+strings.Join(names, ", ")+".")
	}
	return Entry{Kind: Field, Name: path, About: strings.TrimSuffix(about, "."), More: strings.Join(lines, "\n")}
}

// takes describes the type and the limits of a field.
func takes(f *schema.Node) string {
	switch {
	case len(f.Enum) > 0:
		return strings.Join(f.Enum, ", ")
	case f.Items != nil && f.Items.Type == "object":
		return "a list of mappings"
	case f.Items != nil:
		return "a list"
	}
	several, _ := f.Type.([]any)
	if several == nil {
		several = []any{f.Type}
	}
	words := map[any]string{"object": "a mapping", "string": "a string", "integer": "an integer", "boolean": "true or false"}
	var all []string
	for _, one := range several {
		all = append(all, cmp.Or(words[one], "a value"))
	}
	return strings.Join(all, " or ")
}
