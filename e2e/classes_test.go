package e2e

import (
	"fmt"
	"testing"
	"time"

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
