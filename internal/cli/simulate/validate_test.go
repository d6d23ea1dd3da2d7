package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

// rendering returns a Simulator that validates, with one child template.
func rendering(t *testing.T, template string) *Simulator {
	t.Helper()
	s := simulator(t, "  children:\n  - name: one\n    template: |\n      "+strings.ReplaceAll(template, "\n", "\n      ")+"\n")
	s.Validates = true
	return s
}

func TestRefusedChildrenAreErrors(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: a}}\n  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}"
		ingress    = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec: {rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}"
	)
	for why, row := range map[string]struct{ template, old, with, want string }{
		"valid":                {deployment, "", "", ""},
		"text for a number":    {deployment, "replicas: 1", "replicas: three", "children[one]:1: cannot create Deployment default/a: .spec.replicas: wrong type, expected number"},
		"name in upper case":   {deployment, "{name: a}", "{name: Bad_Name}", "children[one]:1: cannot create Deployment default/Bad_Name: metadata.name: invalid value: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"},
		"no base64":            {"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: hello world}", "", "", "children[one]:1: cannot create Secret default/a: data is not base64; put plain text under stringData, or use b64enc"},
		"no selector":          {deployment, "  selector: {matchLabels: {app: a}}\n", "", "children[one]:1: cannot create Deployment default/a: spec.selector: required value is missing"},
		"no pathType":          {ingress, ", pathType: Prefix", "", "children[one]:1: cannot create Ingress default/a: spec.rules[0].http.paths[0].pathType: required value is missing"},
		"two containers":       {deployment, "{name: a, image: a}", "{name: a, image: a}, {name: a, image: b}", "children[one]:1: cannot create Deployment default/a: .spec.template.spec.containers: two items of the list have the same key"},
		"a field in a value":   {deployment, "image: a", "image: {{ .spec.text | quote }}, imge: a", `children[one]:1: cannot create Deployment default/a: .spec.template.spec.containers[…].imge: the schema has no such field`},
		"an unknown kind":      {"apiVersion: example.org/v1\nkind: Other\nmetadata: {name: a}\nspec: {a: b}", "", "", ""},
		"a bad label":          {"apiVersion: example.org/v1\nkind: Other\nmetadata: {name: a, labels: {a: -x}}", "", "", "children[one]:1: cannot create Other default/a: metadata.labels: invalid value: a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"},
		"a quantity, by place": {deployment, "image: a", "image: a, resources: {limits: {cpu: a lot}}", "children[one]:1: cannot create Deployment default/a: .spec.template.spec.containers[0].resources.limits.cpu: a resource quantity is not valid; write it as 250m, 2 or 64Mi"},
	} {
		t.Run(why, func(t *testing.T) {
			s := rendering(t, strings.Replace(row.template, row.old, row.with, 1))
			result, _, _ := settle(t, s, state(t, app))
			if got := strings.Join(result.Errors, "\n"); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			s.Validates = false
			if result, _, _ := settle(t, s, state(t, app)); len(result.Errors) > 0 {
				t.Errorf("without validation: %s", result.Errors)
			}
		})
	}
}

func TestUpdatesOfImmutableFieldsAreErrors(t *testing.T) {
	const replace = "field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate"
	for why, row := range map[string]struct{ template, want string }{
		"Job":          {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: {{ .spec.text }}}]}}}", "children[one]:1: cannot update Job default/a: spec.template: " + replace},
		"selector":     {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {app: {{ .spec.text }}}}, template: {metadata: {labels: {app: {{ .spec.text }}}}, spec: {containers: [{name: a, image: a}]}}}", "children[one]:1: cannot update Deployment default/a: spec.selector: " + replace},
		"role":         {"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .spec.text }}}", "children[one]:1: cannot update RoleBinding default/a: roleRef: " + replace},
		"claim":        {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {accessModes: [ReadWriteOnce], storageClassName: {{ .spec.text }}, resources: {requests: {storage: 1Gi}}}", "children[one]:1: cannot update PersistentVolumeClaim default/a: spec: field is immutable; to replace the object, whose data may then be lost, set updateStrategy.onImmutable to Recreate"},
		"only a label": {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {a: {{ .spec.text }}}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}", ""},
	} {
		t.Run(why, func(t *testing.T) {
			s := rendering(t, row.template)
			_, in, _ := settle(t, s, state(t, app))
			in.Parent = memserver.Patch(in.Parent, map[string]any{"spec": map[string]any{"text": "bye"}})
			result, _, _ := settle(t, s, in)
			if got := strings.Join(result.Errors, "\n"); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

const shops = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: shops}
spec:
  watch: {apiVersion: example.org/v1, kind: Shop}
  crd:
    schema:
      spec:
        size: integer | required=true maximum=5
        class: string | immutable=true
        mode: string | enum="A,B"
  children:
  - name: maps
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: "{{ .spec.size }}"}}
`

// withDefinition returns a Simulator of shops that validates.
func withDefinition(t *testing.T) *Simulator {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(shops))
	if err != nil {
		t.Fatal(err)
	}
	known, err := lint.Know(set)
	if err != nil {
		t.Fatal(err)
	}
	checked := known.CheckOne(set.Controllers[0])
	s, r := New(set.Controllers[0].TemplateController, checked.Compiled, known.Kinds, known.Schemas)
	if r != nil {
		t.Fatal(r.Message)
	}
	s.Validates = true
	return s
}

func TestParentsAreValidated(t *testing.T) {
	for why, row := range map[string]struct{ spec, change, want string }{
		"valid":              {"{size: 1, class: a, mode: A}", "{size: 2}", ""},
		"missing field":      {"{mode: A}", "", "spec.size: required value is missing"},
		"too large":          {"{size: 6}", "", "spec.size: invalid value: should be less than or equal to 5"},
		"unknown field":      {"{size: 1, sise: 2}", "", ".spec.sise: the schema has no such field"},
		"wrong type":         {"{size: one}", "", ".spec.size: wrong type, expected number"},
		"not in the enum":    {"{size: 1, mode: C}", "", "spec.mode: value is not supported: supported values: A, B"},
		"a typo in a change": {"{size: 1}", "{sise: 2}", ".spec.sise: the schema has no such field"},
		"immutable field":    {"{size: 1, class: a}", "{class: b}", "spec.class: field is immutable"},
	} {
		t.Run(why, func(t *testing.T) {
			s := withDefinition(t)
			in := state(t, "{apiVersion: example.org/v1, kind: Shop, metadata: {name: one}, spec: "+row.spec+"}")
			_, next, err := s.Settle(in)
			if err == nil && row.change != "" {
				next.Parent = memserver.Patch(next.Parent, objects(t, "{apiVersion: example.org/v1, kind: Shop, spec: "+row.change+"}")[0])
				_, _, err = s.Settle(next)
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if want := "the API server would refuse Shop default/one: " + row.want; row.want == "" && got != "" || row.want != "" && got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// A Namespace that is rendered after its objects makes the first reconciliation fail, as in a cluster.
func TestObjectsNeedTheirNamespace(t *testing.T) {
	s := rendering(t, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: elsewhere}}")
	s.spec.Children[0].Scope = "Cluster"
	parent := state(t, app)
	result, _, err := s.Reconcile(parent)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cannot create ConfigMap shop/a: its namespace does not exist; create the namespace, or change metadata.namespace in the template"}; cmp.Diff(want, result.Errors) != "" {
		t.Errorf("errors: %s", result.Errors)
	}
	if result, _, _ := settle(t, s, parent); len(result.Errors) > 0 || len(result.Children) != 3 {
		t.Errorf("in the end: %s", result.Errors)
	}
}
