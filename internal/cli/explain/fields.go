package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/config/schema"
)

// objects explains the kinds.
func objects() []Entry {
	root := schema.TemplateController()
	plain := object(v1.KindTemplateController, v1.Resource.Resource, "tc")
	plain.About, _ = split(root.Description)
	plain.More = "Short name: tc.\nFields of spec: " + strings.Join(names(root.Properties["spec"]), ", ") + "."
	confined := object(v1.KindNamespacedTemplateController, v1.NamespacedResource.Resource, "ntc")
	confined.About = "A TemplateController that is confined to its own namespace"
	lines := []string{"Short name: ntc.", "It has the fields of a TemplateController. These rules differ:"}
	for _, r := range root.NamespacedRules {
		lines = append(lines, strings.TrimLeft(r.Path+": "+r.Message, ":. "))
	}
	confined.More = strings.Join(lines, "\n")
	return []Entry{plain, confined}
}

// object returns the entry of a kind, without its text.
func object(kind, resource, short string) Entry {
	return Entry{Kind: Object, Name: kind, aliases: []string{short, resource, resource + "." + v1.GroupVersion.Group}}
}

// split returns the first sentence of a description, and the rest.
func split(description string) (about, rest string) {
	about, rest, _ = strings.Cut(strings.Join(strings.Fields(description), " "), ". ")
	return strings.TrimSuffix(about, "."), rest
}

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
	about, rest := split(f.Description)
	lines := []string{"Takes " + takes(f) + "."}
	if rest != "" {
		lines = append([]string{rest}, lines...)
	}
	inner := f
	if f.Items != nil {
		inner = f.Items
	}
	if names := names(inner); len(names) > 0 {
		lines = append(lines, "Fields: "+strings.Join(names, ", ")+".")
	}
	return Entry{Kind: Field, Name: path, About: about, More: strings.Join(lines, "\n")}
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
