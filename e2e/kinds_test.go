package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// took logs the time since a kind started to be served, which was just before.
func (s *scope) took(what string, since time.Time) {
	s.t.Helper()
	s.t.Logf("%s: after %s", what, time.Since(since).Round(10*time.Millisecond))
}

// undefine deletes a CRD and waits until it is gone.
func (s *scope) undefine(plural string) {
	s.t.Helper()
	s.delete(env.client.Resource(definitions), plural+".@group")
	waitGone(s.t, env.client.Resource(definitions), plural+"."+s.group)
}

// gadgetAndConfigMap creates a Gadget and a ConfigMap for each Thing.
const gadgetAndConfigMap = `
watch: {apiVersion: "@group/v1", kind: Thing}
whenDeleted: DeleteChildren
children:
- name: config
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}"}
    data: {color: "{{ .spec.color }}"}
- name: gadget
  template: |
    apiVersion: @group/v1
    kind: Gadget
    metadata: {name: "{{ .metadata.name }}"}
    spec: {size: 1}
`

func TestReconciliationResumesWhenKindReturns(t *testing.T) {
	parallel(t)
	s := newScope(t)
	op := startOperator(t)
	gadgets := func() *unstructured.Unstructured { return waitFor(t, s.in(s.resource("gadgets")), "one", nil) }
	missing := func(o *unstructured.Unstructured) error { return condition(o, "Watching", "False", "KindNotFound") }
	childMissing := func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "ChildKindNotFound") }

	t.Log("the watched kind is missing")
	s.applyController("@id", gadgetAndConfigMap)
	tc := s.waitController("@id", missing)
	if text := message(tc, "Watching"); !strings.Contains(text, "install its CustomResourceDefinition") {
		t.Errorf("the Watching condition does not say what to do: %s", text)
	}

	t.Log("created; the child kind is missing")
	s.defineThing()
	began := time.Now()
	s.waitController("@id", ready)
	s.took("the watched kind has come: Ready", began)
	s.thing("one", `{color: red}`)
	waitFor(t, s.things(), "one", childMissing)
	config := waitFor(t, s.in(configMaps), "one", nil)

	t.Log("created, too")
	s.define("Gadget", "Namespaced")
	began = time.Now()
	gadget := gadgets()
	s.took("the child kind has come: the child is there", began)
	waitFor(t, s.things(), "one", ready)

	t.Log("child kind deleted, and recreated with a schema that rejects the child")
	s.undefine("gadgets")
	waitFor(t, s.things(), "one", childMissing)
	strict := strings.Replace(definition("Gadget", "Namespaced"), "tier: {type: string}", "tier: {type: string}\n              size: {type: string}", 1)
	s.apply(strict)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "ChildRejected") })
	s.define("Gadget", "Namespaced")
	began = time.Now()
	if now := gadgets(); now.GetUID() == gadget.GetUID() {
		t.Error("the child is still the old one")
	}
	s.took("the child kind has a schema that fits: the child is there", began)
	if now := waitFor(t, s.in(configMaps), "one", nil); now.GetUID() != config.GetUID() {
		t.Error("the child of another kind was replaced")
	}

	t.Log("watched kind deleted, and recreated with another plural")
	s.undefine("things")
	s.waitController("@id", missing)
	other := strings.ReplaceAll(definition("Thing", "Namespaced"), "things", "thingies")
	s.apply(other)
	began = time.Now()
	s.waitController("@id", ready)
	s.took("the watched kind has come back: Ready", began)
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: two}, spec: {color: red}}`)
	waitFor(t, s.in(s.resource("thingies")), "two", ready)
	waitFor(t, s.in(configMaps), "two", nil)

	t.Log("children of parents that went with their kind go")
	waitGone(t, s.in(configMaps), "one")

	t.Log("a second definition of the same name does no harm")
	s.conflicting()
	s.apply(`{apiVersion: "@group/v1", kind: Thing, metadata: {name: two}, spec: {color: green}}`)
	waitFor(t, s.in(configMaps), "two", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "green"}, o.Object["data"])
	})
	waitFor(t, s.in(s.resource("thingies")), "two", ready)
	op.quiet(time.Second)
}

// conflicting creates a second CRD for the kind Thing; the API server does not accept its names.
func (s *scope) conflicting() {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(s.expand(definition("Thing", "Namespaced"))), &o.Object); err != nil {
		s.t.Fatal(err)
	}
	s.own(definitions, o.GetName())
	if _, err := env.client.Resource(definitions).Create(s.t.Context(), o, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	waitFor(s.t, env.client.Resource(definitions), o.GetName(), func(o *unstructured.Unstructured) error {
		return condition(o, "NamesAccepted", "False", "")
	})
}

// twoVersions is a CRD with versions v1 and v2; v1 says whether v1 is served.
func twoVersions(kind string, v1 bool) string {
	const version = "  - name: v1\n    served: true\n    storage: true\n"
	text := definition(kind, "Namespaced")
	first := strings.Index(text, version)
	second := strings.Replace(text[first:], version, "  - name: v2\n    served: true\n    storage: true\n", 1)
	return text[:first] + second + strings.Replace(text[first:], version, fmt.Sprintf("  - name: v1\n    served: %v\n    storage: false\n", v1), 1)
}

func aVersionThatIsServedNoMoreCostsNoChild(s *scope, op *operator) {
	t := s.t
	s.apply(twoVersions("Thing", true))
	s.apply(twoVersions("Gadget", true))
	s.waitCollected("v2", "Thing")
	s.controller(gadgetAndConfigMap)
	one := `{apiVersion: "@group/v1", kind: Thing, metadata: {name: one}, spec: {color: red}}`
	s.apply(one)
	waitFor(t, s.things(), "one", ready)
	gadgets := env.client.Resource(schema.GroupVersionResource{Group: s.group, Version: "v2", Resource: "gadgets"}).Namespace(s.ns)
	gadget, config := waitFor(t, gadgets, "one", nil), waitFor(t, s.in(configMaps), "one", nil)
	op.quiet(time.Second)

	before := mark(t)
	s.apply(twoVersions("Thing", false))
	tc := s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Watching", "False", "KindNotFound") })
	t.Logf("Watching: %s", message(tc, "Watching"))
	if text := message(tc, "Watching"); !strings.Contains(text, "it is served in version v2") {
		t.Errorf("the Watching condition does not name the served version: %s", text)
	}
	op.quiet(65 * time.Second) // children whose parents are permanently missing are deleted after 60 s
	if writes := op.writes(before); len(writes) > 0 {
		t.Errorf("a version that is served no more: %v", tally(writes))
	}
	s.apply(twoVersions("Thing", true))
	began := time.Now()
	s.patch(s.things(), "one", `{"spec":{"color":"green"}}`)
	waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
		return errors.Join(same("data", map[string]any{"color": "green"}, o.Object["data"]), same("UID", config.GetUID(), o.GetUID()))
	})
	s.took("the version is served again: the child follows", began)

	t.Log("the same for a child kind")
	s.apply(twoVersions("Gadget", false))
	stuck := waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "ChildKindNotFound") })
	t.Logf("Ready: %s", message(stuck, "Ready"))
	if now := waitFor(t, gadgets, "one", nil); now.GetUID() != gadget.GetUID() {
		t.Error("the child was replaced")
	}
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.id)
	for what, in := range map[string]func() error{
		"gadget":    func() error { _, err := gadgets.Get(t.Context(), "one", getOptions); return err },
		"ConfigMap": func() error { _, err := s.in(configMaps).Get(t.Context(), "one", getOptions); return err },
	} {
		if err := in(); !apierrors.IsNotFound(err) {
			t.Errorf("the %s was left behind by a TemplateController that takes its children along: %v", what, err)
		}
	}
}

// manyControllers creates and deletes TemplateControllers with their own watches, several at a time.
func (s *scope) manyControllers(number, atATime int) {
	s.t.Helper()
	for first := 0; first < number; first += atATime {
		for i := range atATime {
			name := fmt.Sprintf("@id-%d", first+i)
			s.applyController(name, `
watch: {apiVersion: "@group/v1", kind: Thing, labelSelector: {matchLabels: {number: "`+strconv.Itoa(first+i)+`"}}}
children:`+configMapsOf("drop", ""))
		}
		for i := range atATime {
			s.waitController(fmt.Sprintf("@id-%d", first+i), ready)
		}
		for i := range atATime {
			s.delete(env.client.Resource(controllers), fmt.Sprintf("@id-%d", first+i))
		}
	}
}

func TestDeletedTemplateControllersLeakNoResources(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	goroutines := func(number int) (all, watches, kilobytes int) {
		op := startOperator(t)
		s.controllerNamed("@id-stays", watchThings+"\nchildren:"+configMapsOf("drop", ""))
		s.thing("one", `{drop: {a: "1"}}`)
		waitFor(t, s.things(), "one", ready)
		s.manyControllers(number, 20)
		op.quiet(2 * time.Second)
		kilobytes = op.resident()
		if err := op.end(syscall.SIGQUIT); err == nil { // dumps all goroutines
			t.Error("the operator ended well on SIGQUIT")
		}
		dump := op.logged()
		return bytes.Count(dump, []byte("\ngoroutine ")), bytes.Count(dump, []byte("/internal/kube/watch.follow(")), kilobytes
	}
	all, watches, before := goroutines(0)
	const number = 200
	allAfter, watchesAfter, after := goroutines(number)
	t.Logf("without: %d goroutines, %d watches, %d kB; after %d TemplateControllers: %d, %d, %d kB", all, watches, before, number, allAfter, watchesAfter, after)
	if watches == 0 || watchesAfter != watches {
		t.Errorf("%d watches are running, want %d", watchesAfter, watches)
	}
	if allAfter > all+20 { // connections open and close
		t.Errorf("%d goroutines, want about %d", allAfter, all)
	}
	if after > 2*before+30<<10 {
		t.Errorf("%d kB of memory, want about %d", after, before)
	}
}

// resident returns the operator's resident memory, in kilobytes.
func (op *operator) resident() int {
	op.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", op.command.Process.Pid))
	if err != nil {
		op.t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				op.t.Fatal(err)
			}
			return n
		}
	}
	op.t.Fatal("no VmRSS")
	return 0
}
