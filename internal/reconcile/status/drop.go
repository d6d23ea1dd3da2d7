package status

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// DropNulls removes null values from m, because a schema may reject them, and returns m.
func DropNulls(m map[string]any) map[string]any {
	for k, v := range m {
		switch v := v.(type) {
		case nil:
			delete(m, k)
		case map[string]any:
			DropNulls(v)
		case []any:
			for _, element := range v {
				if inner, ok := element.(map[string]any); ok {
					DropNulls(inner)
				}
			}
		}
	}
	return m
}

// DropUnknown removes status fields that are not in the schema of the kind. It returns a problem that lists them, or nil. wrote is the author of
// the status template.
func DropUnknown(status map[string]any, of kind.Kind, wrote problem.Author) *problem.Problem {
	if of.Status == nil || of.Status.Fields == nil {
		return nil
	}
	var faults []string
	whole := map[string]any{"status": status}
	of.Status.Fields.DropUnknown(status, ".status", func(path string) {
		faults = append(faults, wrote.Path(path, whole)+": the schema has no such field")
	})
	return LeftOut(faults)
}

// LeftOut returns a problem for dropped status fields, or nil if there are none.
func LeftOut(faults []string) *problem.Problem {
	if len(faults) == 0 {
		return nil
	}
	return &problem.Problem{Reason: v1.ReasonStatusRejected, Message: "omitted from the status: " + problem.Join(slices.Compact(faults))}
}

// DropRefused removes the fields at paths (starting with .status), and reports whether any was found. Fields in lists are found by index only.
func DropRefused(status map[string]any, paths []string) bool {
	found := false
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, ".status."); ok {
			found = dropPath(status, rest) || found
		}
	}
	return found
}

// dropPath removes the field at a path such as a.b[0].c. Keys may contain dots: the longest existing key that fits is used.
func dropPath(content any, path string) bool {
	switch content := content.(type) {
	case map[string]any:
		key := ""
		for name := range maps.Keys(content) {
			rest, ok := strings.CutPrefix(path, name)
			if ok && len(name) > len(key) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				key = name
			}
		}
		rest := strings.TrimPrefix(path[len(key):], ".")
		if key == "" || rest != "" {
			return key != "" && dropPath(content[key], rest)
		}
		delete(content, key)
		return true
	case []any:
		index, rest, closed := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(index)
		return closed && err == nil && i >= 0 && i < len(content) && dropPath(content[i], strings.TrimPrefix(rest, "."))
	}
	return false
}

// ContentHash returns a hash of a status without its conditions, because these change over time.
func ContentHash(content map[string]any) string {
	content = maps.Clone(content)
	delete(content, "conditions")
	return child.Hash(object.Append(nil, content))
}
