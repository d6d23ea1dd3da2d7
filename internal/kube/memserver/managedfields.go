package memserver

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Field ownership, as recorded in managedFields. Sets of fields have the format of FieldsV1.

// Lists maps the names of lists with listType=map to the key of their items. All other lists are atomic. The key of maps with
// structType=atomic is atomicMap.
type Lists map[string]string

const atomicMap = "."

// Usual are the Lists of objects whose conditions are merged by type.
var Usual = Lists{"ownerReferences": "uid", "conditions": "type"}

// FieldsOf returns the set of all leaf fields.
func (l Lists) FieldsOf(content map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range content {
		out["f:"+name] = l.fieldsBelow(name, value)
	}
	return out
}

func (l Lists) fieldsBelow(name string, value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		if l[name] == atomicMap {
			break
		}
		return l.FieldsOf(value)
	case []any:
		out := map[string]any{}
		for _, item := range value {
			if key := l.itemName(name, item); key != "" {
				out[key] = l.FieldsOf(item.(map[string]any))
				out[key].(map[string]any)["."] = map[string]any{}
			}
		}
		return out
	}
	return map[string]any{}
}

// itemName returns the key of a list item in a set, or "" if the list is atomic.
func (l Lists) itemName(list string, item any) string {
	content, ok := item.(map[string]any)
	key := l[list]
	if !ok || key == "" {
		return ""
	}
	text, _ := json.Marshal(map[string]any{key: content[key]})
	return "k:" + string(text)
}

// Held returns the set that a manager owns after applying content. It excludes the fields that identify an object, which have no
// owner.
func (l Lists) Held(content map[string]any, subresource string) map[string]any {
	set := l.FieldsOf(content)
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

// eachLeaf calls do with the path of each leaf of a set.
func eachLeaf(path string, set map[string]any, do func(path string)) {
	for name, value := range set {
		if name == "." {
			continue
		}
		below, _ := value.(map[string]any)
		at := path + "." + strings.TrimPrefix(name, "f:")
		if key, isItem := strings.CutPrefix(name, "k:"); isItem {
			at = path + "[" + strings.NewReplacer("{", "", "}", "", `":`, "=", `"`, "").Replace(key) + "]"
		}
		if len(below) == 0 {
			do(at)
		}
		eachLeaf(at, below, do)
	}
}

// Holdings returns the set that a manager owns by Apply, and the sets of all other entries.
func Holdings(o *unstructured.Unstructured, manager, subresource string) (own map[string]any, others []map[string]any) {
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

// Own replaces the set that a manager owns by Apply.
func Own(o *unstructured.Unstructured, manager, subresource string, set map[string]any) {
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

// Updated makes a manager the owner of the fields that it has changed by an update.
func Updated(o *unstructured.Unstructured, manager string, set map[string]any) {
	Deprive(o, set)
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	entry := map[string]any{"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": set}
	o.Object["metadata"].(map[string]any)["managedFields"] = append(entries, entry)
}

// Deprive removes a set of fields from the sets of all managers.
func Deprive(o *unstructured.Unstructured, set map[string]any) {
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

// without returns a set without the leaves of another set.
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

// drop removes the fields of a set from content, including maps and lists that become empty.
func (l Lists) drop(content, set map[string]any) {
	for name, value := range set {
		field, below := name[2:], value.(map[string]any)
		switch there := content[field].(type) {
		case map[string]any:
			if l.drop(there, below); len(there) == 0 || len(below) == 0 {
				delete(content, field)
			}
		case []any:
			if content[field] = l.dropItems(field, there, below); len(below) == 0 || len(content[field].([]any)) == 0 {
				delete(content, field)
			}
		default:
			delete(content, field)
		}
	}
}

func (l Lists) dropItems(list string, items []any, set map[string]any) []any {
	return slices.DeleteFunc(items, func(item any) bool {
		below, ok := set[l.itemName(list, item)].(map[string]any)
		if !ok {
			return false
		}
		fields := maps.Clone(below)
		delete(fields, ".")
		l.drop(item.(map[string]any), fields)
		return below["."] != nil
	})
}

// join sets all fields of content.
func (l Lists) join(into, content map[string]any) {
	for name, value := range content {
		switch value := value.(type) {
		case map[string]any:
			there, ok := into[name].(map[string]any)
			if !ok || l[name] == atomicMap {
				there = map[string]any{}
				into[name] = there
			}
			l.join(there, value)
		case []any:
			there, _ := into[name].([]any)
			into[name] = l.joinItems(name, there, value)
		default:
			into[name] = value
		}
	}
}

func (l Lists) joinItems(list string, into, items []any) []any {
	if l[list] == "" {
		return items
	}
	for _, item := range items {
		i := slices.IndexFunc(into, func(there any) bool { return l.itemName(list, there) == l.itemName(list, item) })
		if i < 0 {
			into = append(into, map[string]any{})
			i = len(into) - 1
		}
		l.join(into[i].(map[string]any), item.(map[string]any))
	}
	return into
}

// Differing returns the fields of a set whose values differ in a and b.
func (l Lists) Differing(a, b, set map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range set {
		below, _ := value.(map[string]any)
		if name == "." {
			continue
		}
		x, y := a[name[2:]], b[name[2:]]
		if diff := l.differingBelow(name[2:], x, y, below); diff != nil {
			out[name] = diff
		}
	}
	return out
}

func (l Lists) differingBelow(name string, a, b any, set map[string]any) map[string]any {
	if reflect.DeepEqual(a, b) {
		return nil
	}
	out := map[string]any{}
	switch {
	case len(set) == 0:
		return out
	case l[name] != "":
		x, y := l.itemsOf(name, a), l.itemsOf(name, b)
		for key, below := range set {
			if diff := l.Differing(x[key], y[key], below.(map[string]any)); len(diff) > 0 {
				out[key] = diff
			}
		}
	default:
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		out = l.Differing(x, y, set)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (l Lists) itemsOf(list string, value any) map[string]map[string]any {
	out := map[string]map[string]any{}
	items, _ := value.([]any)
	for _, item := range items {
		out[l.itemName(list, item)], _ = item.(map[string]any)
	}
	return out
}
