package diff

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/cli/simulate/show"
	"github.com/templater-dev/templater/internal/kube/memserver"
)

// diffOf returns the unified diff of an object. Values of Secrets are masked.
func diffOf(c Change, before, after map[string]any) string {
	if c.Kind == "Secret" && groupOf(c.APIVersion) == "" {
		before, after = masked(before, after)
	}
	name := c.Kind + "/" + c.Name
	if c.Namespace != "" {
		name = c.Kind + "/" + c.Namespace + "/" + c.Name
	}
	return unified(name, yamlOf(before), yamlOf(after))
}

func unified(name, before, after string) string {
	return show.Unified("before/"+name, "after/"+name, before, after)
}

// yamlOf returns JSON data as YAML, "" for nil.
func yamlOf(content map[string]any) string {
	if len(content) == 0 {
		return ""
	}
	out, err := yaml.Marshal(content)
	if err != nil {
		panic(err) // it is JSON data
	}
	return string(out)
}

// masked masks the values of a Secret as kubectl diff does: it only shows which ones differ.
func masked(before, after map[string]any) (was, is map[string]any) {
	was, is = maps.Clone(before), maps.Clone(after)
	for _, field := range []string{"data", "stringData"} {
		a, b := simulate.Map(before[field]), simulate.Map(after[field])
		if a != nil {
			was[field] = maskedData(a, b, "*** (before)")
		}
		if b != nil {
			is[field] = maskedData(b, a, "*** (after)")
		}
	}
	return hideApplied(was), hideApplied(is)
}

func maskedData(data, other map[string]any, word string) map[string]any {
	out := map[string]any{}
	for key, value := range data {
		there, both := other[key]
		if out[key] = "***"; both && value != there {
			out[key] = word
		}
	}
	return out
}

// hideApplied masks the whole object that kubectl keeps in an annotation.
func hideApplied(content map[string]any) map[string]any {
	if annotation(content, corev1.LastAppliedConfigAnnotation) == "" {
		return content
	}
	return memserver.Patch(content, map[string]any{"metadata": map[string]any{"annotations": map[string]any{corev1.LastAppliedConfigAnnotation: "***"}}})
}
