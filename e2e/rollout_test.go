package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// webs is a Deployment and a Service with a selector, whose label is @label, for each parent.
const webs = `
watch: {apiVersion: "@group/v1", kind: Thing}
children:
- name: web
  template: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: {{ .metadata.name }}}
    spec:
      replicas: 0
      selector: {matchLabels: {@label: {{ .metadata.name }}}}
      template:
        metadata: {labels: {@label: {{ .metadata.name }}}}
        spec: {containers: [{name: web, image: registry.k8s.io/pause:3.10}]}
- name: service
  template: |
    apiVersion: v1
    kind: Service
    metadata: {name: {{ .metadata.name }}}
    spec: {selector: {@label: {{ .metadata.name }}}, ports: [{port: 80}]}
`

// versions returns the resource versions of all objects of some resources in the namespace, by resource and name.
func (s *scope) versions(resources ...string) map[string]string {
	s.t.Helper()
	all := map[string]string{}
	for _, each := range resources {
		in := map[string]func() (*unstructured.UnstructuredList, error){
			"things": func() (*unstructured.UnstructuredList, error) {
				return s.things().List(s.t.Context(), metav1.ListOptions{})
			},
			"deployments": func() (*unstructured.UnstructuredList, error) {
				return s.in(deployments).List(s.t.Context(), metav1.ListOptions{})
			},
			"services": func() (*unstructured.UnstructuredList, error) {
				return s.in(schema.GroupVersionResource{Version: "v1", Resource: "services"}).List(s.t.Context(), metav1.ListOptions{})
			},
		}[each]
		list, err := in()
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			all[each+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	return all
}

// waitParents waits until the counts of parents are as given: "total 3 updated 3 ready 3".
func (s *scope) waitParents(want string) {
	s.t.Helper()
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		counts, _, err := unstructured.NestedMap(o.Object, "status", "parents")
		return errors.Join(err, ofGeneration(o), same("parents", want, fmt.Sprintf("total %v updated %v ready %v", counts["total"], counts["updated"], counts["ready"])))
	})
}

// ofGeneration requires that the status is that of the current generation.
func ofGeneration(o *unstructured.Unstructured) error {
	generation, _, err := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	return errors.Join(err, same("observedGeneration", o.GetGeneration(), generation))
}

// TestRefusedEditChangesNothing renames the label in the selectors of Deployments, which are immutable, and of their Services.
func TestRefusedEditChangesNothing(t *testing.T) {
	parallel(t)
	const parents = 50
	s := newScope(t)
	s.defineThing()
	startOperator(t, "--revisions")
	s.controller(strings.ReplaceAll(webs, "@label", "app"))
	for i := range parents {
		s.thing(fmt.Sprint("p-", i), "{}")
	}
	s.waitParents(fmt.Sprintf("total %d updated %d ready %d", parents, parents, parents))
	before := s.versions("things", "deployments", "services")

	s.applyController("@id", strings.ReplaceAll(webs, "@label", "component"))
	refused := s.waitController("@id", func(o *unstructured.Unstructured) error {
		return errors.Join(ofGeneration(o), condition(o, "Progressing", "False", "PreflightFailed"), condition(o, "Ready", "False", "PreflightFailed"))
	})
	t.Log(message(refused, "Progressing"))
	for _, text := range []string{"update Deployment " + s.ns + "/p-", "spec.selector", "immutable"} {
		if !strings.Contains(message(refused, "Progressing"), text) {
			t.Errorf("the message does not contain %q", text)
		}
	}
	s.waitParents(fmt.Sprintf("total %d updated 0 ready %d", parents, parents))
	if out, code := s.templater("rollout", "status", s.id, "--kubeconfig", env.kubeconfig); code != 1 {
		t.Errorf("rollout status: exit code %d, want 1: %s", code, out)
	}
	for object, version := range s.versions("things", "deployments", "services") {
		if before[object] != version {
			t.Errorf("%s was written", object)
		}
	}
	s.thing("new", "{}") // with the previous revision
	waitFor(t, s.things(), "new", ready)

	s.controller(strings.ReplaceAll(webs, "@label", "app") + "helpers: '{{ define \"x\" }}{{ end }}'\n")
	s.waitParents(fmt.Sprintf("total %d updated %d ready %d", parents+1, parents+1, parents+1))
	if out, code := s.templater("rollout", "status", s.id, "--kubeconfig", env.kubeconfig); code != 0 {
		t.Errorf("rollout status: exit code %d, want 0: %s", code, out)
	}
}

// stagedMaps renders a ConfigMap that is ready unless its text is bad.
const stagedMaps = `
watch: {apiVersion: "@group/v1", kind: Thing}
rollout: {steps: [1, 50%], readyTimeout: 3s, retry: @retry}
children:
- name: config
  readyWhen: ne .object.data.text "bad"
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: {{ .metadata.name }}}
    data: {text: @text}
`

// texts returns how many ConfigMaps have each text.
func (s *scope) texts(ctx context.Context) (string, error) {
	list, err := s.in(configMaps).List(ctx, metav1.ListOptions{LabelSelector: "templater.dev/controller"})
	if err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, o := range list.Items {
		text, _, _ := unstructured.NestedString(o.Object, "data", "text")
		counts[text]++
	}
	return fmt.Sprint(counts), nil
}

// waitTexts waits until texts returns want.
func (s *scope) waitTexts(want string) {
	s.t.Helper()
	s.waitController("@id", func(*unstructured.Unstructured) error {
		got, err := s.texts(s.t.Context())
		return errors.Join(err, same("texts", want, got))
	})
}

// TestFailingEditReachesFirstStepOnly rolls out an edit that the API server accepts, but that never gets ready.
func TestFailingEditReachesFirstStepOnly(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t, "--revisions")
	edition := func(text, retry string) string {
		return strings.NewReplacer("@text", text, "@retry", retry).Replace(stagedMaps)
	}
	s.controller(edition("one", "0"))
	for i := range 4 {
		s.thing(fmt.Sprint("p-", i), "{}")
	}
	s.waitParents("total 4 updated 4 ready 4")

	s.applyController("@id", edition("bad", "0"))
	halted := s.waitController("@id", func(o *unstructured.Unstructured) error {
		return errors.Join(ofGeneration(o), condition(o, "Progressing", "False", "RolloutHalted"))
	})
	t.Log(message(halted, "Progressing"))
	s.waitTexts("map[bad:1 one:3]")
	op.Kill()
	startOperator(t, "--revisions")
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Progressing", "False", "RolloutHalted") })
	s.waitTexts("map[bad:1 one:3]")

	out, code := s.templater("rollout", "history", s.id, "--kubeconfig", env.kubeconfig)
	if t.Log(out); code != 0 || !strings.Contains(out, "current") || !strings.Contains(out, "update") {
		t.Errorf("rollout history: exit code %d", code)
	}
	if out, code := s.templater("rollout", "undo", s.id, "--kubeconfig", env.kubeconfig); code != 0 {
		t.Fatalf("rollout undo: exit code %d: %s", code, out)
	}
	s.waitTexts("map[one:4]")

	s.applyController("@id", edition("two", "0"))
	s.waitTexts("map[two:4]")
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		return condition(o, "Progressing", "True", "RolloutComplete")
	})
}

// TestApprovalFollowsPreview approves a revision after its preview. Nothing is written before, also after a restart.
func TestApprovalFollowsPreview(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t, "--revisions")
	edition := func(text string) string {
		return strings.NewReplacer("@text", text, "readyTimeout: 3s, retry: @retry", "approval: Required").Replace(stagedMaps)
	}
	s.controller(edition("one"))
	for i := range 4 {
		s.thing(fmt.Sprint("p-", i), "{}")
	}
	s.waitParents("total 4 updated 4 ready 4")

	s.applyController("@id", edition("two"))
	previewed := func(o *unstructured.Unstructured) error {
		preview, _, err := unstructured.NestedMap(o.Object, "status", "preview")
		counts := fmt.Sprint(preview["parents"], preview["create"], preview["update"], preview["recreate"], preview["delete"], preview["failing"])
		return errors.Join(err, ofGeneration(o), condition(o, "Progressing", "Unknown", "ApprovalRequired"), same("preview", "4 0 4 0 0 0", counts))
	}
	s.waitController("@id", previewed)
	op.Kill()
	startOperator(t, "--revisions")
	s.thing("new", "{}") // with the previous revision
	waitFor(t, s.things(), "new", ready)
	s.waitController("@id", previewed)
	s.waitTexts("map[one:5]")

	out, code := s.templater("rollout", "approve", s.id, "--kubeconfig", env.kubeconfig)
	if t.Log(out); code != 0 || !strings.Contains(out, "update: 4,") {
		t.Fatalf("rollout approve: exit code %d", code)
	}
	s.waitTexts("map[two:5]")
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		return condition(o, "Progressing", "True", "RolloutComplete")
	})
	if out, code := s.templater("rollout", "history", s.id, "--kubeconfig", env.kubeconfig); code != 0 || strings.Count(out, "\n") != 4 {
		t.Errorf("rollout history: exit code %d: %s; want two revisions", code, out)
	}
}
