package object

import "maps"

// Without returns the set without the field at a path of keys and all fields below it, and whether the set had any of them. It also drops
// mappings without other fields: an entry for a mapping itself owns all that is in it.
func (f FieldSet) Without(path ...string) (rest FieldSet, had bool) {
	below, ok := f.Field(path[0])
	if !ok {
		return f, false
	}
	rest = maps.Clone(f)
	if len(path) > 1 {
		left, had := below.Without(path[1:]...)
		if !had {
			return f, false
		}
		if !left.whole() {
			rest["f:"+path[0]] = map[string]any(left)
			return rest, true
		}
	}
	delete(rest, "f:"+path[0])
	return rest, true
}

// WholeAbove returns how many keys of a path lead to a mapping that the set has as a whole, because the mapping is atomic or was empty, or 0.
func (f FieldSet) WholeAbove(path []string) int {
	for i, key := range path[:len(path)-1] {
		below, ok := f.Field(key)
		if !ok {
			return 0
		}
		if f = below; f.whole() {
			return i + 1
		}
	}
	return 0
}

// ReleaseFields returns managedFields without the fields at the paths, and those below, that the manager owns by Apply in the object itself. ok is
// false if it owns none of them.
func ReleaseFields(managed []any, manager string, paths [][]string) (rest []any, ok bool) {
	for _, each := range managed {
		entry, _ := each.(map[string]any)
		sub, _ := entry["subresource"].(string)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if entry["manager"] == manager && entry["operation"] == "Apply" && sub == "" {
			set := FieldSet(fields)
			for _, path := range paths {
				var had bool
				set, had = set.Without(path...)
				ok = ok || had
			}
			entry = maps.Clone(entry)
			entry["fieldsV1"] = map[string]any(set)
		}
		rest = append(rest, entry)
	}
	return rest, ok
}
