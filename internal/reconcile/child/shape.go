package child

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/internal/render/document"
)

// GVKOf returns the kind that an object names, given as JSON data; what is missing is empty.
func GVKOf(content map[string]any) schema.GroupVersionKind {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// IDOf returns which object it is, given as JSON data.
func IDOf(content map[string]any) ID { return ID{GVKOf(content).GroupKind(), nameOf(content)} }

func nameOf(content map[string]any) types.NamespacedName {
	metadata, _ := content["metadata"].(map[string]any)
	namespace, _ := metadata["namespace"].(string)
	name, _ := metadata["name"].(string)
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// ownPrefix is that of templater's own labels and annotations.
const ownPrefix = "templater.dev/"

// shapeFault returns why a document is no object that templater can make, or "".
func shapeFault(content map[string]any) string {
	for _, key := range []string{"apiVersion", "kind"} {
		if s, _ := content[key].(string); s == "" {
			return "the document has no " + key + ": every child needs apiVersion, kind and metadata.name"
		}
	}
	if gv, err := schema.ParseGroupVersion(content["apiVersion"].(string)); err != nil || gv.Version == "" || gv.String() != content["apiVersion"] { //nolint:forcetypeassert // seen above
		return "apiVersion must be VERSION or GROUP/VERSION"
	}
	if _, ok := content["status"]; ok {
		return "a template must not set status: remove it"
	}
	metadata, _ := content["metadata"].(map[string]any)
	for _, owned := range document.NotForTemplates {
		if metadata[owned.Field] != nil {
			return "metadata." + owned.Field + " must not be set: " + owned.Advice
		}
		delete(metadata, owned.Field)
	}
	delete(metadata, "creationTimestamp") // manifests made by Go programs hold a null
	if s, _ := metadata["name"].(string); s == "" {
		return "metadata.name is missing or not a string: every child needs apiVersion, kind and metadata.name"
	}
	return metadataFault(metadata)
}

func metadataFault(metadata map[string]any) string {
	if name, _ := metadata["name"].(string); len(content.IsPathSegmentName(name)) > 0 {
		return "metadata.name is not valid: it must not contain / or %, or be . or .."
	}
	if value, ok := metadata["namespace"]; ok {
		ns, ok := value.(string)
		if !ok {
			return "metadata.namespace is not a string: quote it"
		}
		if ns != "" && len(content.IsDNS1123Label(ns)) > 0 {
			return "metadata.namespace is not valid: use lower-case letters, digits and -"
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		value := metadata[key]
		if value == nil { // left out, or an explicit null, which the server drops
			continue
		}
		m, ok := value.(map[string]any)
		if !ok {
			return "metadata." + key + " is not a mapping"
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if _, ok := m[name].(string); !ok {
				return "metadata." + key + " has a value that is not a string: quote it"
			}
			if strings.HasPrefix(name, ownPrefix) {
				return "metadata." + key + " has a key of " + ownPrefix + ", which templater sets itself: remove it"
			}
		}
	}
	return ""
}
