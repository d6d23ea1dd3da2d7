package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// oneConfigMap creates a ConfigMap for each Thing.
const oneConfigMap = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
    data:
      color: {{ .spec.color }}
status:
  template: |
    configs: {{ .children.config | collect "metadata.name" | toJson }}
`

func TestFirstReconciliationWritesChildAndStatusOnce(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newCollectedScope(t)
	op := startOperator(t)
	s.controller(oneConfigMap)
	// The very first parent makes the operator discover the kinds of the children, which costs a list and a watch; the
	// second one is measured.
	s.thing("first", `{color: red}`)
	waitFor(t, s.things(), "first", ready)
	op.quiet(time.Second)
	before := mark(t)
	s.thing("second", `{color: red}`)
	waitFor(t, s.things(), "second", ready)
	op.expectRequests("a new parent with one child", before, map[string]int{"patch configmaps 201": 1, "patch things/status 200": 1})

	before = mark(t)
	deleted := time.Now()
	s.delete(s.things(), "second")
	waitGone(t, s.in(configMaps), "second")
	op.quiet(time.Second)
	op.expectLeftToCollector("a deleted parent", before, deleted)
}

func TestChangedParentWritesOnlyWhatDiffers(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(`
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: configs
  template: |
    {{- range $name, $value := .spec.data }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-{{ $name }}"}
    data: {value: {{ $value }}}
    {{- end }}
status:
  template: |
    total: {{ .spec.total | default "none" }}
  readyCondition: ""
`)
	s.thing("one", `{data: {a: "1", b: "1", c: "1", d: "1"}}`)
	waitFor(t, s.in(configMaps), "one-d", nil)
	op.quiet(time.Second)
	for _, row := range []struct {
		name, patch string
		want        map[string]int
	}{
		{"one of four children changes", `{"spec":{"data":{"b":"2"}}}`, map[string]int{"patch configmaps 200": 1}},
		{"one child and the status change", `{"spec":{"data":{"b":"3"},"total":"x"}}`, map[string]int{"patch configmaps 200": 1, "patch things/status 200": 1}},
		{"the status changes", `{"spec":{"total":"y"}}`, map[string]int{"patch things/status 200": 1}},
		{"a child is pruned, the first of this parent", `{"spec":{"data":{"c":null}}}`, map[string]int{"delete configmaps 200": 1, "get things 200": 1}},
		{"another child is pruned", `{"spec":{"data":{"d":null}}}`, map[string]int{"delete configmaps 200": 1}},
		{"what no template reads changes", `{"spec":{"other":"z"}}`, map[string]int{}},
		{"labels that no template reads change", `{"metadata":{"labels":{"a":"b"}}}`, map[string]int{}},
	} {
		before := mark(t)
		s.patch(s.things(), "one", row.patch)
		op.expectRequests(row.name, before, row.want)
	}

	// The ready condition contains a generation, so it costs one more write per spec change.
	s.patchController(`{"spec":{"status":{"readyCondition":"Ready"}}}`)
	waitFor(t, s.things(), "one", ready)
	op.quiet(time.Second)
	before := mark(t)
	s.patch(s.things(), "one", `{"spec":{"data":{"b":"4"}}}`)
	waitFor(t, s.things(), "one", ready)
	op.expectRequests("one child changes, with a ready condition", before, map[string]int{"patch configmaps 200": 1, "patch things/status 200": 1})
}

// awkward covers everything that makes other operators detect false differences: the server sets defaults, drops
// fields, or normalizes values.
const awkward = `
watch: {apiVersion: "@group/v1", kind: Thing}
resyncPeriod: 1s
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
      labels: {}
      annotations: {}
      finalizers: []
      creationTimestamp: null
    data: {}
- name: secret
  template: |
    apiVersion: v1
    kind: Secret
    metadata: {name: "{{ .metadata.name }}"}
    stringData: {text: hello}
    data: {other: aGVsbG8=}
- name: service
  template: |
    apiVersion: v1
    kind: Service
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      selector: {app: "{{ .metadata.name }}"}
      ports:
      - {port: 80, name: main}
      - port: 81
        name: other
        protocol: UDP
        targetPort: named
- name: deployment
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "{{ .metadata.name }}", labels: {}, annotations: null}
    spec:
      replicas: 0
      selector: {matchLabels: {app: "{{ .metadata.name }}"}}
      strategy: {rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}}
      template:
        metadata:
          labels: {app: "{{ .metadata.name }}"}
          creationTimestamp: null
        spec:
          serviceAccountName: default
          securityContext: {}
          nodeSelector: {}
          tolerations: []
          hostNetwork: false
          containers:
          - name: main
            image: busybox:1.36
            args: []
            command: [sleep, "1"]
            ports:
            - containerPort: 8080
            - {containerPort: 8081, protocol: UDP}
            env:
            - {name: EMPTY, value: ""}
            - {name: NONE}
            - {name: "NULL", value: null}
            - name: SELF
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
            securityContext: {}
            resources:
              requests: {cpu: "0.5", memory: 1024Mi, ephemeral-storage: 1e3}
              limits: {cpu: 1000m, memory: 1Gi}
            volumeMounts:
            - {name: tmp, mountPath: /tmp, readOnly: false, subPath: ""}
            livenessProbe: {exec: {command: ["true"]}, initialDelaySeconds: 0}
          volumes:
          - {name: tmp, emptyDir: {}}
          - {name: config, configMap: {name: "{{ .metadata.name }}", optional: true, defaultMode: 420}}
- name: pod
  template: |
    apiVersion: v1
    kind: Pod
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      # No node has this label: Pods that run would only take time.
      nodeSelector: {example.org/never: "true"}
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: busybox:1.36
        command: [sleep, "1000"]
        resources: {requests: {cpu: 0.001, memory: 1024Ki}, limits: {}}
        env: []
      initContainers: []
status:
  template: |
    count: {{ len .children.config }}
    nothing: null
    empty: {}
    list: []
`

// awkwardKinds is the number of kinds of awkward's children, all of which have the parent's name.
const awkwardKinds = 5

func TestUnchangedParentsCauseNoRequests(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const parents = 100
	s := newScope(t)
	s.defineThing()
	op := startOperator(t, "--log-level=debug")
	start := mark(t)
	s.manyThings(parents)
	s.controller(awkward)
	s.waitChildren(configMaps, parents)
	s.waitChildren(pods, parents)
	waitFor(t, s.things(), "p-99", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Progressing") })
	s.waitChildren(deployments, parents)
	op.quiet(3 * time.Second)
	t.Logf("to begin with: %v", tally(op.requests(start)))

	// Every parent is reconciled again about once a second, as the log shows.
	before := mark(t)
	looked := len(op.looks())
	eventually(t, soon, func() error {
		if n := len(op.looks()) - looked; n < 3*parents {
			return fmt.Errorf("%d looks so far", n)
		}
		return nil
	})
	looks := len(op.looks()) - looked
	t.Logf("%d looks at %d quiet parents, %d requests", looks, parents, len(op.requests(before)))
	op.expectRequests("a resync", before, map[string]int{})

	op.Stop()
	before = mark(t)
	again := startOperator(t, "--log-level=debug")
	eventually(t, soon, func() error {
		if n := len(again.looks()); n < 2*parents {
			return fmt.Errorf("%d looks so far", n)
		}
		return nil
	})
	again.quiet(time.Second)
	t.Logf("a restart over %d parents with %d children each: %v", parents, awkwardKinds, tally(again.requests(before)))
	if writes := again.writes(before); len(writes) > 0 {
		t.Errorf("a restart over quiet parents wrote: %v", tally(writes))
	}
	for what, times := range tally(again.requests(before)) {
		if strings.HasPrefix(what, "get ") && !learnsKinds(what, times) {
			t.Errorf("a restart over quiet parents read one by one: %d times %s", times, what)
		}
	}
}

// thing applies a Thing with that spec, in YAML.
func (s *scope) thing(name, spec string) {
	s.t.Helper()
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: ` + name + `}, spec: ` + spec + `}`)
}

// manyThings creates that many Things, p-0, p-1 and so on.
func (s *scope) manyThings(count int) {
	s.t.Helper()
	if err := createMany(s.t.Context(), s.things(), count, func(i int) *unstructured.Unstructured { return s.numbered(i) }); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scope) numbered(i int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.group + "/v1", "kind": "Thing",
		"metadata": map[string]any{"name": fmt.Sprintf("p-%d", i)}, "spec": map[string]any{"color": "red"},
	}}
}

// createMany creates objects, several at a time. It returns the first error.
func createMany(ctx context.Context, in dynamic.ResourceInterface, count int, object func(int) *unstructured.Unstructured) error {
	const atOnce = 8
	numbers, errs := make(chan int), make(chan error, count)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range numbers {
				if _, err := in.Create(ctx, object(i), metav1.CreateOptions{}); err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	close(errs)
	return <-errs
}

// waitChildren waits until the TemplateController @id has that many children of a resource.
func (s *scope) waitChildren(resource schema.GroupVersionResource, count int) {
	s.t.Helper()
	eventually(s.t, soon, func() error {
		if n := len(s.list(s.in(resource), "templater.dev/controller=@id")); n != count {
			return fmt.Errorf("%d %s, want %d", n, resource.Resource, count)
		}
		return nil
	})
}

// looks are the log lines of all parent reconciliations so far.
func (op *operator) looks() []string {
	op.t.Helper()
	var out []string
	for line := range bytes.Lines(op.logged()) {
		if bytes.Contains(line, []byte("reconciled parent")) {
			out = append(out, string(line))
		}
	}
	return out
}

// expectRequests expects these requests since the mark, and no others within two seconds after them.
func (op *operator) expectRequests(what string, since audit.Mark, want map[string]int) {
	op.t.Helper()
	eventually(op.t, soon, func() error {
		got := tally(op.requests(since))
		for request, count := range want {
			if got[request] < count {
				return fmt.Errorf("%s: %d times %s so far, want %d: %v", what, got[request], request, count, got)
			}
		}
		return nil
	})
	op.quiet(2 * time.Second)
	got := tally(op.requests(since))
	op.t.Logf("%s: %v", what, got)
	if diff := cmp.Diff(want, got); diff != "" {
		op.t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}
