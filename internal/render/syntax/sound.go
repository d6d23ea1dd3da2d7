package syntax

import (
	"maps"
	"slices"
	"text/template/parse"
)

// helpersName is the name of the helpers in errors.
const helpersName = "helpers"

// sound returns the templates without those that have errors, and without those that call define blocks of helpers with errors. It returns
// nothing where an error is not about one template, or where there are more errors than are kept.
func (c *compiler) sound(t *Templates) Templates {
	names, faulty := c.src.names(), map[string]bool{}
	for _, e := range c.errors {
		if c.full() || !names[e.Template] {
			return Templates{}
		}
		faulty[e.Template] = true
	}
	if faulty[helpersName] {
		maps.Copy(faulty, c.callers)
	}
	sound, _ := t.Without(faulty)
	return sound
}

// names returns the names of the templates in errors.
func (s *Source) names() map[string]bool {
	names := map[string]bool{helpersName: true, statusName: true, FilterName: true}
	for _, t := range s.Children {
		names[ChildName(t.Name)] = true
	}
	for _, t := range s.ReadyWhen {
		names[ReadyWhenName(t.Name)] = true
	}
	for _, t := range s.Related {
		names[SelectName(t.Name)] = true
	}
	return names
}

// Without returns the templates without those of these names, and whether it had any of them. The template of a child becomes an empty one.
func (t *Templates) Without(names map[string]bool) (rest Templates, had bool) {
	rest = *t
	drop := func(u *Unit) bool {
		dropped := u == nil || names[u.Text.Name]
		had = had || dropped && u != nil && u.Text.Content != ""
		return dropped
	}
	unless := func(u *Unit) *Unit {
		if drop(u) {
			return nil
		}
		return u
	}
	rest.Status, rest.Filter, rest.Selects = unless(t.Status), unless(t.Filter), slices.Clone(t.Selects)
	for i, u := range rest.Selects {
		rest.Selects[i] = unless(u)
	}
	rest.ReadyWhen = slices.DeleteFunc(slices.Clone(t.ReadyWhen), drop)
	rest.Children = slices.Clone(t.Children)
	for i, u := range rest.Children {
		if drop(u) {
			rest.Children[i] = emptyUnit(u)
		}
	}
	if names[helpersName] {
		had = had || len(t.Helpers) > 0
		rest.Helpers = nil
	}
	return rest, had
}

// emptyUnit returns the unit of an empty template that replaces another one.
func emptyUnit(u *Unit) *Unit {
	text := NewText(u.Text.Name, "")
	body, _ := parse.New("").Parse("", "", "", map[string]*parse.Tree{}) // which cannot fail
	return &Unit{Text: text, Purpose: u.Purpose, own: map[string]Definition{"": {body, text}}, helpers: u.helpers}
}
