package object

import (
	"testing"

	"sigs.k8s.io/yaml"
)

func TestParentOfChildIsReadFromMetadata(t *testing.T) {
	const owned = `ownerReferences: [{apiVersion: example.org/v1, kind: App, name: owner, uid: u, controller: true}]`
	for why, row := range map[string]struct {
		metadata        string
		namespace, name string
		crossScope      bool
	}{
		"its owner":                           {`namespace: ns, ` + owned, "ns", "owner", false},
		"its owner, whatever else it says":    {`namespace: ns, ` + owned + `, annotations: {templater.dev/parent: other/one}`, "ns", "owner", false},
		"an annotation":                       {`namespace: ns, annotations: {templater.dev/parent: one}`, "ns", "one", false},
		"an annotation, with the namespace":   {`namespace: ns, annotations: {templater.dev/parent: other/one}`, "other", "one", true},
		"it has no namespace itself":          {`annotations: {templater.dev/parent: other/one}`, "other", "one", true},
		"nothing":                             {`namespace: ns`, "ns", "", false},
		"an owner that is not its controller": {`namespace: ns, ownerReferences: [{apiVersion: v1, kind: App, name: owner, uid: u}]`, "ns", "", false},
	} {
		text, err := yaml.YAMLToJSON([]byte("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, " + row.metadata + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		o := decode(t, string(text))
		if namespace, name := o.ParentName(); namespace != row.namespace || name != row.name {
			t.Errorf("%s: %s in %s, want %s in %s", why, name, namespace, row.name, row.namespace)
		}
		if got := o.CrossScope(); got != row.crossScope {
			t.Errorf("%s: of scope Cluster: %v", why, got)
		}
	}
}
