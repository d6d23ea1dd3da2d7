package controllers

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// tracked is what is kept of one TemplateController, under the lock of Controllers.
type tracked struct {
	uid            types.UID
	since          time.Time           // when this operator took it up; zero before
	waiting        handover            // for another class
	holders        []request.Holder    // parents to take the finalizer from, where the TemplateController goes
	sought         int64               // the generation that strays were sought for: see seekStrays
	released       bool                // whether no parent has the finalizer any more, as far as the last look at a TemplateController that does not need it, or goes
	deletionReport deletionReport      // see reportDeletion
	last           *running.Controller // what ran when the TemplateController was deleted: see reportDeleted
	confirmed      bool                // whether it is known as the server has it: see Controllers.MayPrune
	// confirmedParents are parents that were known as the server has them: see Controllers.Confirmed.
	confirmedParents map[types.NamespacedName]types.UID
	recorded         bool // whether this operator has written its status since it took it up
	generation       int64
	refused          bool // whether there is no memory for what this generation compiles to
	compiled         *spec.Compiled
	spec             *v1.TemplateControllerSpec // of this generation; where it does not compile, its outline
	filter           *running.Filter            // of compiled; nil = none
	indexes          []*related.Index           // of spec.related, in its order; made for each generation, for all parents are looked at then
	verdict
	current    *running.Controller         // nil = not running
	gone       bool                        // whether the server does not have the watched kind
	childKinds map[schema.GroupKind]string // all that there may be children of, to the version last used
	unrecorded map[schema.GroupKind]bool   // those of childKinds that could not be read yet, so that no child was created: see recordReadable
	former     map[schema.GroupKind]bool   // those of childKinds that no parent wants any more, as far as that is known
	custom     map[schema.GroupKind]bool   // those of childKinds that a CustomResourceDefinition defined when they were last served
	namespaces map[string]bool             // that children may be in; nil = all
	everywhere bool                        // whether they were read in all when this operator took it up
	// recordedNamespaces are namespaces without those that the present spec has added: see limitWatches.
	recordedNamespaces map[string]bool
	settled            map[schema.GroupKind]bool // those whose version was taken up since the last generation
	missing            map[schema.GroupKind]bool // those that templates asked for and the server does not have
	state              *running.State            // of the caches, when the parents were last enqueued
	counts             *status.Counts
	passes             sync.WaitGroup // those that are under way
	underWay           atomic.Int32   // how many they are
	round              int64          // of looks at all parents: the present generation, and the kinds that are known
	bits               map[schema.GroupKind]uint64
	meter              record.Meter
}

func newTracked(uid types.UID) *tracked {
	return &tracked{
		uid: uid, generation: -1, sought: -1, counts: status.NewCounts(), bits: map[schema.GroupKind]uint64{},
		childKinds: map[schema.GroupKind]string{}, custom: map[schema.GroupKind]bool{}, settled: map[schema.GroupKind]bool{}, missing: map[schema.GroupKind]bool{}, unrecorded: map[schema.GroupKind]bool{},
	}
}

// countsAll reports whether all parents are known and counted.
func (c *Controllers) countsAll(e *tracked, a assembly, next *running.Controller) bool {
	if a.rejection != nil || len(next.Parents) == 0 || !next.ParentsComplete() {
		return false
	}
	parents := next.ParentNames()
	c.mu.RLock()
	defer c.mu.RUnlock()
	return !slices.ContainsFunc(parents, func(name types.NamespacedName) bool {
		_, counted := e.counts.ByParent[name]
		return !counted
	})
}

// learn takes up the kinds of children in a status. Who has served it before may have added some that the watch has
// told of after this operator took it up. Once this one has written the status, it knows better: see dropIdleKinds.
func (e *tracked) learn(kinds []v1.ChildKind) {
	for _, k := range kinds {
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		if k.Custom {
			e.custom[gk] = true // an administrator may have set it; assemble knows better while the kind is served
		}
		if e.recorded {
			continue
		}
		if _, known := e.childKinds[gk]; !known {
			e.childKinds[gk] = k.Version
		}
		delete(e.unrecorded, gk)
	}
}

// track returns what is known of tc, nothing for a TemplateController that is new, or another
// one of the same name.
func (c *Controllers) track(tc *v1.TemplateController) *tracked {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.tracked[tc.Name]
	if e == nil || e.uid != tc.UID {
		if e != nil {
			e.closeIndexes()
		}
		e = newTracked(tc.UID)
		e.meter = c.meters.Begin(tc.Name)
		c.tracked[tc.Name] = e
	}
	if e.since.IsZero() {
		clear(e.unrecorded)
		clear(e.custom)
		clear(e.childKinds) // who serves it may have another version of a kind by now
		e.namespaces, e.recorded = nil, false
		e.everywhere = len(tc.Status.ChildKinds) > 0 && len(tc.Status.ChildNamespaces) == 0
		e.widenScope(tc.Status.ChildNamespaces)
	}
	e.learn(tc.Status.ChildKinds)
	e.recordedNamespaces = e.namespaces
	e.widenScope(spec.ChildNamespaces(&tc.Spec))
	return e
}
