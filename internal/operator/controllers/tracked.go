package controllers

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/running"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// tracked is what is kept of one TemplateController, under the lock of the registry.
type tracked struct {
	compilation
	kindRecord
	childScope
	execution
	ending
	confirmation

	uid      types.UID
	since    time.Time // when this operator took it up; zero before
	waiting  handover  // for another class
	recorded bool      // whether this operator has written its status since it took it up
	counts   *status.Counts
	meter    record.Meter
}

// compilation is a compiled spec.
type compilation struct {
	verdict

	generation int64
	refused    bool // whether there is no memory for what this generation compiles to
	compiled   *spec.Compiled
	spec       *v1.TemplateControllerSpec // of this generation; where it does not compile, its outline
	filter     *running.Filter            // of compiled; nil = none
	indexes    []*related.Index           // of spec.related, in its order; created for each generation, because all parents are reconciled then
}

// kindRecord are the kinds of children.
type kindRecord struct {
	childKinds map[schema.GroupKind]string // all that there may be children of, to the version last used
	unrecorded map[schema.GroupKind]bool   // those of childKinds that could not be read yet, so that no child was created: see recordReadable
	former     map[schema.GroupKind]bool   // those of childKinds that no template yields any more, as far as that is known
	custom     map[schema.GroupKind]bool   // those of childKinds that a CustomResourceDefinition defined when they were last served
	settled    map[schema.GroupKind]bool   // those whose version was taken up since the last generation
	missing    map[schema.GroupKind]bool   // those that templates asked for and the server does not have
	bits       map[schema.GroupKind]uint64 // see bit
	round      int64                       // of reconciliations of all parents: counts generations and known kinds
}

// childScope are the namespaces that children may be in.
type childScope struct {
	namespaces map[string]bool // nil = all
	everywhere bool            // whether they were read in all when this operator took the TemplateController up
	// recordedNamespaces are namespaces without those that the present spec has added: see limitWatches.
	recordedNamespaces map[string]bool
}

// execution is what is running.
type execution struct {
	current  *running.Controller // nil = not running
	state    *running.State      // of the caches, when the parents were last enqueued
	gone     bool                // whether the server does not have the watched kind
	passes   sync.WaitGroup      // reconciliations in progress
	underWay atomic.Int32        // how many they are
}

// ending is how far it is with the finalizers of parents, and with the deletion of the TemplateController.
type ending struct {
	deletion.Progress

	sought int64               // the generation that strays were sought for: see seekStrays
	last   *running.Controller // what ran when the TemplateController was deleted: see reportDeleted
}

// confirmation is what is known as the server has it.
type confirmation struct {
	confirmed        bool                               // whether the TemplateController is: see checks.MayPrune
	confirmedParents map[types.NamespacedName]types.UID // see checks.Confirmed
}

func newTracked(uid types.UID) *tracked {
	return &tracked{
		uid: uid, compilation: compilation{generation: -1}, ending: ending{sought: -1}, counts: status.NewCounts(),
		kindRecord: kindRecord{
			childKinds: map[schema.GroupKind]string{}, unrecorded: map[schema.GroupKind]bool{}, custom: map[schema.GroupKind]bool{},
			settled: map[schema.GroupKind]bool{}, missing: map[schema.GroupKind]bool{}, bits: map[schema.GroupKind]uint64{},
		},
	}
}

// learn adds the kinds of children in a status. The installation that served it before may have added some that the watch
// delivers after this operator took over. Once this one has written the status, its own record counts: see dropIdleKinds.
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

// widenScope has children read in these namespaces, besides those that they may be in since before; no
// scope means in all. They are read in all as long as some may be in another namespace than their parent.
func (e *tracked) widenScope(scope []string) {
	if len(scope) == 0 {
		e.namespaces = nil
		return
	}
	if e.namespaces == nil && !e.mayNarrow() {
		return
	}
	next := map[string]bool{} // not the old map, which may be in use
	if e.namespaces == nil && e.current != nil {
		e.current.EachChild(func(_ running.Source, o *object.Object) { next[o.Namespace()] = true })
		e.current.EachSelected(func(o *object.Object) {
			if o.HasFinalizer(e.current.Finalizer) {
				next[o.Namespace()] = true
			}
		})
		delete(next, "")
	}
	maps.Copy(next, e.namespaces)
	for _, ns := range scope {
		next[ns] = true
	}
	e.namespaces = next
}

// mayNarrow reports whether children need not be read in all namespaces any more.
func (e *tracked) mayNarrow() bool {
	if e.current == nil {
		return !e.everywhere
	}
	return e.current.MayNarrow()
}

// closeIndexes gives back what the selections of parents take.
func (e *tracked) closeIndexes() {
	for _, index := range e.indexes {
		index.Close()
	}
	e.indexes = nil
}
