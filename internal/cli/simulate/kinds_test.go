package simulate

import (
	"strings"
	"testing"

	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// simulatorWith compiles the minimal spec, and more of it, with CustomResourceDefinitions.
func simulatorWith(t *testing.T, rest string, definitions ...string) *Simulator {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(minimal+rest+"---\n"+strings.Join(definitions, "\n---\n")))
	if err != nil {
		t.Fatal(err)
	}
	tc := set.Controllers[0].TemplateController
	compiled, r := spec.Compile(tc.Name, &tc.Spec)
	if r != nil {
		t.Fatal(r.Message)
	}
	known, err := lint.Know(set)
	if err != nil {
		t.Fatal(err)
	}
	s, r := New(tc, compiled, manifest.Contents(set.CRDs), known.Schemas)
	if r != nil {
		t.Fatal(r.Message)
	}
	return s
}

// definition is that of a kind, with the schema of its status.
func definition(kind, scope, status string) string {
	plural := strings.ToLower(kind) + "s"
	return "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: " + plural + ".example.org}, spec: {group: example.org, scope: " + scope + ", names: {kind: " + kind + ", plural: " + plural +
		"}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {status: " + status + "}}}, subresources: {status: {}}}]}}"
}

// TestChildKindsResolveFromCRDs are those of definitions; what nobody defines is taken to be there, but for versions of what is.
func TestChildKindsResolveFromCRDs(t *testing.T) {
	for why, row := range map[string]struct{ child, write, fault string }{
		"undefined kind":      {"{apiVersion: other.org/v1, kind: Thing, metadata: {name: x}}", "create Thing default/x", ""},
		"defined kind":        {"{apiVersion: example.org/v1, kind: Widget, metadata: {name: x}}", "create Widget default/x", ""},
		"undefined version":   {"{apiVersion: example.org/v2, kind: Widget, metadata: {name: x}}", "", "children[a]:1: the cluster does not serve kind Widget in example.org/v2; it is served in version v1"},
		"cluster-scoped kind": {"{apiVersion: example.org/v1, kind: Zone, metadata: {name: x}}", "", "children[a]:1: a Zone is cluster-scoped"},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulatorWith(t, "  children: [{name: a, template: '"+row.child+"'}]\n", definition("Widget", "Namespaced", "{type: object}"), definition("Zone", "Cluster", "{type: object}"))
			// An object of a version that is not served any more is a child as any.
			result, _, writes := settle(t, s, state(t, app, "{apiVersion: example.org/v0, kind: Widget, metadata: {name: old, labels: {templater.dev/child: a}}}"))
			if row.fault == "" {
				wantWrites(t, writes, row.write, "delete Widget default/old", ofStatus)
			} else if wantWrites(t, writes, ofStatus); len(result.Errors) != 1 || !strings.HasPrefix(result.Errors[0], row.fault) {
				t.Errorf("faults %q, want %s", result.Errors, row.fault)
			}
		})
	}
}

// TestTemplatesWaitOnlyForFieldsInSchema: a field that the schema does not have never appears.
func TestTemplatesWaitOnlyForFieldsInSchema(t *testing.T) {
	database := definition("Database", "Namespaced", "{type: object, properties: {host: {type: string}}}")
	for why, row := range map[string]struct{ db, field, reason, message string }{
		"the schema of a CRD has the field":         {"{apiVersion: example.org/v1, kind: Database, metadata: {name: db}}", "status.host", "Waiting", "children[web] waits for .status.host of Database default/db"},
		"the schema of a CRD lacks the field":       {"{apiVersion: example.org/v1, kind: Database, metadata: {name: db}}", "status.hots", "TemplateError", "children[web]:1:94: (first .)"},
		"the schema of a built-in has the field":    {"{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {}}", "spec.clusterIP", "Waiting", "children[web] waits for .spec.clusterIP of Service default/db"},
		"the schema of a built-in lacks the field":  {"{apiVersion: v1, kind: Service, metadata: {name: db}, spec: {}}", "spec.clusterIp", "TemplateError", "children[web]:1:94: (first .)"},
		"a kind that no file defines has no schema": {"{apiVersion: other.org/v1, kind: Thing, metadata: {name: db}}", "status.hots", "Waiting", "children[web] waits for .status.hots of Thing default/db"},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulatorWith(t, `
  children:
  - {name: db, template: '`+row.db+`'}
  - {name: web, template: '{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: {{ with .observed.db }}{{ (first .).`+row.field+` }}{{ end }}}}'}
`, database)
			result, _, _ := settle(t, s, state(t, app))
			if result.Ready.Reason != row.reason || !strings.HasPrefix(result.Ready.Message, row.message) {
				t.Errorf("ready %v, want %s: %s", result.Ready, row.reason, row.message)
			}
		})
	}
}

// TestObservedGenerationFollowsSchema give a generation where there is a place for it.
func TestObservedGenerationFollowsSchema(t *testing.T) {
	const plain = "type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, lastTransitionTime: {type: string}"
	for more, want := range map[string]any{"": nil, ", observedGeneration: {type: integer}": int64(1)} {
		status := "{type: object, properties: {conditions: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [type], items: {type: object, required: [type], properties: {" + plain + more + "}}}}}"
		result, _, _ := settle(t, simulatorWith(t, configMaps, definition("App", "Namespaced", status)), state(t, app))
		conditions, _ := result.Status["conditions"].([]any)
		if len(conditions) != 1 || Map(conditions[0])["type"] != "Ready" || Map(conditions[0])["observedGeneration"] != want {
			t.Errorf("with%s: conditions %v, want observedGeneration %v", more, conditions, want)
		}
	}
}
