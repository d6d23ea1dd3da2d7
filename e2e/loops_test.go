package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// loopWatch is how long writes are counted after a loop was throttled, and loopWrites is their limit per parent and
// TemplateController: one every five seconds, and a few initial ones.
const (
	loopWatch  = time.Minute
	loopWrites = 20
)

// expectFew counts the operator's writes while it is throttled. A conflict has no effect and triggers no
// reconciliation: at most one is accepted per stored write.
func (op *operator) expectFew(what string, most int) {
	op.t.Helper()
	before := mark(op.t)
	timer := time.NewTimer(loopWatch)
	defer timer.Stop()
	select { // fixed time: the test is that little happens
	case <-timer.C:
	case <-op.t.Context().Done():
	}
	writes := op.writes(before)
	op.t.Logf("%s: in %s: %v", what, loopWatch, tally(writes))
	stored := slices.DeleteFunc(slices.Clone(writes), func(e audit.Event) bool { return e.ResponseStatus.Code == http.StatusConflict })
	if len(stored) > most {
		op.t.Errorf("%s: %d writes in %s, want at most %d", what, len(stored), loopWatch, most)
	}
	if late := len(writes) - len(stored); late > len(stored) {
		op.t.Errorf("%s: %d writes came too late and %d did not, want no more of them", what, late, len(stored))
	}
}

// loops returns a check that the condition has reason LoopDetected, and names all these fields.
func loops(conditionType string, fields ...string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if err := condition(o, conditionType, "False", "LoopDetected"); err != nil {
			return err
		}
		for _, field := range fields {
			if !strings.Contains(message(o, conditionType), field) {
				return fmt.Errorf("the condition does not name %q: %s", field, message(o, conditionType))
			}
		}
		return nil
	}
}

func aFieldOfTheStatusHasOneWriter(s *scope, op *operator) {
	t := s.t
	s.defineThing()
	painter := func(color, ready string) string {
		return watchThings + "\nstatus: {template: 'color: " + color + "', readyCondition: " + ready + "}\n"
	}
	color := func(want string) func(*unstructured.Unstructured) error {
		return func(o *unstructured.Unstructured) error {
			color, _, _ := unstructured.NestedString(o.Object, "status", "color")
			return errors.Join(condition(o, "YReady", "True", "Ready"), same("color", want, color))
		}
	}
	s.controllerNamed("@id-x", painter("red", "XReady"))
	s.thing("one", `{}`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error { return condition(o, "XReady", "True", "") })
	s.controllerNamed("@id-y", painter("blue", "YReady"))
	y := s.waitController("@id-y", func(o *unstructured.Unstructured) error {
		return condition(o, "StatusWritable", "False", "FieldOwned")
	})
	if text := message(y, "StatusWritable"); !strings.Contains(text, ".status.color is also written by TemplateController "+s.expand("@id-x")) {
		t.Errorf("the condition does not name the writer: %s", text)
	}
	waitFor(t, s.things(), "one", color("red"))
	op.quiet(2 * time.Second)
	s.delete(env.client.Resource(controllers), "@id-x")
	waitFor(t, s.things(), "one", color("blue"))
	s.waitController("@id-y", func(o *unstructured.Unstructured) error { return condition(o, "StatusWritable", "True", "") })
	op.quiet(2 * time.Second)
}

func statusTemplatesThatCountThemselvesUpAreSlowedDown(s *scope, op *operator) {
	t := s.t
	s.defineThing()
	counter := func(field, template, ready string) string {
		return watchThings + "\nstatus: {template: '" + field + ": " + template + "', readyCondition: " + ready + "}\n"
	}
	s.controllerNamed("@id-x", counter("x", "{{ add1 (.status.x | default 0) }}", "XReady"))
	s.thing("one", `{}`)
	one := waitFor(t, s.things(), "one", loops("XReady", "the templates render different output in every reconciliation for .status.x"))
	t.Logf("XReady: %s", message(one, "XReady"))
	op.expectFew("one that counts itself up", loopWrites)

	// Only the other one is throttled.
	s.controllerNamed("@id-y", counter("y", "{{ add1 (.status.y | default 0) }}", "YReady"))
	one = waitFor(t, s.things(), "one", loops("YReady", "the templates render different output in every reconciliation for .status.y"))
	t.Logf("YReady: %s", message(one, "YReady"))

	// Corrected templates are effective immediately.
	began := time.Now()
	s.controllerNamed("@id-x", counter("x", "1", "XReady"))
	s.controllerNamed("@id-y", counter("y", "1", "YReady"))
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return errors.Join(condition(o, "XReady", "True", "Ready"), condition(o, "YReady", "True", "Ready"))
	})
	t.Logf("recovered in %s", time.Since(began).Round(10*time.Millisecond))
	op.quiet(2 * time.Second)
}

func aChildThatSomebodyKeepsChangingSlowsItsParentDownAlone(s *scope, op *operator) {
	t := s.t
	s.defineThing()
	s.controller(oneConfigMap)
	s.thing("one", `{color: red}`)
	waitFor(t, s.in(configMaps), "one", nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var others sync.WaitGroup
	others.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			_, _ = s.in(configMaps).Patch(ctx, "one", types.MergePatchType, []byte(`{"data":{"color":"blue"}}`), metav1.PatchOptions{FieldManager: "somebody"})
		}, 50*time.Millisecond)
	})
	one := waitFor(t, s.things(), "one", loops("Ready", "another client keeps changing ConfigMap "+s.ns+"/one .data.color"))
	t.Logf("Ready: %s", message(one, "Ready"))
	s.thing("two", `{color: red}`)
	waitFor(t, s.things(), "two", ready)
	op.expectFew("a child that is changed repeatedly", 2*loopWrites) // the child and the status
	stop()
	others.Wait()
	began := time.Now()
	waitFor(t, s.things(), "one", ready)
	t.Logf("recovered in %s", time.Since(began).Round(time.Second))
	waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
		return same("data", map[string]any{"color": "red"}, o.Object["data"])
	})
	op.quiet(2 * time.Second)
}

func TestTemplateControllerChainDepthIsLimited(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const deepest = 8
	s := newScope(t)
	s.defineThing()
	s.define("Gadget", "Namespaced")
	op := startOperator(t)
	link := func(from, to string) string {
		return `
watch: {apiVersion: "@group/v1", kind: ` + from + `}
children:
- name: next
  template: |
    apiVersion: @group/v1
    kind: ` + to + `
    metadata: {name: "{{ .metadata.name }}x"}
    spec: {}
status: {}
`
	}
	s.controllerNamed("@id-a", link("Thing", "Gadget"))
	s.controllerNamed("@id-b", link("Gadget", "Thing"))
	before := mark(t)
	s.thing("o", `{}`)
	last := "o" + strings.Repeat("x", deepest)
	end := waitFor(t, s.things(), last, func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "InvalidChild") })
	t.Logf("Ready: %s", message(end, "Ready"))
	if text := message(end, "Ready"); !strings.Contains(text, "create parents for each other in a loop") {
		t.Errorf("the condition does not tell of the chain: %s", text)
	}
	op.quiet(5 * time.Second)
	got := tally(op.writes(before))
	t.Logf("a chain that bites its tail: %v", got)
	if n := got["patch things 201"] + got["patch gadgets 201"]; n != deepest {
		t.Errorf("%d objects were made, want %d", n, deepest)
	}

	// The cause is fixed: surplus objects are deleted.
	s.controllerNamed("@id-b", strings.Replace(link("Gadget", "Thing"), "kind: Gadget}", "kind: Gadget, labelSelector: {matchLabels: {none: such}}}", 1))
	eventually(t, soon, func() error { return same("Things", []string{"o"}, names(s.list(s.things(), ""))) })
}
