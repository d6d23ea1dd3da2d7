package e2e

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// expectServed waits until the class has accepted the current generation of the TemplateController @id.
func (s *scope) expectServed(class string) {
	s.t.Helper()
	s.waitController("@id", func(o *unstructured.Unstructured) error {
		got, found, _ := unstructured.NestedString(o.Object, "status", "className")
		if !found || got != class {
			return fmt.Errorf("served by %q (%v), want %q", got, found, class)
		}
		return ready(o)
	})
}

// moveTo changes the class of the TemplateController @id.
func (s *scope) moveTo(class string) {
	s.t.Helper()
	s.patchController(fmt.Sprintf(`{"spec":{"className":%q}}`, class))
}

func TestMovingBetweenClassesKeepsChildren(t *testing.T) {
	parallel(t)
	needsAudit(t)
	const parents = 10
	s := newSharedScope(t)
	a := s.replica(userA(t))
	a.waitLeading(soon)
	here, there := classOf(t), classOf(t)+"-b"
	b := s.replica(userB(t), "--class-name", there)
	b.waitLeading(soon)
	start := mark(t)
	s.controller("whenDeleted: DeleteChildren\n" + oneConfigMap)
	s.expectServed(here)
	s.manyThings(parents)
	s.waitInStep(parents)
	seen := record(t, s.in(configMaps), "templater.dev/controller="+s.id)
	stop := s.traffic(parents)
	want := []string{userA(t)}
	for range 4 {
		moved := mark(t)
		s.moveTo(there)
		s.expectServed(there)
		eventually(t, soon, func() error { return wroteSince(t, moved, userB(t), parents) })
		moved = mark(t)
		s.moveTo(here)
		s.expectServed(here)
		eventually(t, soon, func() error { return wroteSince(t, moved, userA(t), parents) })
		want = append(want, userB(t), userA(t))
	}
	stop()
	s.waitInStep(parents)
	a.quiet(time.Second)
	expectTurns(t, start, want...)
	for _, event := range seen.all() {
		if event.Type != watch.Modified {
			t.Errorf("a child was %s", event.Type)
		}
	}

	// For a class without an operator, a condition reports that. The children are kept.
	s.moveTo("nobody")
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Released") })
	s.moveTo(there)
	s.expectServed(there)

	// An installation that stops responding.
	b.Kill()
	began := time.Now()
	s.moveTo(here)
	s.expectServed(here)
	t.Logf("a took over from a removed installation after %s", time.Since(began))
	if took := time.Since(began); took < 29*time.Second {
		t.Errorf("a took over after %s already", took)
	}
	for _, event := range seen.all() {
		if event.Type != watch.Modified {
			t.Errorf("a child was %s", event.Type)
		}
	}
	s.delete(env.client.Resource(controllers), "@id") // executes its whenDeleted
	waitGone(t, env.client.Resource(controllers), s.id)
	s.expectNoConfigMaps()
}

// TestMovingBetweenClassesKeepsCRD moves a TemplateController that defines its kind.
func TestMovingBetweenClassesKeepsCRD(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newSharedScope(t)
	for user, name := range map[string]string{userA(t): "@id-crds-a", userB(t): "@id-crds-b"} {
		s.apply(strings.NewReplacer("@user", user, "@id-crds", name).Replace(crdRights))
		s.waitAllowed(user, authorizationv1.ResourceAttributes{Group: definitions.Group, Resource: definitions.Resource, Verb: "create"})
	}
	a := s.replica(userA(t))
	a.waitLeading(soon)
	here, there := classOf(t), classOf(t)+"-b"
	s.replica(userB(t), "--class-name", there).waitLeading(soon)

	s.own(definitions, s.expand("websites.@group"))
	s.controller(website)
	s.expectServed(here)
	s.website("one", "{page: hello}")
	websites := s.in(s.resource("websites"))
	parent := waitFor(t, websites, "one", ready)
	child := waitFor(t, s.in(configMaps), "one", nil)
	crd := func() *unstructured.Unstructured {
		return waitFor(t, env.client.Resource(definitions), s.expand("websites.@group"), nil)
	}
	a.quiet(time.Second)
	before, moved := crd(), mark(t)
	for i, class := range []string{there, here, there} {
		s.moveTo(class)
		s.expectServed(class)
		s.website("one", fmt.Sprintf("{page: hello, replicas: %d}", i+5)) // it is reconciled by the new installation
		waitFor(t, s.in(configMaps), "one", func(o *unstructured.Unstructured) error {
			if o.GetUID() != child.GetUID() {
				return errors.New("it is another object")
			}
			return same("data", map[string]any{"page": "hello", "replicas": strconv.Itoa(i + 5)}, o.Object["data"])
		})
	}
	if o := waitFor(t, websites, "one", ready); o.GetUID() != parent.GetUID() {
		t.Error("the parent is another object")
	}
	if after := crd(); after.GetUID() != before.GetUID() || after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the CRD was changed: %v", cmp.Diff(before.Object, after.Object))
	}
	for _, e := range allWrites(t, moved) {
		if e.ObjectRef.Resource == definitions.Resource {
			t.Errorf("%s wrote the CRD: %s", e.User.Username, e.Verb)
		}
	}

	t.Log("the new installation applies a compatible change")
	s.patchController(`{"spec":{"crd":{"schema":{"spec":{"more":"string"}}}}}`)
	s.crdReady("True", "Established")
	if after := crd(); after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration()+1 {
		t.Errorf("the CRD has generation %d, before %d", after.GetGeneration(), before.GetGeneration())
	}
}
