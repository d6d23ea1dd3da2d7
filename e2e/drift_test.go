package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// twoChildren creates a ConfigMap and a Deployment without Pods, with an update strategy.
func twoChildren(strategy string) string {
	return `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: config
  updateStrategy: {type: ` + strategy + `}
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: {{ .metadata.name }}
      labels: {app: {{ .spec.color }}}
    data: {color: {{ .spec.color }}, size: "1"}
- name: deployment
  updateStrategy: {type: ` + strategy + `}
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "{{ .metadata.name }}"}
    spec:
      replicas: 0
      selector: {matchLabels: {app: "{{ .metadata.name }}"}}
      template:
        metadata: {labels: {app: "{{ .metadata.name }}"}}
        spec:
          terminationGracePeriodSeconds: 0
          containers:
          - {name: main, image: "busybox:1.36", args: [sleep, "1000"], env: [{name: COLOR, value: "{{ .spec.color }}"}]}
`
}

// damage is a change that someone else makes to a child.
type damage struct {
	what  string
	to    string // configmaps or deployments
	patch string // a JSON patch
}

var damages = []damage{
	{"a changed value", "configmaps", `[{"op":"replace","path":"/data/color","value":"blue"}]`},
	{"a removed field", "configmaps", `[{"op":"remove","path":"/data/size"}]`},
	{"all data removed", "configmaps", `[{"op":"remove","path":"/data"}]`},
	{"a changed label of the template", "configmaps", `[{"op":"replace","path":"/metadata/labels/app","value":"other"}]`},
	{"a removed label of ours", "configmaps", `[{"op":"remove","path":"/metadata/labels/templater.dev~1child"}]`},
	{"the label removed by which it is watched", "configmaps", `[{"op":"remove","path":"/metadata/labels/templater.dev~1controller"}]`},
	{"the owner reference removed", "configmaps", `[{"op":"remove","path":"/metadata/ownerReferences"}]`},
	{"all labels removed", "configmaps", `[{"op":"remove","path":"/metadata/labels"}]`},
	{"the hash changed", "configmaps", `[{"op":"replace","path":"/metadata/annotations/templater.dev~1applied-hash","value":"0"}]`},
	{"the hash removed", "configmaps", `[{"op":"remove","path":"/metadata/annotations/templater.dev~1applied-hash"}]`},
	{"a scaled Deployment", "deployments", `[{"op":"replace","path":"/spec/replicas","value":2}]`},
	{"another image", "deployments", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"busybox:1.35"}]`},
	{"another value of an environment variable", "deployments", `[{"op":"replace","path":"/spec/template/spec/containers/0/env/0/value","value":"blue"}]`},
	{"an environment variable removed", "deployments", `[{"op":"remove","path":"/spec/template/spec/containers/0/env/0"}]`},
	{"other arguments", "deployments", `[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["sleep","2000"]}]`},
}

func TestApplyRepairsDrift(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(twoChildren("Apply"))
	s.thing("one", `{color: red}`)
	waitFor(t, s.things(), "one", ready)
	for _, d := range damages {
		t.Run(d.what, func(t *testing.T) {
			in := s.at(t).in(resources[d.to])
			before := essence(waitFor(t, in, "one", settledDeployment))
			s.at(t).damage(d)
			waitFor(t, in, "one", func(o *unstructured.Unstructured) error {
				return same("the child", before, essence(o))
			})
		})
	}
	s.t = t
	waitFor(t, s.things(), "one", ready)

	// A deleted child is recreated. Fields that no template sets are left to others.
	old := waitFor(t, s.in(configMaps), "one", nil)
	s.delete(s.in(configMaps), "one")
	waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error { return renewed(old, o) })
	s.patch(s.in(configMaps), "one", `{"data":{"theirs":"kept"}}`)
	s.patch(s.things(), "one", `{"spec":{"color":"green"}}`)
	got := waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "green", "size": "1", "theirs": "kept"}, o.Object["data"])
	})
	if got.GetLabels()["app"] != "green" {
		t.Errorf("label app: got %q, want green", got.GetLabels()["app"])
	}
	op.quiet(time.Second)
}

func TestOtherUpdateStrategiesKeepEdits(t *testing.T) {
	parallel(t)
	for _, strategy := range []string{"CreateOnly", "OnDelete", "Recreate"} {
		t.Run(strategy, func(t *testing.T) {
			needsAudit(t)
			s := newScope(t)
			s.defineThing()
			op := startOperator(t)
			s.controller(twoChildren(strategy))
			s.thing("one", `{color: red}`)
			waitFor(t, s.things(), "one", ready)
			op.quiet(time.Second)
			before := mark(t)
			for _, d := range []int{0, 1, 3, 10, 11, 12, 14} { // those that keep our labels and annotations
				s.damage(damages[d])
			}
			op.quiet(2 * time.Second)
			op.expectNoChildWrites("edits under "+strategy, before)
			edited := waitFor(t, s.in(configMaps), "one", nil)
			s.damage(damages[5]) // it must be detected again, and is otherwise kept
			waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
				return same("the child that got its label back", essence(edited), essence(o))
			})
			s.checkChange(op, strategy)
		})
	}
}

// checkChange changes the parent, and expects the result according to the strategy.
func (s *scope) checkChange(op *operator, strategy string) {
	t := s.t
	t.Helper()
	config, deployment := waitFor(t, s.in(configMaps), "one", nil), waitFor(t, s.in(deployments), "one", nil)
	before := mark(t)
	s.patch(s.things(), "one", `{"spec":{"color":"green"}}`)
	if strategy == "Recreate" {
		waitFor(t, s.in(deployments), "one", func(o *unstructured.Unstructured) error { return renewed(deployment, o) })
		waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error { return renewed(config, o) })
		waitFor(t, s.things(), "one", ready)
		return
	}
	want := map[string]string{"CreateOnly": "True Ready", "OnDelete": "False Outdated"}[strategy]
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		status, reason, _ := strings.Cut(want, " ")
		return condition(o, "Ready", status, reason)
	})
	op.quiet(2 * time.Second)
	op.expectNoChildWrites("a change of the parent under "+strategy, before)
	s.delete(s.in(configMaps), "one")
	waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
		if err := renewed(config, o); err != nil {
			return err
		}
		return same("data", map[string]any{"color": "green", "size": "1"}, o.Object["data"])
	})
	if now := waitFor(t, s.in(deployments), "one", nil); now.GetUID() != deployment.GetUID() {
		t.Errorf("the Deployment was replaced under %s", strategy)
	}
}

// expectNoChildWrites allows only status writes: the status depends on the children.
func (op *operator) expectNoChildWrites(what string, since audit.Mark) {
	op.t.Helper()
	got := tally(op.writes(since))
	op.t.Logf("%s: %v", what, got)
	for _, status := range []string{"patch things/status 200", "patch things/status 409"} { // 409: the parent has just changed
		delete(got, status)
	}
	if len(got) > 0 {
		op.t.Errorf("%s led to %v", what, got)
	}
}

// at returns the scope for a subtest.
func (s *scope) at(t *testing.T) *scope {
	sub := *s
	sub.t = t
	return &sub
}

func (s *scope) damage(d damage) {
	s.t.Helper()
	_, err := s.in(resources[d.to]).Patch(s.t.Context(), "one", types.JSONPatchType, []byte(d.patch), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		s.t.Fatalf("%s: %v", d.what, err)
	}
}

// essence is an object without the fields that the server and other controllers maintain.
func essence(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "templater.dev/seal") // it contains the time of the apply
	unstructured.RemoveNestedField(o.Object, "status")
	return o.Object
}

// settledDeployment returns an error until the Deployment controller has observed the last change, after which it
// writes an annotation.
func settledDeployment(o *unstructured.Unstructured) error {
	if o.GetKind() != "Deployment" {
		return nil
	}
	if g, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); g != o.GetGeneration() {
		return errors.New("the Deployment is not up to date")
	}
	return nil
}

// renewed returns an error unless the object was recreated.
func renewed(old, o *unstructured.Unstructured) error {
	if o.GetUID() == old.GetUID() {
		return fmt.Errorf("%s is still the old one", o.GetName())
	}
	return nil
}

// mutating rewrites a field of the children that a template sets.
const mutating = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: "@id"}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "@ns"}}
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        has(object.data) && 'color' in object.data
        ? [JSONPatch{op: 'replace', path: '/data/color', value: 'painted'}] : []
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: "@id"}
spec: {policyName: "@id"}
`

func TestFieldsRewrittenByAdmissionDoNotLoop(t *testing.T) {
	parallel(t)
	needsAudit(t)
	if _, err := env.client.Resource(policies).List(t.Context(), metav1.ListOptions{}); apierrors.IsNotFound(err) {
		leaveOut(t, "the API server has no MutatingAdmissionPolicy in admissionregistration.k8s.io/v1")
	}
	s := newScope(t)
	s.defineThing()
	s.apply(mutating)
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "probe"}, "data": map[string]any{"color": "red"},
	}}
	eventually(t, soon, func() error { // a policy takes effect with a delay
		after, err := s.in(configMaps).Create(t.Context(), probe.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		return same("data", map[string]any{"color": "painted"}, after.Object["data"])
	})
	op := startOperator(t)
	s.controller(oneConfigMap)
	s.thing("one", `{color: red}`)
	waitFor(t, s.things(), "one", ready)
	op.quiet(time.Second)
	before := mark(t)
	s.thing("two", `{color: red}`)
	waitFor(t, s.things(), "two", ready)
	op.expectRequests("a child that admission rewrites", before, map[string]int{"patch configmaps 201": 1, "patch things/status 200": 1})
	before = mark(t)
	s.patch(s.things(), "two", `{"spec":{"color":"green"}}`)
	waitFor(t, s.things(), "two", ready)
	op.expectRequests("a change that admission takes back", before, map[string]int{"patch configmaps 200": 1, "patch things/status 200": 1})
	got := waitFor(t, s.in(configMaps), "two", nil)
	if diff := cmp.Diff(map[string]any{"color": "painted"}, got.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// rewritten creates objects that the API server normalizes: it rewrites values, sets defaults, and drops empty fields.
const rewritten = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: all
  template: |
    {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: b}}
    ---
    {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {}, annotations: null}, data: {empty: ""}}
    ---
    {apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, imagePullSecrets: [{name: a}]}
    ---
    {apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selector: {a: b}, ports: [{name: a, port: 80}, {name: b, port: 81, targetPort: web}]}}
    ---
    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: a}
    spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1024Mi}}}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: a}
    spec:
      replicas: 0
      selector: {matchLabels: {a: b}}
      template:
        metadata: {labels: {a: b}, creationTimestamp: null}
        spec:
          volumes: [{name: a, emptyDir: {}}]
          initContainers: []
          containers:
          - name: a
            image: a
            args: []
            env: [{name: A, value: ""}, {name: B, value: "$(A)"}]
            ports: [{containerPort: 80}, {containerPort: 81, protocol: UDP}]
            resources: {limits: {cpu: 1000m, memory: 0.5Gi}, requests: {cpu: 0.1}}
            livenessProbe: {httpGet: {path: /, port: 80}}
            securityContext: {}
            volumeMounts: [{name: a, mountPath: /a}]
    ---
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: a}
    spec:
      replicas: 0
      serviceName: a
      selector: {matchLabels: {a: b}}
      template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}
      volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]
    ---
    apiVersion: batch/v1
    kind: CronJob
    metadata: {name: a}
    spec: {suspend: true, schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}
    ---
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata: {name: a}
    spec: {rules: [{host: a.example.org, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}}]}
    ---
    apiVersion: networking.k8s.io/v1
    kind: NetworkPolicy
    metadata: {name: a}
    spec: {podSelector: {}, ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]}
`

// TestRestartWritesNothing compares all children with their templates, as after each start.
func TestRestartWritesNothing(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(rewritten)
	s.thing("one", `{color: red}`)
	waitFor(t, s.in(schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"}), "a", nil)
	op.quiet(time.Second)
	op.Stop()
	since := mark(t)
	op = startOperator(t, "--log-level=debug")
	op.waitLogged("reconciled parent", "parent="+s.ns+"/one")
	op.quiet(time.Second)
	if diff := cmp.Diff(map[string]int{}, tally(op.writes(since))); diff != "" {
		t.Errorf("writes after the start (-want +got):\n%s", diff)
	}
}
