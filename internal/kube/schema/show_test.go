package schema

import (
	"maps"
	"slices"
	"strings"
)

// show writes a type on one line: ? is anything, {a! b …} a map with a field that is always there, another one, and
// maybe more; map[T] one of any keys. It says of a type within itself no more than its name.
func show(t *Type) string { return showWithin(t, nil) }

func showWithin(t *Type, outer []*Type) string {
	if t == nil || t.Kinds == 0 {
		return "?"
	}
	if slices.Contains(outer, t) {
		return "↑" + t.Name
	}
	outer = append(outer, t)
	var all []string
	for kind, word := range map[Kinds]string{String: "string", Integer: "integer", Number: "number", Boolean: "boolean", Null: "null"} {
		if t.Kinds&kind != 0 {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	if len(t.Enum) > 0 {
		all = append(all, "("+strings.Join(t.Enum, ",")+")")
	}
	if t.Kinds&List != 0 {
		all = append(all, "["+showWithin(t.Items, outer)+"]")
	}
	if t.Kinds&Map != 0 {
		all = append(all, showMap(t, outer))
	}
	return strings.Join(all, "|")
}

func showMap(t *Type, outer []*Type) string {
	if t.Fields == nil {
		return "map[" + showWithin(t.Items, outer) + "]"
	}
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(t.Fields)) {
		f := t.Fields[name]
		mark := ""
		if f.Present {
			mark = "!"
		}
		fields = append(fields, name+mark+": "+showWithin(f.Type, outer))
	}
	if t.Open {
		fields = append(fields, "…")
	}
	return "{" + strings.Join(fields, ", ") + "}"
}
