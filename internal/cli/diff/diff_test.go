package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/templater-dev/templater/internal/cli/simulate"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/lint/report"
)

const head = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
`

const configMap = head + `
  children:
  - name: map
    template: |
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ .metadata.name }}"}
      data: {text: "{{ .spec.text }}"}
`

const one = `{apiVersion: example.org/v1, kind: App, metadata: {name: one}, spec: {text: hello, loud: true}}`
const two = `{apiVersion: example.org/v1, kind: App, metadata: {name: two}, spec: {text: world}}`

func TestCompareEdits(t *testing.T) {
	pod := head + `
  children:
  - name: pod
    updateStrategy: {type: STRATEGY}
    prunePolicy: PRUNE
    template: |
      {{- range .spec.names | default (list "x") }}
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: "{{ $.metadata.name }}-{{ . }}"}
      spec: {containers: [{name: c, image: "IMAGE"}]}
      {{- end }}
`
	const onDelete = "  - {name: other, updateStrategy: {type: OnDelete}, template: '{apiVersion: v1, kind: Secret, metadata: {name: other}}'}\n"
	with := func(pairs ...string) string {
		return strings.NewReplacer(append(pairs, "STRATEGY", "Recreate", "PRUNE", "Delete", "IMAGE", "v1")...).Replace(pod)
	}
	for why, row := range map[string]struct {
		old, edited string
		want        []string
		tried       []string
	}{
		"no change":                       {configMap, configMap, nil, nil},
		"another text of the same object": {configMap, strings.ReplaceAll(configMap, `"{{ .spec.text }}"`, `{{ .spec.text | quote }}`), nil, nil},
		"an update is tried": {
			configMap, strings.ReplaceAll(configMap, ".spec.text }}", ".spec.text }}{{ if .spec.loud }}!{{ end }}"),
			[]string{"one", "  update ConfigMap one of map"}, []string{"update configmaps default/one"},
		},
		"removed field": {
			configMap, strings.ReplaceAll(configMap, "      data: {text: \"{{ .spec.text }}\"}\n", "      data: {}\n"),
			[]string{"one", "  update ConfigMap one of map", "two", "  update ConfigMap two of map"}, []string{"update configmaps default/one", "update configmaps default/two"},
		},
		"another name": {
			configMap, strings.ReplaceAll(configMap, `"{{ .metadata.name }}"`, `"{{ .metadata.name }}-map"`),
			[]string{"one", "  delete ConfigMap one of map", "  create ConfigMap one-map of map", "two", "  delete ConfigMap two of map", "  create ConfigMap two-map of map"},
			[]string{"create configmaps default/one-map", "create configmaps default/two-map"},
		},
		"Recreate":                           {with(), with("IMAGE", "v2"), []string{"one", "  recreate Pod one-x of pod", "two", "  recreate Pod two-x of pod"}, nil},
		"OnDelete":                           {with("STRATEGY", "OnDelete"), with("STRATEGY", "OnDelete", "IMAGE", "v2"), []string{"one status", "  outdated Pod one-x of pod", "two status", "  outdated Pod two-x of pod"}, nil},
		"OnDelete, and nothing is different": {with("STRATEGY", "OnDelete"), with("STRATEGY", "OnDelete"), nil, nil},
		"OnDelete of another entry": {
			with("STRATEGY", "CreateOnly") + onDelete, with("STRATEGY", "CreateOnly", "IMAGE", "v2") + onDelete, nil, nil,
		},
		"CreateOnly": {with("STRATEGY", "CreateOnly"), with("STRATEGY", "CreateOnly", "IMAGE", "v2"), nil, nil},
		"Orphan": {
			with("PRUNE", "Orphan"), with("PRUNE", "Orphan", `(list "x")`, `(list "y")`),
			[]string{"one", "  orphan Pod one-x of pod", "  create Pod one-y of pod", "two", "  orphan Pod two-x of pod", "  create Pod two-y of pod"},
			[]string{"create pods default/one-y", "create pods default/two-y"},
		},
		"a fault": {
			configMap, strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}{{ if .spec.loud }}{{ fail \"too loud\" }}{{ end }}"),
			[]string{"one status fault: children[map]:4:53: too loud"}, nil,
		},
		"one parent stops matching": {
			configMap, strings.ReplaceAll(configMap, "kind: App}", "kind: App, labelSelector: {matchLabels: {none: such}}}"),
			[]string{"one removed", "  delete ConfigMap one of map", "two removed", "  delete ConfigMap two of map"}, nil,
		},
		"a status": {
			configMap, configMap + "  status: {template: 'said: {{ .spec.text }}'}\n", []string{"one status", "two status"}, nil,
		},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.serve(row.old, nil, one, two)
			report, got := c.compare(row.edited)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.tried, c.tried); diff != "" {
				t.Errorf("what the server has tried (-want +got):\n%s", diff)
			}
			if report.Differs() != (len(row.want) > 0) || report.New || report.Summary.Parents != 2 {
				t.Errorf("the report is %+v", report)
			}
		})
	}
}

func TestCompareNewTemplateController(t *testing.T) {
	c := newCluster(t)
	for _, text := range []string{one, two} {
		parent := contents(t, text)[0]
		simulate.Map(parent["metadata"])["uid"] = "uid-" + text
		simulate.Map(parent["metadata"])["namespace"] = "default"
		c.add(parent)
	}
	report, got := c.compare(configMap)
	want := []string{"one added status", "  create ConfigMap one of map", "two added status", "  create ConfigMap two of map"}
	if diff := cmp.Diff(want, got); diff != "" || !report.New {
		t.Errorf("new is %v; report (-want +got):\n%s", report.New, diff)
	}
	if got, want := report.Summary.String(), "2 of 2 parents change: 2 ConfigMaps would be created, 2 statuses change"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

// TestUnrelatedChangesAreHidden has a child that somebody has deleted: it comes again, with the edit and without it.
func TestUnrelatedChangesAreHidden(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one, two)
	delete(c.objects, schema.GroupResource{Resource: "configmaps"})
	if _, got := c.compare(configMap); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestServerDryRunResults(t *testing.T) {
	edited := strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!")
	configMaps := schema.GroupResource{Resource: "configmaps"}
	created := strings.ReplaceAll(configMap, `"{{ .metadata.name }}"`, `"new-{{ .metadata.name }}"`)
	for why, row := range map[string]struct {
		edited  string
		answer  error
		allowed bool
		want    string // of the first change
		notes   []string
		asked   int
	}{
		"update rejected": {edited, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "one", field.ErrorList{field.Invalid(field.NewPath("data"), "secret", "field is immutable")}), true,
			"  update ConfigMap one of map: data: field is immutable; to replace the object, set updateStrategy.onImmutable to Recreate", nil, 0},
		"update rejected, the object is recreated": {strings.Replace(edited, "    template:", "    updateStrategy: {onImmutable: Recreate}\n    template:", 1), apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "one", field.ErrorList{field.Invalid(field.NewPath("data"), "secret", "field is immutable")}), true,
			"  recreate ConfigMap one of map", nil, 0},
		"creation rejected": {created, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "new-one", field.ErrorList{field.Invalid(field.NewPath("data"), "secret", "is too long")}), true,
			"  create ConfigMap new-one of map: data: invalid value", nil, 0},
		"a rule of admission": {edited, apierrors.NewForbidden(configMaps, "one", nil), true, "  update ConfigMap one of map: denied by an admission plugin; run kubectl apply with the same object to see which one", nil, 4},
		"no right": {edited, apierrors.NewForbidden(configMaps, "one", nil), false, "  update ConfigMap one of map",
			[]string{"2 writes are compared without the API server, because you are not allowed to create and patch configmaps: defaults and rejections are not shown"}, 2},
		"an object with another owner": {created, apierrors.NewConflict(configMaps, "new-one", nil), true,
			"  create ConfigMap new-one of map: an object of this name already exists without the labels of this parent: rename the child in the template, or delete the other object", nil, 0},
		"an object with another owner, on another server": {created, apierrors.NewAlreadyExists(configMaps, "new-one"), true,
			"  create ConfigMap new-one of map: an object of this name already exists without the labels of this parent: rename the child in the template, or delete the other object", nil, 0},
	} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.serve(configMap, nil, one, two)
			c.allowed = row.allowed
			c.answer = func(request.Location, *object.Object) (*object.Object, error) { return nil, row.answer }
			report, got := c.compare(row.edited)
			var first string
			for _, line := range got {
				if strings.Contains(line, " of map") && !strings.HasPrefix(line, "  delete") {
					first = line
					break
				}
			}
			if first != row.want {
				t.Errorf("the first change is %q, want %q", first, row.want)
			}
			if diff := cmp.Diff(row.notes, report.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if c.asked > row.asked {
				t.Errorf("%d access reviews, want at most %d", c.asked, row.asked)
			}
		})
	}
}

// TestChildInNamespaceCreatedByEdit has a child in a Namespace that is created with it: the server cannot try that.
func TestChildInNamespaceCreatedByEdit(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	_, got := c.compare(configMap + `
  - name: space
    scope: Cluster
    template: "{apiVersion: v1, kind: Namespace, metadata: {name: space}}"
  - name: inside
    scope: Cluster
    template: "{apiVersion: v1, kind: ConfigMap, metadata: {name: inside, namespace: space}}"
`)
	if diff := cmp.Diff([]string{"one status", "  create ConfigMap inside of inside", "  create Namespace space of space"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"create namespaces /space"}, c.tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
}

func TestServerDefaultsAppearInDiff(t *testing.T) {
	c := newCluster(t)
	c.serve(configMap, nil, one)
	c.answer = func(_ request.Location, body *object.Object) (*object.Object, error) {
		content := body.Content()
		simulate.Map(content["data"])["defaulted"] = "yes"
		return object.From(content)
	}
	report, _ := c.compare(strings.ReplaceAll(configMap, "{{ .spec.text }}", "{{ .spec.text }}!"))
	want := `--- before/ConfigMap/default/one
+++ after/ConfigMap/default/one
@@ -1,6 +1,7 @@
 apiVersion: v1
 data:
-  text: hello
+  defaulted: "yes"
+  text: hello!
 kind: ConfigMap
 metadata:
   name: one
`
	if diff := cmp.Diff(want, report.Parents[0].Changes[0].Diff); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRemovedFieldsAppearInDiff has a field of a child, and one of the status, that an edit removes; what others have set stays.
func TestRemovedFieldsAppearInDiff(t *testing.T) {
	const old = configMap + "  status: {template: 'text: a'}\n"
	c := newCluster(t)
	c.serve(old, nil, one)
	held := func(o map[string]any, subresource, fields string) {
		simulate.Map(o["metadata"])["managedFields"] = []any{map[string]any{
			"manager": "templater/apps", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "subresource": subresource,
			"fieldsV1": contents(t, fields)[0]["fields"],
		}}
	}
	for gr, all := range c.objects {
		for i, o := range all {
			content := o.Content()
			switch gr.Resource {
			case "apps":
				status := simulate.Map(content["status"])
				status["others"], status["conditions"] = "stays", append([]any{map[string]any{"type": "Other", "status": "True"}}, status["conditions"].([]any)...)
				held(content, "status", `{apiVersion: v1, kind: X, metadata: {name: x}, fields: {"f:status": {"f:text": {}, "f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:type": {}}}}}}`)
			case "configmaps":
				simulate.Map(content["data"])["others"] = "stays"
				held(content, "", `{apiVersion: v1, kind: X, metadata: {name: x}, fields: {"f:data": {"f:text": {}}}}`)
			default:
				continue
			}
			changed, err := object.From(content)
			if err != nil {
				t.Fatal(err)
			}
			all[i] = changed
		}
	}
	report, got := c.compare(head + `
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}"}, data: {new: a}}
  status: {template: 'keys: "{{ (first .children.map).data | keys | join " " }}"'}
`)
	if diff := cmp.Diff([]string{"one status", "  update ConfigMap one of map"}, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	const want = `--- before/status
+++ after/status
@@ -6,5 +6,5 @@
   reason: Ready
   status: "True"
   type: Ready
+keys: new others
 others: stays
-text: a
`
	if diff := cmp.Diff(want, report.Parents[0].Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestSecretValuesAreHidden(t *testing.T) {
	secret := strings.NewReplacer("kind: ConfigMap", "kind: Secret", "data: {text:", "stringData: {same: top, text:").Replace(configMap)
	c := newCluster(t)
	c.serve(secret, nil, one)
	shown, _ := c.compare(strings.ReplaceAll(secret, "{{ .spec.text }}", "{{ .spec.text }}!"))
	var b strings.Builder
	if err := JSON(&b, []*Report{shown}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&b, report.Colors{}, shown); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"hello", "aGVsbG8", "dG9w", "top"} {
		if strings.Contains(b.String(), value) {
			t.Errorf("%q shows in %s", value, b.String())
		}
	}
	if !strings.Contains(b.String(), "-  text: '*** (before)'") || !strings.Contains(b.String(), "  same: '***'") {
		t.Errorf("got %s", b.String())
	}
}
