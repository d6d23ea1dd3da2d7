package controllers

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Who holds which field, as the server keeps it in managedFields: sets of fields are those of FieldsV1.

// itemKeys are the lists whose items are told apart, and the field that does so. All others are held whole.
var itemKeys = map[string]string{"ownerReferences": "uid", "conditions": "type"}

// fieldsOf is the set of all leaves.
func fieldsOf(content map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range content {
		out["f:"+name] = fieldsBelow(name, value)
	}
	return out
}

func fieldsBelow(name string, value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		return fieldsOf(value)
	case []any:
		out := map[string]any{}
		for _, item := range value {
			if key := itemName(name, item); key != "" {
				out[key] = fieldsOf(item.(map[string]any))
				out[key].(map[string]any)["."] = map[string]any{}
			}
		}
		return out
	}
	return map[string]any{}
}

// itemName is what a set calls an item of the list of that name, "" where the list is held whole.
func itemName(list string, item any) string {
	content, ok := item.(map[string]any)
	key := itemKeys[list]
	if !ok || key == "" {
		return ""
	}
	text, _ := json.Marshal(map[string]any{key: content[key]})
	return "k:" + string(text)
}

// held is the set of what a manager that sends content holds then: what tells one object from another
// belongs to nobody.
func held(content map[string]any, subresource string) map[string]any {
	set := fieldsOf(content)
	if subresource != "" {
		below, sent := set["f:"+subresource]
		if !sent {
			return map[string]any{}
		}
		return map[string]any{"f:" + subresource: below}
	}
	for _, name := range []string{"f:apiVersion", "f:kind", "f:status"} {
		delete(set, name)
	}
	metadata, _ := set["f:metadata"].(map[string]any)
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields"} {
		delete(metadata, "f:"+name)
	}
	return tidy(set, "f:metadata")
}

func tidy(set map[string]any, name string) map[string]any {
	if below, ok := set[name].(map[string]any); ok && len(below) == 0 {
		delete(set, name)
	}
	return set
}

// applied is the object after an apply of content by manager: what it sets is so, what it
// held and sets no more is gone unless somebody else holds it, and whoever held something else loses it.
func applied(there *unstructured.Unstructured, content map[string]any, manager, subresource string) *unstructured.Unstructured {
	next, set := there.DeepCopy(), held(content, subresource)
	before, others := holdings(there, manager, subresource)
	dropped := without(before, set)
	for _, other := range others {
		dropped = without(dropped, other)
	}
	drop(next.Object, dropped)
	changed := differing(there.Object, content, set)
	join(next.Object, content)
	deprive(next, changed)
	own(next, manager, subresource, set)
	return next
}

// holdings returns what a manager has applied, and what each other one holds.
func holdings(o *unstructured.Unstructured, manager, subresource string) (own map[string]any, others []map[string]any) {
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	for _, each := range entries {
		entry, _ := each.(map[string]any)
		set, _ := entry["fieldsV1"].(map[string]any)
		if isOf(entry, manager, subresource) {
			own = set
		} else {
			others = append(others, set)
		}
	}
	return own, others
}

func isOf(entry map[string]any, manager, subresource string) bool {
	sub, _ := entry["subresource"].(string)
	return entry["manager"] == manager && sub == subresource && entry["operation"] == "Apply"
}

// own has the manager hold exactly that set.
func own(o *unstructured.Unstructured, manager, subresource string, set map[string]any) {
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	entries = slices.DeleteFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		return isOf(entry, manager, subresource)
	})
	entry := map[string]any{"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": set}
	if subresource != "" {
		entry["subresource"] = subresource
	}
	if len(set) > 0 {
		entries = append(entries, entry)
	}
	o.Object["metadata"].(map[string]any)["managedFields"] = entries
}

// updated has the manager hold, by another request than an apply, what it has changed.
func updated(o *unstructured.Unstructured, manager string, set map[string]any) {
	deprive(o, set)
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	entry := map[string]any{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": set}
	o.Object["metadata"].(map[string]any)["managedFields"] = append(entries, entry)
}

// deprive takes a set of fields from all who hold them.
func deprive(o *unstructured.Unstructured, set map[string]any) {
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	left := []any{}
	for _, each := range entries {
		entry, _ := each.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if fields = without(fields, set); len(fields) > 0 {
			entry["fieldsV1"] = fields
			left = append(left, entry)
		}
	}
	o.Object["metadata"].(map[string]any)["managedFields"] = left
}

// without is a set less the leaves of another one.
func without(set, other map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range set {
		below, _ := value.(map[string]any)
		its, ok := other[name].(map[string]any)
		switch {
		case !ok:
			out[name] = below
		case len(below) > 0 && len(its) > 0:
			if rest := without(below, its); len(rest) > 0 {
				out[name] = rest
			}
		}
	}
	return out
}

// drop takes the fields of a set out of content, and what is empty then.
func drop(content, set map[string]any) {
	for name, value := range set {
		field, below := name[2:], value.(map[string]any)
		switch there := content[field].(type) {
		case map[string]any:
			if drop(there, below); len(there) == 0 || len(below) == 0 {
				delete(content, field)
			}
		case []any:
			if content[field] = dropItems(field, there, below); len(below) == 0 || len(content[field].([]any)) == 0 {
				delete(content, field)
			}
		default:
			delete(content, field)
		}
	}
}

func dropItems(list string, items []any, set map[string]any) []any {
	return slices.DeleteFunc(items, func(item any) bool {
		below, ok := set[itemName(list, item)].(map[string]any)
		if !ok {
			return false
		}
		fields := maps.Clone(below)
		delete(fields, ".")
		drop(item.(map[string]any), fields)
		return below["."] != nil
	})
}

// join sets all of content.
func join(into, content map[string]any) {
	for name, value := range content {
		switch value := value.(type) {
		case map[string]any:
			there, ok := into[name].(map[string]any)
			if !ok {
				there = map[string]any{}
				into[name] = there
			}
			join(there, value)
		case []any:
			there, _ := into[name].([]any)
			into[name] = joinItems(name, there, value)
		default:
			into[name] = value
		}
	}
}

func joinItems(list string, into, items []any) []any {
	if itemKeys[list] == "" {
		return items
	}
	for _, item := range items {
		i := slices.IndexFunc(into, func(there any) bool { return itemName(list, there) == itemName(list, item) })
		if i < 0 {
			into = append(into, map[string]any{})
			i = len(into) - 1
		}
		join(into[i].(map[string]any), item.(map[string]any))
	}
	return into
}

// differing are those fields of a set that are not the same in both.
func differing(a, b, set map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range set {
		below, _ := value.(map[string]any)
		if name == "." {
			continue
		}
		x, y := a[name[2:]], b[name[2:]]
		if diff := differingBelow(name[2:], x, y, below); diff != nil {
			out[name] = diff
		}
	}
	return out
}

func differingBelow(name string, a, b any, set map[string]any) map[string]any {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	out := map[string]any{}
	switch {
	case len(set) == 0:
		return out
	case itemKeys[name] != "":
		x, y := itemsOf(name, a), itemsOf(name, b)
		for key, below := range set {
			if diff := differing(x[key], y[key], below.(map[string]any)); len(diff) > 0 {
				out[key] = diff
			}
		}
	default:
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		out = differing(x, y, set)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func itemsOf(list string, value any) map[string]map[string]any {
	out := map[string]map[string]any{}
	items, _ := value.([]any)
	for _, item := range items {
		out[itemName(list, item)], _ = item.(map[string]any)
	}
	return out
}
