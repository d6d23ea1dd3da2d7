package scaffold

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/templater-dev/templater/internal/lint"
	"github.com/templater-dev/templater/internal/lint/manifest"
)

func TestCELIsConverted(t *testing.T) {
	for expression, want := range map[string]string{
		`schema.spec.image`:                             `.spec.image`,
		`schema.metadata.name + "-" + schema.spec.tier`: `printf "%v%v%v" .metadata.name "-" .spec.tier`,
		`schema.spec.replicas + 1`:                      `add .spec.replicas 1`,
		`schema.spec.replicas > 1 ? "many" : "one"`:     `ternary "many" "one" (gt .spec.replicas 1)`,
		`schema.spec.on && !schema.spec.off`:            `and .spec.on (not .spec.off)`,
		`has(schema.spec.host)`:                         `hasKey .spec "host"`,
		`schema.spec.?host.orValue("example.org")`:      `default "example.org" .spec.host`,
		`schema.spec.list[0]`:                           `index .spec.list 0`,
		`schema.metadata.labels["a.b/c"]`:               `index .metadata.labels "a.b/c"`,
		`size(schema.spec.list) == 0`:                   `eq (len .spec.list) 0`,
		`web.status.availableReplicas`:                  `(first .children.web).status.availableReplicas`,
		`pods[0].metadata.name`:                         `(index .children.pods 0).metadata.name`,
		`platform.data.currency`:                        `(first .related.platform).data.currency`,
		`schema.spec.name.startsWith("a")`:              `hasPrefix "a" .spec.name`,
		`schema.spec.names.join(",")`:                   `join "," .spec.names`,
		`schema.spec.name in ["a", "b"]`:                `has .spec.name (list "a" "b")`,
		`schema.spec.list.map(x, x.name)`:               `fail "TODO: convert CEL expression: schema.spec.list.map(x, x.name)"`,
		`other.status`:                                  `fail "TODO: convert CEL expression: other.status"`,
		`schema.spec.`:                                  `fail "TODO: convert CEL expression: schema.spec."`,
		`{"a": 1}`:                                      `fail "TODO: convert CEL expression: {\"a\": 1}"`,
		`quantity("1Gi")`:                               `fail "TODO: convert CEL expression: quantity(\"1Gi\")"`,
		`schema.spec.a.size(1)`:                         `fail "TODO: convert CEL expression: schema.spec.a.size(1)"`,
	} {
		t.Run(expression, func(t *testing.T) {
			g := &graph{resources: map[string]bool{"web": false, "pods": true, "platform": false}, related: map[string]bool{"platform": true}}
			if got := g.expression("here", expression); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if failed := strings.HasPrefix(want, "fail "); failed != (len(g.notes) == 1) {
				t.Errorf("notes: %v", g.notes)
			}
		})
	}
}

func convertRGD(t *testing.T, text string) *Result {
	t.Helper()
	set, err := manifest.Load([]string{manifest.Stdin}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	result, err := FromRGD(set.Objects[0], false)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestDocumentedRGDConvertsWithoutFindings converts the example of the page for users of kro.
func TestDocumentedRGDConvertsWithoutFindings(t *testing.T) {
	text, err := os.ReadFile("../../../docs/how-to/coming-from/kro/before/resourcegraphdefinition.yaml")
	if err != nil {
		t.Fatal(err)
	}
	result := convertRGD(t, string(text))
	folder := t.TempDir()
	for _, file := range result.Files {
		if err := os.WriteFile(filepath.Join(folder, file.Name), []byte(file.Content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := manifest.Load([]string{folder}, nil)
	if err != nil {
		t.Fatal(err)
	}
	known, err := lint.Know(set)
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := known.Check(set); len(found) > 0 {
		t.Errorf("findings: %v\n%s", found, result.Files[0].Content)
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0].Message, "the types in spec.crd.schema.status are inferred") {
		t.Errorf("notes: %v", result.Notes)
	}
}

func TestRGDPartsAreConverted(t *testing.T) {
	result := convertRGD(t, `
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: shops}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Shop
    scope: Cluster
    spec: {name: string | required=true, zones: "[]string", enabled: boolean, owner: Owner}
    types: {Owner: {email: string}}
    status: {ready: "${web.status.readyReplicas == 1}", web: {replicas: "${web.status.replicas}"}}
    additionalPrinterColumns: [{name: Name, type: string, jsonPath: .spec.name}]
  resources:
  - id: teams
    externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {namespace: "${schema.spec.name}", selector: {matchLabels: {team: "${schema.spec.name}"}}}}
    includeWhen: ["${schema.spec.enabled}"]
  - id: web
    readyWhen: ["${web.status.readyReplicas == 1}", "${web.status.replicas > 0}", "${other.x}"]
    includeWhen: ["${schema.spec.enabled}"]
    forEach: [{zone: "${schema.spec.zones}"}]
    lifecycle: {}
    template: {apiVersion: v1, kind: Namespace, metadata: {name: "${schema.spec.name}-${zone}"}}
`)
	want := `# Generated from ResourceGraphDefinition shops.
apiVersion: templater.dev/v1
kind: TemplateController
metadata:
  name: shops
spec:
  watch:
    apiVersion: kro.run/v1alpha1
    kind: Shop
  crd:
    columns:
    - jsonPath: .spec.name
      name: Name
      type: string
    schema:
      spec:
        enabled: boolean
        name: string | required=true
        owner: Owner
        zones: '[]string'
      status:
        ready: boolean
        web:
          replicas: integer
      types:
        Owner:
          email: string
    scope: Cluster
  related:
  - name: teams
    apiVersion: v1
    kind: ConfigMap
    select: |
      labelSelector:
        matchLabels:
          team: {{ .spec.name }}
      namespace: {{ .spec.name }}
  children:
  - name: web
    scope: Cluster
    readyWhen: 'and (eq .object.status.readyReplicas 1) (gt .object.status.replicas 0)'
    template: |
      {{- if $.spec.enabled }}
      {{- range $zone := .spec.zones }}
      ---
      apiVersion: v1
      kind: Namespace
      metadata:
        name: {{ $.spec.name }}-{{ $zone }}
      {{- end }}
      {{- end }}
  status:
    template: |
      ready: {{ eq .children.web.status.readyReplicas 1 }}
      web:
        replicas: {{ .children.web.status.replicas }}
`
	if diff := cmp.Diff(want, result.Files[0].Content); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var notes []string
	for _, note := range result.Notes {
		notes = append(notes, note.Message)
	}
	if diff := cmp.Diff([]string{
		"spec.resources[teams].includeWhen: unsupported for an externalRef, ignored: the related object is always read; test the condition where templates use it",
		"spec.resources[web].lifecycle: unsupported field, ignored: convert it by hand",
		"spec.resources[web].readyWhen: cannot convert CEL expression \"other.x\": readyWhen can reference only its own resource; rewrite it as a template expression",
		"spec.schema.status: the types in spec.crd.schema.status are inferred from the expressions: verify them",
	}, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}
