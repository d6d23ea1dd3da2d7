package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestParentsGetSchemaDefaults(t *testing.T) {
	const schema = `
properties:
  spec:
    default: {}
    properties:
      replicas: {default: 2}
      nothing: {nullable: true, default: 1}
      tls: {properties: {mode: {default: strict}}}
      size: {default: {cpu: 1}, properties: {memory: {default: 64}}}
      ports: {items: {properties: {protocol: {default: TCP}}}}
      queues: {additionalProperties: {properties: {length: {default: 10}}}}
`
	for why, row := range map[string]struct{ given, want string }{
		"empty object":            {`{}`, `{spec: {replicas: 2, nothing: 1, size: {cpu: 1, memory: 64}}}`},
		"set fields are kept":     {`{spec: {replicas: 0, nothing: 3, size: {memory: 1}, more: x}}`, `{spec: {replicas: 0, nothing: 3, size: {memory: 1}, more: x}}`},
		"null is nothing":         {`{spec: {replicas: null, nothing: null, size: {}}}`, `{spec: {replicas: 2, nothing: null, size: {memory: 64}}}`},
		"a map that is not there": {`{spec: {nothing: 1, size: {memory: 1}, tls: {}}}`, `{spec: {replicas: 2, nothing: 1, size: {memory: 1}, tls: {mode: strict}}}`},
		"in lists and maps":       {`{spec: {nothing: 1, size: {memory: 1}, ports: [{}, {protocol: UDP}], queues: {a: {}, b: {length: 1}}}}`, `{spec: {replicas: 2, nothing: 1, size: {memory: 1}, ports: [{protocol: TCP}, {protocol: UDP}], queues: {a: {length: 10}, b: {length: 1}}}}`},
		"another type than meant": {`{spec: {nothing: 1, size: {memory: 1}, ports: x, tls: [1]}}`, `{spec: {replicas: 2, nothing: 1, size: {memory: 1}, ports: x, tls: [1]}}`},
	} {
		given := yamlOf(t, row.given)
		if diff := cmp.Diff(yamlOf(t, row.want), withDefaults(given, yamlOf(t, schema))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
		if diff := cmp.Diff(yamlOf(t, row.given), given); diff != "" {
			t.Errorf("%s: the value itself has changed:\n%s", why, diff)
		}
	}
}

func yamlOf(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
