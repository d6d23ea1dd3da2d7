package diff

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/reconcile/child"
)

func metadataText(content map[string]any, field string) string {
	return simulate.Text(simulate.Map(content["metadata"])[field])
}

func annotation(content map[string]any, key string) string {
	return simulate.Text(simulate.Map(simulate.Map(content["metadata"])["annotations"])[key])
}

func groupOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Group }

// liveOf returns a live object with the child template that its label names.
func liveOf(content map[string]any) *child.Live {
	o, err := object.From(content)
	if err != nil {
		panic(err) // it was an object
	}
	return child.NewLive(kind.Guess(child.GVKOf(content)), o)
}

// changeOf returns the change of an object.
func changeOf(verb Verb, entry string, content map[string]any) Change {
	id := child.IDOf(content)
	return Change{Verb: verb, Entry: entry, APIVersion: simulate.Text(content["apiVersion"]), Kind: id.Kind.Kind, Namespace: id.Name.Namespace, Name: id.Name.Name}
}

// statusOf returns the status of a parent without the times of its conditions.
func statusOf(parent map[string]any) map[string]any {
	status := maps.Clone(simulate.Map(parent["status"]))
	list, ok := status["conditions"].([]any)
	if !ok {
		return status
	}
	conditions := make([]any, len(list))
	for i, c := range list {
		condition := maps.Clone(simulate.Map(c))
		delete(condition, "lastTransitionTime")
		conditions[i] = condition
	}
	status["conditions"] = conditions
	return status
}
