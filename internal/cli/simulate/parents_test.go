package simulate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/lint/manifest"
	"github.com/templater-dev/templater/internal/reconcile/spec"
)

// TestParentWithoutWritableStatus have no status that templater writes.
func TestParentWithoutWritableStatus(t *testing.T) {
	s := simulatorOf(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: v1, kind: Namespace}
  children:
  - name: map
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: {{ .metadata.name }}}}
`)
	result, out, writes := settle(t, s, state(t, "{apiVersion: v1, kind: Namespace, metadata: {name: team}}"))
	wantWrites(t, writes, "create ConfigMap team/map")
	if result.Status != nil || out.Parent["status"] != nil || Map(out.Parent["metadata"])["namespace"] != nil || result.Ready.Status != "True" {
		t.Errorf("status %v, parent %v, ready %v", result.Status, out.Parent, result.Ready)
	}
}

// simulatorOf compiles a TemplateController.
func simulatorOf(t *testing.T, text string) *Simulator {
	t.Helper()
	set, err := manifest.Load([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	tc := set.Controllers[0].TemplateController
	compiled, r := spec.Compile(tc.Name, &tc.Spec)
	if r != nil {
		t.Fatal(r.Message)
	}
	s, r := New(tc, compiled, nil, nil)
	if r != nil {
		t.Fatal(r.Message)
	}
	return s
}

// TestNewRejectsInvalidTemplateController are refused.
func TestNewRejectsInvalidTemplateController(t *testing.T) {
	set, err := manifest.Load([]string{"-"}, strings.NewReader(`
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: v1, kind: Namespace, namespaces: [a]}
  children: [{name: a, template: ' '}]
`))
	if err != nil {
		t.Fatal(err)
	}
	tc := set.Controllers[0].TemplateController
	compiled, _ := spec.Compile(tc.Name, &tc.Spec)
	if s, r := New(tc, compiled, nil, nil); s != nil || r == nil || !strings.Contains(r.Message, "namespaces") {
		t.Errorf("rejected as %+v", r)
	}
}

// TestPlacedKeepsGivenFields fills in the rest.
func TestPlacedKeepsGivenFields(t *testing.T) {
	s := simulator(t, configMaps)
	given := state(t, "{apiVersion: example.org/v1, kind: App, metadata: {name: one, namespace: team, uid: u, generation: 7, creationTimestamp: \"2026-01-01T00:00:00Z\"}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}", "{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: other}}")
	placed := s.Placed(given)
	if diff := cmp.Diff(given.Parent, placed.Parent); diff != "" {
		t.Errorf("parent (-given +got):\n%s", diff)
	}
	for i, want := range []any{"team", nil, "other"} {
		if got := Map(placed.Objects[i]["metadata"])["namespace"]; got != want {
			t.Errorf("object %d is in namespace %v, want %v", i, got, want)
		}
	}
	if Map(given.Objects[0]["metadata"])["namespace"] != nil {
		t.Error("what was given has changed")
	}
	metadata := Map(s.Placed(state(t, app)).Parent["metadata"])
	if metadata["namespace"] != "default" || metadata["generation"] != int64(1) || len(Text(metadata["uid"])) != 36 {
		t.Errorf("metadata of a parent that gives none: %v", metadata)
	}
}

// TestChildMatchingOwnWatchIsRejected are refused, unless they are not watched.
func TestChildMatchingOwnWatchIsRejected(t *testing.T) {
	for why, row := range map[string]struct {
		watch, namespace string
		faults           int
	}{
		"all are watched":             {"", "", 1},
		"those with its labels are":   {", labelSelector: {matchLabels: {tier: front}}", "", 1},
		"those with other labels are": {", labelSelector: {matchLabels: {tier: front, kind: top}}", "", 0},
		"those of its namespace are":  {", namespaces: [team]", "", 1},
		"in another namespace":        {", namespaces: [team]", ", namespace: other", 0},
		"in another listed namespace": {", namespaces: [team, other]", ", namespace: other", 1},
	} {
		t.Run(why, func(t *testing.T) {
			s := simulatorOf(t, `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: v1, kind: ConfigMap`+row.watch+`}
  children:
  - name: map
    scope: Cluster
    template: |
      {apiVersion: v1, kind: ConfigMap, metadata: {name: map`+row.namespace+`, labels: {tier: front}}}
`)
			result, _, _ := settle(t, s, state(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team, labels: {tier: front, kind: top}}}"))
			if len(result.Errors) != row.faults || row.faults > 0 && !strings.Contains(result.Errors[0], "matches spec.watch of its own TemplateController") {
				t.Errorf("faults %q", result.Errors)
			}
		})
	}
}

// TestEmptyAndNullStatusTemplates has a status template that yields nothing, and one that yields null.
func TestEmptyAndNullStatusTemplates(t *testing.T) {
	for template, want := range map[string]map[string]any{"' '": nil, "'{a: null, b: 1}'": {"b": int64(1)}} {
		s := simulator(t, "  status: {template: '{{ if eq .spec.text \"bye\" }}"+strings.Trim(template, "'")+"{{ else }}c: 1{{ end }}', readyCondition: ''}\n")
		_, in, _ := settle(t, s, state(t, app))
		in.Parent = memserver.Patch(in.Parent, data(t, `{spec: {text: bye}}`))
		_, out, _ := settle(t, s, in)
		status, has := out.Parent["status"]
		if diff := cmp.Diff(want, Map(status)); diff != "" || has != (want != nil) {
			t.Errorf("%s: status (-want +got):\n%s", template, diff)
		}
	}
}
