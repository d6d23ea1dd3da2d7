package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
)

// entry is what is kept of one TemplateController, under the lock of Controllers.
type entry struct {
	uid        types.UID
	since      time.Time // when this operator took it up; zero before
	waiting    handover  // for another class
	generation int64
	compiled   *compiled
	rejection  *rejection
	current    *controller                 // nil = not running
	gone       time.Time                   // since when the watched kind is missing
	childKinds map[schema.GroupKind]string // all ever created, to the version last used
	namespaces map[string]bool             // that children may be in; nil = all
	settled    map[schema.GroupKind]bool   // those whose version was taken up since the last generation
	missing    map[schema.GroupKind]bool   // those that templates asked for and the server does not have
	state      string                      // of the caches, when the parents were last enqueued
	counts     *counts
	passes     *sync.RWMutex // held for reading during a pass
	meter      Meter
}

func newEntry(uid types.UID) *entry {
	return &entry{
		uid: uid, generation: -1, counts: newCounts(), passes: &sync.RWMutex{},
		childKinds: map[schema.GroupKind]string{}, settled: map[schema.GroupKind]bool{}, missing: map[schema.GroupKind]bool{},
	}
}

// entry returns the entry for tc, a fresh one for a TemplateController that is new, or another
// one of the same name.
func (c *Controllers) entry(tc *v1.TemplateController) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[tc.Name]
	if e == nil || e.uid != tc.UID {
		e = newEntry(tc.UID)
		e.meter = c.meters.Begin(tc.Name)
		c.entries[tc.Name] = e
	}
	if e.since.IsZero() {
		clear(e.childKinds) // who serves it may have another version of a kind by now
		e.namespaces = nil
		e.roam(tc.Status.ChildNamespaces)
	}
	e.roam(scopeOf(&tc.Spec))
	for _, k := range tc.Status.ChildKinds {
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		if _, ok := e.childKinds[gk]; !ok {
			e.childKinds[gk] = k.Version
		}
	}
	return e
}
