package simulate

import (
	"maps"
	"strings"

	v1 "github.com/templater-dev/templater/api/v1"
)

// Public returns an object without the fields that templater and the server add: it keeps those of templates, users and status writers.
func Public(content map[string]any) map[string]any {
	content = maps.Clone(content)
	metadata := maps.Clone(Map(content["metadata"]))
	for _, key := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences", "selfLink"} {
		delete(metadata, key)
	}
	for _, field := range []string{"labels", "annotations"} {
		kept := maps.Clone(Map(metadata[field]))
		maps.DeleteFunc(kept, func(key string, value any) bool {
			return strings.HasPrefix(key, v1.GroupVersion.Group+"/") || key == v1.LabelManagedBy && value == v1.ManagedBy
		})
		if metadata[field] = kept; len(kept) == 0 {
			delete(metadata, field)
		}
	}
	content["metadata"] = metadata
	return content
}
