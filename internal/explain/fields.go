package explain

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/templater-dev/templater/config/schema"
)

// field is a part of the JSON schema of TemplateControllers.
type field struct {
	Description string           `json:"description"`
	Type        any              `json:"type"` // a word, or several
	Properties  map[string]field `json:"properties"`
	Items       *field           `json:"items"`
	Enum        []string         `json:"enum"`
}

// fields explains those of the spec of a TemplateController, by their paths without marks of lists, such as spec.children.template.
func fields() []Entry {
	var root field
	if err := json.Unmarshal(schema.TemplateController, &root); err != nil {
		panic("the schema of TemplateControllers: " + err.Error()) // which is part of the program
	}
	var entries []Entry
	root.Properties["spec"].below("spec", &entries)
	return entries
}

// below adds the fields in a field, each before those in it.
func (f field) below(path string, entries *[]Entry) {
	if f.Items != nil {
		f = *f.Items
	}
	for _, name := range f.names() {
		in := f.Properties[name]
		*entries = append(*entries, in.entry(path+"."+name))
		in.below(path+"."+name, entries)
	}
}

func (f field) names() []string {
	var names []string
	for name := range f.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// entry explains a field: its first sentence, and then the rest.
func (f field) entry(path string) Entry {
	about, rest, more := strings.Cut(strings.Join(strings.Fields(f.Description), " "), ". ")
	lines := []string{"Takes " + f.takes() + "."}
	if more {
		lines = append([]string{rest}, lines...)
	}
	inner := f
	if f.Items != nil {
		inner = *f.Items
	}
	if names := inner.names(); len(names) > 0 {
		lines = append(lines, "Fields: "+strings.Join(names, ", ")+".")
	}
	return Entry{Kind: Field, Name: path, About: strings.TrimSuffix(about, "."), More: strings.Join(lines, "\n")}
}

// takes says what may be written there.
func (f field) takes() string {
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
	words := map[any]string{"object": "a mapping", "string": "a text", "integer": "an integer", "boolean": "true or false"}
	var all []string
	for _, one := range several {
		all = append(all, cmp.Or(words[one], "a value"))
	}
	return strings.Join(all, " or ")
}
