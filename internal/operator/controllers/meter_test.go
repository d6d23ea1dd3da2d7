package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
)

// tallies is Meters that remember.
type tallies struct {
	mu    sync.Mutex
	each  map[string]*counted
	ended []string
}

func (m *tallies) Begin(controller string) record.Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each[controller] = &counted{counts: map[string]int{}}
	return m.each[controller]
}

func (m *tallies) End(controller string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.each, controller)
	m.ended = append(m.ended, controller)
}

// counted is a Meter that remembers.
type counted struct {
	mu      sync.Mutex
	counts  map[string]int
	parents v1.ParentCounts
	ready   bool
}

func (m *counted) add(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[what]++
}

func (m *counted) Pass(outcome record.Outcome, _ time.Duration) { m.add(fmt.Sprint("pass ", outcome)) }

func (m *counted) TemplateError() { m.add("template error") }

func (m *counted) Write(verb record.Verb, answer record.Answer) {
	m.add(fmt.Sprint("write ", verb, " ", answer))
}

func (m *counted) Tripped() { m.add("trip") }

func (m *counted) Parents(now v1.ParentCounts) { m.parents = now }

func (m *counted) Ready(now bool) { m.ready = now }

// measured returns a cluster with an operator that is measured.
func measured(t *testing.T) (*cluster, *tallies) {
	t.Helper()
	c, m := newCluster(t), &tallies{each: map[string]*counted{}}
	c.controllers.meters = m
	return c, m
}

func TestParentsAndReadinessAreMeasured(t *testing.T) {
	c, m := measured(t)
	c.apply(apps)
	c.apply(app)
	c.apply(with(t, app, "name: one", "name: two", ", text: hello", ""))
	c.run()
	got := m.each["apps"]
	if want := (v1.ParentCounts{Total: 2, Ready: 1, Failed: 1, Updated: 2}); got.parents != want || !got.ready {
		t.Errorf("parents %+v and ready %v, want %+v and true", got.parents, got.ready, want)
	}
	c.gone(locationOf(parse(t, with(t, app, "name: one", "name: two"))))
	c.run()
	if want := (v1.ParentCounts{Total: 1, Ready: 1, Updated: 1}); got.parents != want {
		t.Errorf("parents %+v, want %+v", got.parents, want)
	}
	c.apply(with(t, apps, "kind: App", "kind: Nowhere"))
	c.run()
	if got.ready {
		t.Error("a TemplateController whose kind is missing is measured as ready")
	}
}

func TestMeasuresGoWithTheTemplateController(t *testing.T) {
	c, m := measured(t)
	c.apply(apps)
	c.apply(app)
	c.run()
	was := m.each["apps"]
	c.gone(request.Location{Resource: v1.Resource, Name: "apps"})
	c.run()
	if !slices.Equal(m.ended, []string{"apps"}) || len(m.each) != 0 {
		t.Errorf("ended: %v, left: %d", m.ended, len(m.each))
	}
	before := len(was.counts)
	c.parentsDue.Add(queue.Key{Controller: "apps", Parent: configMapName("one")})
	c.reconciler.Next(t.Context(), t.Context(), func() {})
	if len(m.each) != 0 || len(was.counts) != before {
		t.Error("a pass for a TemplateController that is gone was measured")
	}
}

func TestDeletionsForATemplateControllerThatGoesAreMeasured(t *testing.T) {
	c, m := measured(t)
	c.apply(with(t, apps, "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"))
	c.apply(app)
	c.run()
	c.refuse["delete configmaps a"] = answer(http.StatusForbidden, "Forbidden", "admission webhook \"x\" denied the request")
	c.goes()
	c.run()
	got := m.each["apps"].counts
	if done, refused := got[fmt.Sprint("write ", record.Delete, " ", record.Accepted)], got[fmt.Sprint("write ", record.Delete, " ", record.Rejected)]; done != 1 || refused == 0 {
		t.Errorf("%d deletions accepted and %d rejected, want 1 and some", done, refused)
	}
}
