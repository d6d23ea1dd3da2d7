package controllers

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// shedding is a TemplateController whose only child kind can be dropped, with the objects to change that.
type shedding struct {
	*tracked
	gk       schema.GroupKind
	parents  *watch.Cache
	children *watch.Cache
	unread   *watch.Cache
}

func newShedding(t *testing.T) *shedding {
	t.Helper()
	s := &shedding{tracked: newTracked("u"), gk: schema.GroupKind{Kind: "ConfigMap"}, children: cacheOf(t)}
	var err error
	if s.unread, err = watch.NewCache(watch.Want{Role: watch.Namespace}, func(watch.Event) {}, func() {}); err != nil {
		t.Fatal(err)
	}
	if s.parents, err = watch.NewCache(watch.Want{Role: watch.Parent}, func(watch.Event) {}, func() {}); err != nil {
		t.Fatal(err)
	}
	parent := packed(t, parse(t, with(t, app, "name: one", "name: one, resourceVersion: \"1\"")))
	if err := s.parents.Replace([]any{parent}, "1"); err != nil {
		t.Fatal(err)
	}
	s.generation, s.round = 1, 1
	s.childKinds[s.gk], s.settled[s.gk] = "v1", true
	s.counts.Set(parent.Key(), &status.ParentSummary{Round: 1})
	s.current = &controller.Controller{
		Definition: controller.Definition{Name: "apps", Spec: &v1.TemplateControllerSpec{}, Generation: 1},
		Caches: controller.Caches{
			Parents: map[string]*watch.Cache{"": s.parents}, Sources: map[schema.GroupKind]controller.Source{s.gk: {Caches: map[string]*watch.Cache{"": s.children}, Bit: s.bit(s.gk)}},
		},
		Factory: &child.Factory{},
		Round:   1,
	}
	return s
}

// source changes the source of the kind.
func (s *shedding) source(change func(*controller.Source)) {
	next := s.current.Sources[s.gk]
	change(&next)
	s.current.Sources[s.gk] = next
}

func TestIdleKindIsDropped(t *testing.T) {
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {namespace: ns, name: a, resourceVersion: \"1\", labels: {templater.dev/controller: apps}}}"
	one := configMapName("one")
	for why, row := range map[string]struct {
		change func(*shedding)
		want   string
	}{
		"nobody wants it, and nothing is left": {func(*shedding) {}, "forgotten"},
		"it does not run":                      {func(s *shedding) { s.current = nil }, "kept"},
		"an edit has not been taken up":        {func(s *shedding) { s.current.Generation = 2 }, "kept"},
		"kinds have been added since":          {func(s *shedding) { s.current.Round = 2 }, "kept"},
		"it is suspended":                      {func(s *shedding) { s.current.Spec.Suspend = true }, "kept"},
		"the parents' kind cannot be read":     {func(s *shedding) { s.current.Unknown = true }, "kept"},
		"a parent wants it":                    {func(s *shedding) { s.counts.Set(one, &status.ParentSummary{Round: 1, Kinds: s.bit(s.gk)}) }, "kept"},
		"a parent wants it, and is looked at now": {func(s *shedding) {
			s.counts.Set(one, &status.ParentSummary{Round: 1, Kinds: s.bit(s.gk)})
			s.inProgress.Add(1)
		}, "kept"},
		"a parent has not been looked at":        {func(s *shedding) { s.counts.Set(one, nil) }, "kept"},
		"a parent was looked at before":          {func(s *shedding) { s.counts.Set(one, &status.ParentSummary{}) }, "kept"},
		"the parents are not known":              {func(s *shedding) { s.current.Parents[""] = s.unread }, "kept"},
		"the watch of the parents fails":         {func(s *shedding) { s.parents.Fail(errors.New("no answer")) }, "kept"},
		"the namespaces are known":               {func(s *shedding) { s.current.Namespaces = cacheOf(t) }, "forgotten"},
		"it is not known which namespaces match": {func(s *shedding) { s.current.Namespaces = s.unread }, "kept"},
		"an object is left":                      {func(s *shedding) { s.source(func(o *controller.Source) { o.Caches[""] = cacheOf(t, object) }) }, "kept"},
		"the watch of the children fails":        {func(s *shedding) { s.children.Fail(errors.New("no answer")) }, "kept"},
		"it is not known where it is":            {func(s *shedding) { s.source(func(o *controller.Source) { o.Err = errors.New("no answer") }) }, "kept"},
		"nothing stands for it in tallies":       {func(s *shedding) { s.source(func(o *controller.Source) { o.Bit = 0 }) }, "kept"},
		"a reconciliation is under way":          {func(s *shedding) { s.inProgress.Add(1) }, "later"},
		"it cannot be read, and was never recorded": {func(s *shedding) {
			s.children.Fail(errors.New("no answer"))
			s.unrecorded[s.gk] = true
		}, "forgotten"},
		"it was never recorded, and a parent wants it": {func(s *shedding) {
			s.unrecorded[s.gk] = true
			s.counts.Set(one, &status.ParentSummary{Round: 1, Kinds: s.bit(s.gk)})
		}, "kept"},
		"it was never recorded, and a parent has not been looked at": {func(s *shedding) {
			s.unrecorded[s.gk] = true
			s.counts.Set(one, nil)
		}, "kept"},
		"it was never recorded, and a reconciliation is under way": {func(s *shedding) {
			s.unrecorded[s.gk] = true
			s.inProgress.Add(1)
		}, "later"},
	} {
		t.Run(why, func(t *testing.T) {
			c, s := newCluster(t), newShedding(t)
			row.change(s)
			running := s.current
			c.controllers.dropIdleKinds("apps", s.tracked)
			got := "kept"
			if due, ok := c.ControllerQueue.Due("apps"); ok && due.Sub(c.Clock.Now()) == countsDelay {
				got = "later"
			}
			if s.current != running {
				got = "forgotten"
				if _, there := s.current.Sources[s.gk]; there || len(s.childKinds)+len(s.settled)+len(s.unrecorded) > 0 {
					t.Error("something is left of it")
				}
			} else if len(s.childKinds) != 1 || len(s.settled) != 1 {
				t.Error("a part of it is forgotten")
			}
			if running != nil && len(running.Sources) != 1 {
				t.Error("what reconciliations work with has changed")
			}
			if got != row.want {
				t.Errorf("it is %s, want %s", got, row.want)
			}
		})
	}
}

func TestKindBitsAreLimitedTo64(t *testing.T) {
	const mostKinds = 64
	e := newTracked("u")
	kind := func(i int) schema.GroupKind { return schema.GroupKind{Kind: fmt.Sprint("Kind", i)} }
	all := uint64(0)
	for i := range mostKinds {
		bit := e.bit(kind(i))
		if bit == 0 || all&bit != 0 || e.bit(kind(i)) != bit {
			t.Fatalf("kind %d has bit %b, and those before %b", i, bit, all)
		}
		all |= bit
	}
	if got := e.bit(kind(mostKinds)); got != 0 {
		t.Errorf("one too many has bit %b", got)
	}
}

func TestSpecEditStartsNewRound(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(apps)
	c.RunControllers()
	before := c.controllers.tracked["apps"].round
	c.KubectlApply(with(t, apps, "count:", "n:"))
	c.RunControllers()
	if got := c.controllers.tracked["apps"].round; got != before+1 {
		t.Errorf("round %d after %d, want the next one", got, before)
	}
}

func TestLearnIgnoresKindsAfterStatusWrite(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		t.Run(fmt.Sprint("recorded ", recorded), func(t *testing.T) {
			e := newTracked("u")
			e.recorded = recorded
			e.learn([]v1.ChildKind{{Version: "v1", Kind: "ConfigMap"}})
			if got := len(e.childKinds) == 0; got != recorded {
				t.Errorf("the status was written: %v, and nothing is learnt from it: %v", recorded, got)
			}
		})
	}
}
