package typed

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/openapi"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/render/finding"
	"github.com/templater-dev/templater/internal/render/syntax"
)

// checkerOf returns what checks a status template that knows no schema.
func checkerOf(t *testing.T, status string) (*checker, *syntax.Unit) {
	t.Helper()
	s := &v1.TemplateControllerSpec{
		Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Shop"}, Helpers: `{{ define "h" }}x{{ end }}`, Status: &v1.ParentStatus{Template: status},
		Related: []v1.Related{{Name: "pods", APIVersion: "v1", Kind: "Pod", Logs: &v1.PodLogs{}}},
	}
	compiled, rejection := spec.Compile("x", s)
	if rejection != nil {
		t.Fatalf("%s: %s", status, rejection.Message)
	}
	c := newChecker(nil, &v1.TemplateController{Spec: *s}, compiled.Program, nil)
	return c, c.units.Status
}

// shopCRD defines the parents of these tests.
const shopCRD = `
spec:
  group: example.org
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [image, replicas, hosts, template, mode]
            properties:
              image: {type: string}
              replicas: {type: integer}
              factor: {type: number}
              mode: {type: string, enum: [Small, Large]}
              paused: {type: boolean}
              hosts: {type: array, items: {type: string}}
              port: {type: integer}
              tls: {type: object, required: [secretName], properties: {secretName: {type: string}, enabled: {type: boolean}}}
              nodeSelector: {type: object, additionalProperties: {type: string}}
              ports: {type: array, items: {type: object, required: [name], properties: {name: {type: string}, number: {type: integer}}}}
              template: {type: object, properties: {command: {type: string}, resources: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
          status:
            type: object
            properties:
              phase: {type: string}
              count: {type: integer}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string, enum: ["True", "False", Unknown]}}}}
`

// known returns the schema of the parents, and of some other kinds.
func known(t *testing.T) openapi.Set {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(shopCRD), crd); err != nil {
		t.Fatal(err)
	}
	return openapi.Join(openapi.FromCRD(crd), few{})
}

// few are some types of kinds that are built in.
type few struct{}

func (few) Lookup(kind gvk.GroupVersionKind) (*openapi.Type, bool) {
	text := &openapi.Type{Kinds: openapi.String}
	whole := &openapi.Type{Kinds: openapi.Integer}
	texts := &openapi.Type{Kinds: openapi.Map, Items: text}
	object := func(fields map[string]openapi.Field) *openapi.Type {
		return &openapi.Type{Kinds: openapi.Map, Fields: fields}
	}
	metadata := object(map[string]openapi.Field{"name": {Type: text, Present: true}, "uid": {Type: text}, "labels": {Type: texts}, "annotations": {Type: texts}, "namespace": {Type: text}})
	whatever := func(fields map[string]openapi.Field) *openapi.Type {
		fields["apiVersion"], fields["kind"], fields["metadata"] = openapi.Field{Type: text, Present: true}, openapi.Field{Type: text, Present: true}, openapi.Field{Type: metadata, Present: true}
		return object(fields)
	}
	switch kind.Kind {
	case "Pod":
		container := object(map[string]openapi.Field{
			"name": {Type: text, Present: true}, "image": {Type: text},
			"ports": {Type: &openapi.Type{Kinds: openapi.List, Items: object(map[string]openapi.Field{"containerPort": {Type: whole}})}},
		})
		return whatever(map[string]openapi.Field{
			"spec":   {Type: object(map[string]openapi.Field{"containers": {Type: &openapi.Type{Kinds: openapi.List, Items: container}}, "nodeName": {Type: text}, "restartPolicy": {Type: &openapi.Type{Kinds: openapi.String, Enum: []string{"Always", "Never", "OnFailure"}}}})},
			"status": {Type: object(map[string]openapi.Field{"phase": {Type: &openapi.Type{Kinds: openapi.String, Enum: []string{"Pending", "Running", "Succeeded", "Failed", "Unknown"}}}, "podIP": {Type: text}})},
		}), true
	case "ConfigMap":
		return whatever(map[string]openapi.Field{"data": {Type: texts}}), true
	case "Job":
		return whatever(map[string]openapi.Field{"spec": {Type: object(map[string]openapi.Field{"ttlSecondsAfterFinished": {Type: whole}, "parallelism": {Type: whole}})}}), true
	}
	return nil, kind.Kind != "Deploymnt"
}

// given is what a test has checked.
type given struct {
	status, child, helpers, values, readyWhen string
}

// checked returns what is found, as text.
func checked(t *testing.T, in given, set openapi.Set) []finding.Finding {
	t.Helper()
	s := &v1.TemplateControllerSpec{Watch: v1.Watch{APIVersion: "example.org/v1", Kind: "Shop"}, Helpers: in.helpers}
	if in.status != "" {
		s.Status = &v1.ParentStatus{Template: in.status}
	}
	child := in.child
	if child == "" {
		child = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"
	}
	s.Children = []v1.Child{{Name: "pod", Template: child, ReadyWhen: in.readyWhen}}
	s.Related = []v1.Related{{Name: "maps", APIVersion: "v1", Kind: "ConfigMap"}}
	if in.values != "" {
		s.Values = &apiextensionsv1.JSON{Raw: []byte(in.values)}
	}
	compiled, rejection := spec.Compile("x", s)
	if rejection != nil {
		t.Fatalf("%+v: %s", in, rejection.Message)
	}
	return Check(nil, &v1.TemplateController{Spec: *s}, compiled.Program, set)
}

func TestLintFindings(t *testing.T) {
	set := known(t)
	for why, row := range map[string]struct {
		given
		want []string
	}{
		"nothing":                               {given{status: `phase: {{ .spec.image }}`}, nil},
		"a misspelled field":                    {given{status: `phase: {{ .spec.imgae }}`}, []string{"error TL030 status:1:17+5 Shop has no field .spec.imgae; did you mean image? -> image"}},
		"a misspelled field in a with":          {given{status: `{{ with .spec.tls }}phase: {{ .secretNam }}{{ end }}`}, []string{"warning TL030 status:1:32+9 Shop has no field .spec.tls.secretNam, so it is always missing; did you mean secretName? -> secretName"}},
		"by a variable":                         {given{status: `{{ $s := .spec }}phase: {{ $s.imag }}`}, []string{"error TL030 status:1:31+4 Shop has no field .spec.imag; did you mean image? -> image"}},
		"in a range":                            {given{status: "phase: {{ range $i, $p := .spec.ports }}{{ $p.nam }}{{ .numbr | default 1 }}{{ end }}"}, []string{"error TL030 status:1:47+3 Shop has no field .spec.ports[].nam; did you mean name? -> name", "warning TL030 status:1:57+5 Shop has no field .spec.ports[].numbr, so it is always missing; did you mean number? -> number"}},
		"where nil is fine":                     {given{status: `{{ if .spec.pausd }}phase: a{{ end }}`}, []string{"warning TL030 status:1:13+5 Shop has no field .spec.pausd, so it is always missing; did you mean paused? -> paused"}},
		"too high":                              {given{status: `phase: {{ .spec.command }}`}, []string{"error TL030 status:1:17+7 Shop has no field .spec.command; it is in .spec.template -> template.command"}},
		"too low":                               {given{status: `phase: {{ .spec.template.replicas }}`}, []string{"error TL030 status:1:26+8 Shop has no field .spec.template.replicas; it is in .spec"}},
		"a list for a map":                      {given{status: `phase: {{ .spec.hosts.name }}`}, []string{"error TL031 status:1:23+4 .spec.hosts of Shop is a list, so it has no .name; use range, first or index"}},
		"a list whose items have it":            {given{status: `phase: {{ .spec.ports.name }}`}, []string{"error TL031 status:1:23+4 .spec.ports of Shop is a list, so it has no .name; its items have it: use range, first or index"}},
		"a list of objects for one":             {given{status: `phase: {{ .children.pod.status.phase }}`}, []string{"error TL031 status:1:25+6 .children.pod is a list, so it has no .status; its items have it: use range, first or index"}},
		"a scalar for a map":                    {given{status: `phase: {{ .spec.image.tag }}`}, []string{"error TL031 status:1:23+3 .spec.image of Shop is a string, so it has no .tag"}},
		"open below":                            {given{status: `phase: {{ .spec.template.resources.limits.cpu }}`}, nil},
		"labels are open":                       {given{status: `phase: {{ .metadata.labels.app | default "x" }}`}, nil},
		"templates cannot read it":              {given{status: `phase: {{ .metadata.resourceVersion }}`}, []string{"error TL030 status:1:21+15 Shop has no field .metadata.resourceVersion: templates cannot read it, because it changes all the time"}},
		"text for a list":                       {given{status: `phase: {{ join "," .spec.image }}{{ len (without .spec.image "a") }}`}, []string{"error TL033 status:1:50+11 without: argument 1, .spec.image, is a string, not a list"}},
		"swapped join":                          {given{status: `phase: {{ join .spec.hosts "," }}`}, []string{"warning TL038 status:1:11+4 join takes the separator first and the list last"}},
		"default without a fallback":            {given{status: `phase: {{ default .spec.port }}{{ .spec.port | default }}`}, []string{"warning TL038 status:1:11+7 default has one argument and no fallback; write default FALLBACK .spec.port", "warning TL038 status:1:48+7 default has one argument and no fallback; write VALUE | default FALLBACK"}},
		"swapped default":                       {given{status: `phase: {{ default .spec.image "x" }}`}, []string{`warning TL038 status:1:11+7 default takes the fallback first, so this always yields "x"; write default "x" .spec.image`}},
		"a list for text":                       {given{status: `phase: {{ upper .spec.hosts }}`}, []string{"error TL033 status:1:17+11 upper: argument 1, .spec.hosts, is a list, not text; convert it with toJson"}},
		"eq of number and text":                 {given{status: `{{ if eq .spec.replicas "1" }}phase: a{{ end }}`}, []string{"error TL033 status:1:7+2 eq: cannot compare a number with a string; convert one of them with int, float64 or toString"}},
		"eq of an optional one":                 {given{status: `{{ if eq .spec.port "1" }}phase: a{{ end }}`}, []string{"warning TL033 status:1:7+2 eq: cannot compare a number with a string; convert one of them with int, float64 or toString"}},
		"not in the enum":                       {given{status: `{{ if eq .spec.mode "Smal" }}phase: a{{ end }}`}, []string{`warning TL037 status:1:22+4 .spec.mode of Shop is never "Smal"; did you mean Small? -> Small`}},
		"range over text":                       {given{status: `phase: {{ range .spec.image }}{{ end }}`}, []string{"error TL035 status:1:17+11 range needs a list, a map or an integer; .spec.image is a string"}},
		"printf":                                {given{status: `phase: {{ printf "%d-%s" .spec.image }}`}, []string{"error TL034 status:1:18+7 printf: the format has more directives than there are arguments", "error TL034 status:1:26+11 printf: argument 2, .spec.image, is a string, which %d cannot format"}},
		"not a duration":                        {given{status: `{{ if after "1d" .metadata.creationTimestamp }}phase: {{ dateModify "soon" .metadata.creationTimestamp }}{{ end }}`}, []string{`error TL033 status:1:13+4 after: argument 1, "1d", is not a duration, such as 90s, 10m or 1h30m`, `warning TL033 status:1:69+6 dateModify: argument 1, "soon", is not a duration, such as 90s, 10m or 1h30m`}},
		"not a quantity":                        {given{status: `{{ if gt (quantityCompare .spec.image "1Gb") 0 }}phase: {{ quantityAdd "1Gi" "lots" }}{{ end }}`}, []string{`error TL033 status:1:39+5 quantityCompare: argument 2, "1Gb", is not a quantity, such as 500m, 2 or 1.5Gi`, `warning TL033 status:1:78+6 quantityAdd: argument 2, "lots", is not a quantity, such as 500m, 2 or 1.5Gi`}},
		"a duration":                            {given{status: `{{ if after "36h" .metadata.creationTimestamp }}phase: {{ dateModify "-1m" .metadata.creationTimestamp }}{{ end }}`}, nil},
		"optional":                              {given{status: `phase: {{ .spec.port }}{{ .spec.tls.secretName }}`}, []string{"warning TL039 status:1:17+4 .spec.port is optional, and rendering fails without it; use default, required or with", "warning TL039 status:1:37+10 .spec.tls is optional, and rendering fails without it; use default, required or with"}},
		"optional, but asked for":               {given{status: `{{ if .spec.tls }}phase: {{ .spec.tls.secretName }}{{ end }}`}, nil},
		"related":                               {given{status: `phase: {{ range .related.maps }}{{ .data.a }}{{ .dta }}{{ end }}`}, []string{"error TL030 status:1:50+3 ConfigMap has no field .dta; did you mean data? -> data"}},
		"by include":                            {given{helpers: `{{ define "x" }}{{ .imag }}{{ end }}`, status: `phase: {{ include "x" .spec }}`}, []string{"error TL030 helpers:1:21+4 Shop has no field .spec.imag; did you mean image? -> image"}},
		"a key that some callers give":          {given{helpers: `{{ define "x" }}{{ if .suffix }}{{ .suffix }}{{ end }}{{ .name }}{{ end }}`, status: `phase: {{ include "x" (dict "name" "a") }}{{ include "x" (dict "name" "a" "suffix" "b") }}`}, nil},
		"a part of a map":                       {given{status: `phase: {{ (pick .spec "imag").imag }}{{ (omit .spec "port").imag }}{{ (pick .spec "image" "port").image }}`}, []string{"error TL030 status:1:31+4 Shop has no field .spec.imag; did you mean image? -> image", "error TL030 status:1:61+4 Shop has no field .spec.imag; did you mean image? -> image"}},
		"a kind that some callers give":         {given{helpers: `{{ define "x" }}{{ if eq .kind "a" }}{{ .a }}{{ else }}{{ .b }}{{ end }}{{ end }}`, status: `phase: {{ include "x" (dict "kind" "a" "a" 1) }}{{ include "x" (dict "kind" "b" "b" 1) }}`}, nil},
		"a key that a caller lacks":             {given{helpers: `{{ define "x" }}{{ .nam }}{{ end }}`, status: `phase: {{ include "x" (dict "name" "a") }}`}, []string{"error TL030 helpers:1:21+3 this map has no .nam; did you mean name? -> name"}},
		"values":                                {given{values: `{"image":"a","a":{"b":1}}`, status: `phase: {{ .values.imag }}{{ .values.a.c }}{{ .values.image }}{{ .values.x | default 1 }}`}, []string{"error TL030 status:1:19+4 spec.values has no imag; did you mean image? -> image", "error TL030 status:1:39+1 spec.values has no a.c; known: b"}},
		"values that are not there":             {given{values: `{"image":"a"}`, status: `phase: {{ toYaml .values.env | quote }}{{ if .values.extra }}{{ .values.extra }}{{ end }}{{ with .values.w }}{{ . }}{{ end }}{{ .values.image }}`}, []string{"warning TL030 status:1:26+3 spec.values has no env, so it is always missing; known: image", "warning TL030 status:1:54+5 spec.values has no extra, so it is always missing; known: image", "warning TL030 status:1:106+1 spec.values has no w, so it is always missing; known: image"}},
		"values that have a fallback":           {given{values: `{"image":"a"}`, status: `phase: {{ .values.more | default 1 }}{{ coalesce .values.most .values.image }}{{ if hasKey .values "env" }}{{ .values.env }}{{ end }}`}, nil},
		"a path in where":                       {given{status: `count: {{ .children.pod | where "status.phse" "Running" | len }}`}, []string{"warning TL030 status:1:41+4 Pod has no field .status.phse, so it is always missing; did you mean phase? -> phase"}},
		"a value in where":                      {given{status: `count: {{ .children.pod | where "status.phase" "Runnig" | len }}`}, []string{`warning TL037 status:1:49+6 .status.phase of Pod is never "Runnig"; did you mean Running? -> Running`}},
		"collect, first and named":              {given{status: `phase: {{ first (collect "spec.nodNam" .children.pod) | default "" }}{{ (first .children.pod).status.ip | default "" }}{{ (named "a" .children.pod).stat | default 1 }}`}, []string{"warning TL030 status:1:32+6 Pod has no field .spec.nodNam, so it is always missing; did you mean nodeName? -> nodeName", "warning TL030 status:1:102+2 Pod has no field .status.ip, so it is always missing; known: phase podIP", "warning TL030 status:1:149+4 Pod has no field .stat, so it is always missing; did you mean status? -> status"}},
		"a computed key of values":              {given{values: `{"sizes":{"small":{"cpu":1},"large":{"cpu":2,"gpu":1}}}`, status: `{{ $s := index .values.sizes .spec.mode }}phase: {{ $s.cup }}{{ $s.gpu }}{{ $s.cpu }}`}, []string{"error TL030 status:1:56+3 spec.values has no sizes[].cup; did you mean cpu? -> cpu"}},
		"a list that grows":                     {given{status: `{{ $l := list }}{{ range .spec.ports }}{{ $l = append $l . }}{{ end }}phase: {{ range $l }}{{ .nam }}{{ end }}`}, []string{"error TL030 status:1:96+3 Shop has no field .spec.ports[].nam; did you mean name? -> name"}},
		"one that grows by two kinds":           {given{status: `{{ $l := list }}{{ range .spec.ports }}{{ $l = append $l . }}{{ $l = append $l (dict "nam" 1) }}{{ range $l }}{{ .nam }}{{ end }}{{ end }}phase: {{ range $l }}{{ .nam }}{{ end }}`}, nil},
		"reassigned list":                       {given{status: `{{ $l := list }}{{ range .spec.ports }}{{ $l = append $l . }}{{ $l = list (dict "nam" 1) }}{{ end }}phase: {{ range $l }}{{ .nam }}{{ end }}`}, nil},
		"one that grows in a branch":            {given{status: `{{ $l := list }}{{ range .spec.ports }}{{ if .name }}{{ $l = append $l . }}{{ end }}{{ end }}phase: {{ range $l }}{{ .nam }}{{ end }}`}, []string{"error TL030 status:1:119+3 Shop has no field .spec.ports[].nam; did you mean name? -> name"}},
		"list that is read while it grows":      {given{status: `{{ $l := list }}{{ range .spec.ports }}phase: {{ range $l }}{{ .nam }}{{ end }}{{ $l = append $l (dict "nam" 1) }}{{ end }}`}, nil},
		"readyWhen":                             {given{readyWhen: `.object.status.phase`}, []string{`error TL036 children[pod].readyWhen:1:1+20 .object.status.phase is a string, but must be a boolean; compare it, as in eq .object.status.phase "Bound"`}},
		"readyWhen, misspelled":                 {given{readyWhen: `eq .object.status.phas "Running"`}, []string{"warning TL030 children[pod].readyWhen:1:19+4 Pod has no field .status.phas, so it is always missing; did you mean phase? -> phase"}},
		"less in an unreachable branch":         {given{status: `{{ if false }}phase: {{ .spec.imag }}{{ upper .spec.hosts }}{{ end }}`}, []string{"warning TL030 status:1:31+4 Shop has no field .spec.imag, so it is always missing; did you mean image? -> image"}},
		"a variable of two kinds":               {given{status: `{{ $x := 1 }}{{ if .spec.paused }}{{ $x = .spec.hosts }}{{ end }}phase: {{ len $x }}`}, nil},
		"a variable that a loop changes":        {given{status: `{{ $x := 1 }}{{ range .spec.hosts }}phase: {{ add $x 1 }}{{ $x = . }}{{ end }}`}, nil},
		"a variable that a loop changes within": {given{status: `{{ $x := 1 }}{{ range .spec.hosts }}phase: {{ add $x 1 }}{{ ($x = .) }}{{ end }}`}, nil},
		"get and index":                         {given{status: `phase: {{ get .spec "imag" }}{{ index .spec "templat" "x" | default 1 }}{{ index .spec.hosts "x" }}`}, []string{"error TL030 status:1:22+4 Shop has no field .spec.imag; did you mean image? -> image", `error TL033 status:1:94+3 index: argument 2, "x", is not a position in a list; write a number, or use named or where`, "warning TL030 status:1:46+7 Shop has no field .spec.templat, so it is always missing; did you mean template? -> template"}},
		"another delimiter of nothing":          {given{status: "phase: {{ .status.count | add 1 }}é {{ .spec.imag }}"}, []string{"error TL030 status:1:46+4 Shop has no field .spec.imag; did you mean image? -> image", "warning TL039 status:1:19+5 .status.count is optional, and rendering fails without it; use default, required or with"}},
		"a status that grows":                   {given{status: `{count: {{ add1 (.status.count | default 0) }}, phase: {{ .status.phase | default "a" }}}`}, []string{"warning TL047 status:1:12+32 .status.count is computed from itself, so each reconciliation changes it and triggers the next one: compute it from .spec or .observed, or change it only under a condition"}},
		"a status that grows at times":          {given{status: `{{ if .spec.paused }}{count: {{ add1 (.status.count | default 0) }}}{{ end }}`}, nil},
		"a status that collects":                {given{status: `{conditions: [], phase: {{ concat (list .spec.image) (list .status.phase) | uniq | toJson | quote }}}`}, nil},
		"a pruned field of the status":          {given{status: "phase: a\ncuont: 1\n"}, []string{"warning TL040 status:2:1+5 Shop has no field .status.cuont, so templater omits it: add it to the schema; did you mean count? -> count"}},
		"a wrong type in the status":            {given{status: "count: \"{{ .spec.replicas }}\"\nphase: 1\n"}, []string{"warning TL042 status:1:8+22 .status.count of Shop is a number, not a string: remove the quotes", `warning TL042 status:2:8+1 .status.phase of Shop is a string, not a number: quote it`}},
		"fields of a child": {given{child: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  lables: {a: b}\nspec:\n  {{- if .spec.paused }}\n  nodeNam: {{ .spec.image }}\n  {{- end }}\n  restartPolicy: Nevr\n  containers:\n  {{- range .spec.ports }}\n  - name: {{ .name }}\n    image: 1\n    {{- toYaml $.spec.template.resources | nindent 4 }}\n    containerPort: 1\n    ports: [{containerPort: \"{{ .number | default 1 }}\", containerPort: \"80\"}]\n  {{- end }}\n"}, []string{
			"warning TL041 children[pod]:5:3+6 Pod has no field .metadata.lables, so the API server prunes it, or rejects the object; did you mean labels? -> labels",
			"warning TL041 children[pod]:8:3+7 Pod has no field .spec.nodeNam, so the API server prunes it, or rejects the object; did you mean nodeName? -> nodeName",
			`warning TL042 children[pod]:10:18+4 .spec.restartPolicy of Pod cannot be "Nevr"; did you mean Never? -> Never`,
			"warning TL042 children[pod]:14:12+1 .spec.containers[].image of Pod is a string, not a number: quote it",
			"warning TL041 children[pod]:16:5+13 Pod has no field .spec.containers[].containerPort, so the API server prunes it, or rejects the object; it is in .spec.containers[].ports[]",
			"warning TL042 children[pod]:17:29+27 .spec.containers[].ports[].containerPort of Pod is a number, not a string: remove the quotes",
			"warning TL042 children[pod]:17:73+4 .spec.containers[].ports[].containerPort of Pod is a number, not a string: remove the quotes",
		}},
		"booleans in conditions": {given{status: "conditions:\n- {type: A, status: {{ eq .spec.image \"a\" }}}\n- {type: B, status: true}\n- {type: C, status: yes}\n- {type: D, status: 1}\n- {type: true}"}, []string{
			`warning TL042 status:4:21+3 .status.conditions[].status of Shop cannot be "yes"; valid values are True, False, Unknown`,
			"warning TL042 status:5:21+1 .status.conditions[].status of Shop is a string or a boolean, not a number: quote it",
			"warning TL042 status:6:10+4 .status.conditions[].type of Shop is a string, not a boolean: quote it",
		}},
		"what is printed into a child": {given{child: "apiVersion: v1\nkind: Pod\nmetadata: {name: \"{{ .spec.replicas }}\", labels: {{ .spec.hosts }}}\nspec:\n  nodeName: {{ .spec.replicas }}\n  restartPolicy: {{ .spec.replicas }}{{ .spec.image }}\n  containers: {{ toYaml .spec.template.resources | nindent 4 }}"}, []string{"warning TL042 children[pod]:3:53+14 .metadata.labels of Pod is a map, but the printed value is a list", "warning TL042 children[pod]:5:16+17 .spec.nodeName of Pod is a string, but the printed value is a number: quote it"}},
		"numbers put together": {given{child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: {{ .spec.replicas }}0\n  ttlSecondsAfterFinished: 1{{ .spec.mode }}"}, []string{
			"warning TL042 children[pod]:5:16+21 .spec.parallelism of Job is a number, but a combination of actions and text is a string: compute it, for example with add or mul",
			"warning TL046 children[pod]:6:3+23 the cluster deletes the Job after this time, and templater recreates it, so it runs again: remove ttlSecondsAfterFinished; the Job is deleted with its parent, or when the template no longer renders it",
			"warning TL042 children[pod]:6:28+17 .spec.ttlSecondsAfterFinished of Job is a number, but a combination of actions and text is a string: compute it, for example with add or mul",
		}},
		"in a branch":                        {given{child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  {{- if .spec.paused }}\n  parallelism: {{ add .spec.replicas 1 }}m\n  {{- end }}"}, []string{"warning TL042 children[pod]:6:16+27 .spec.parallelism of Job is a number, but a combination of actions and text is a string: compute it, for example with add or mul"}},
		"in flow":                            {given{child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: {{ .spec.replicas }}0}"}, []string{"warning TL042 children[pod]:4:21+21 .spec.parallelism of Job is a number, but a combination of actions and text is a string: compute it, for example with add or mul"}},
		"numbers that are no such text":      {given{helpers: `{{ define "one" }}1{{ end }}`, child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a{{ .spec.replicas }}}\nspec: {parallelism: {{ .spec.replicas }}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: b}\nspec:\n  parallelism: {{ if .spec.paused }}1{{ else }}{{ .spec.replicas }}{{ end }}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: c}\nspec:\n  parallelism: {{ include \"one\" . }}0 # {{ .spec.replicas }}x\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: d}\nspec:\n  parallelism: {{ .spec.replicas }}{{/* all */}} # x\n"}, nil},
		"a kind that is not there":           {given{child: "apiVersion: apps/v1\nkind: Deploymnt\nmetadata: {name: a}"}, []string{"warning TL043 children[pod]:2:7+9 unknown kind Deploymnt in apps/v1; did you mean Deployment?"}},
		"a Job with ttlSecondsAfterFinished": {given{child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  ttlSecondsAfterFinished: 60"}, []string{"warning TL046 children[pod]:5:3+23 the cluster deletes the Job after this time, and templater recreates it, so it runs again: remove ttlSecondsAfterFinished; the Job is deleted with its parent, or when the template no longer renders it"}},
		"unused helpers and values":          {given{helpers: `{{ define "used" }}a{{ end }}{{ define "spare" }}b{{ end }}`, values: `{"image":"a","spare":1}`, status: `phase: {{ include "used" . }}{{ .values.image }}`}, []string{`warning TL044 helpers:1:41+5 unused define block "spare": remove it, or include it`, "warning TL045 spec.values.spare:0:0+0 no template uses .values.spare: remove it, or use it"}},
		"values as a whole":                  {given{values: `{"spare":1}`, status: `phase: {{ toJson .values }}`}, nil},
		"structure that depends on data":     {given{child: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n{{ if .spec.paused -}}\n    nonsense: a\n{{ end }}"}, nil},
		"a whole object by a helper":         {given{helpers: `{{ define "x" }}a: b{{ end }}`, child: `{{ include "x" . }}`, status: `phase: {{ (first .children.pod).a | default 1 }}`}, nil},
		"a key twice": {given{child: "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {a: b, {{ .spec.image }}: c, a: d}\n  name: b\n"}, []string{
			"error TL054 children[pod]:5:40+1 duplicate key a: remove one of the two",
			"error TL054 children[pod]:6:3+4 duplicate key name: remove one of the two",
		}},
		"a key once in each branch": {given{child: "apiVersion: v1\nkind: Pod\nmetadata:\n  {{- if .spec.paused }}\n  name: a\n  {{- else }}\n  name: b\n  {{- end }}\n"}, nil},
		"a loop without ---":        {given{child: "{{- if .spec.hosts }}\n{{- range .spec.hosts }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ . }}\"}\n{{- end }}\n{{- end }}"}, []string{"warning TL054 children[pod]:2:11+5 each iteration renders an object, but no line separates them: begin the loop with a line ---"}},
		"a loop with ---":           {given{helpers: `{{ define "sep" }}---{{ end }}`, child: "{{- range .spec.hosts }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ . }}\"}\n{{- end }}{{ range .spec.hosts }}\n{{ template \"sep\" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"b{{ . }}\"}\n{{- end }}"}, nil},
		"text in number fields": {given{child: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: {{ .spec.replicas | quote }}\n  ttlSecondsAfterFinished: {{ printf \"%d\" .spec.replicas }}\n"}, []string{
			"warning TL042 children[pod]:5:19+25 .spec.parallelism of Job is a number, but the printed value is a string",
			"warning TL046 children[pod]:6:3+23 the cluster deletes the Job after this time, and templater recreates it, so it runs again: remove ttlSecondsAfterFinished; the Job is deleted with its parent, or when the template no longer renders it",
			"warning TL042 children[pod]:6:31+29 .spec.ttlSecondsAfterFinished of Job is a number, but the printed value is a string",
		}},
		"swapped arguments": {given{status: `phase: {{ hasPrefix .spec.image "a" }}{{ trimSuffix .spec.image "b" }}{{ required .spec.image "no image" }}{{ replace .spec.image "." "-" }}{{ range $p := list "a" }}{{ hasPrefix $p $.spec.image }}{{ hasPrefix "a" $.spec.image }}{{ $.spec.image | trimSuffix $p }}{{ end }}`}, []string{
			`warning TL038 status:1:11+9 hasPrefix takes the prefix first; write hasPrefix "a" .spec.image`,
			`warning TL038 status:1:42+10 trimSuffix takes the suffix first; write trimSuffix "b" .spec.image`,
			`warning TL038 status:1:74+8 required takes the message first; write required "no image" .spec.image`,
			`warning TL038 status:1:111+7 replace takes the string last; write replace "." "-" .spec.image`,
		}},
		"several kinds": {given{child: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}", status: `phase: {{ (first .children.pod).metadata.nam | default 1 }}{{ (first .children.pod).data | default 1 }}{{ (.children.pod | where "kind" "ConfigMap" | first).dat | default 1 }}`}, []string{"warning TL030 status:1:42+3 the object has no field .metadata.nam, so it is always missing; did you mean name? -> name", "warning TL030 status:1:158+3 ConfigMap has no field .dat, so it is always missing; did you mean data? -> data"}},
	} {
		var got []string
		for _, f := range checked(t, row.given, set) {
			got = append(got, show(f))
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s:\ngot\n  %s\nwant\n  %s", why, strings.Join(got, "\n  "), strings.Join(row.want, "\n  "))
		}
	}
}

func show(f finding.Finding) string {
	text := string(f.Severity) + " " + string(f.Code) + " " + f.Where + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column) + "+" + strconv.Itoa(f.Length) + " " + f.Message
	if f.Replacement != "" {
		text += " -> " + f.Replacement
	}
	return text
}
