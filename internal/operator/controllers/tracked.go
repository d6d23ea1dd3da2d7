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
	"github.com/templater-dev/templater/internal/operator/controllers/crds"
	"github.com/templater-dev/templater/internal/operator/controllers/deletion"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/related"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// tracked is the state of one TemplateController, guarded by the lock of the registry.
type tracked struct {
	compilation
	kindRecord
	childScope
	execution
	ending
	confirmation

	uid      types.UID
	since    time.Time // when this operator started to serve it; zero before
	waiting  handover  // handover that it waits for
	recorded bool      // this operator has written its status since it started to serve it
	counts   *status.Counts
	meter    record.Meter
	crd      crds.State // only the sync uses it
}

// compilation is a compiled spec.
type compilation struct {
	verdict

	generation int64
	refused    bool // there is no memory to compile this generation
	revised    revised
	compiled   *spec.Compiled             // of the running revision
	spec       *v1.TemplateControllerSpec // of the running revision; its outline if it does not compile
	filter     *controller.Filter         // of compiled; nil = no filter
	indexes    []*related.Index           // of spec.related, in its order; recreated for each generation, because all parents are reconciled then
	named      []schema.GroupVersionKind  // kinds of children that the templates of compiled name: see earlyKinds
}

// kindRecord contains the child kinds.
type kindRecord struct {
	childKinds map[schema.GroupKind]string // all kinds that may have children, with the version last used
	unrecorded map[schema.GroupKind]bool   // those of childKinds that could not be read yet, so that no child was created: see recordReadable
	former     map[schema.GroupKind]bool   // those of childKinds that no template renders anymore, as far as known
	custom     map[schema.GroupKind]bool   // those of childKinds that a CRD defined when they were last served
	settled    map[schema.GroupKind]bool   // kinds whose version was set since the last generation
	missing    map[schema.GroupKind]bool   // kinds that templates render and the API server does not serve
	bits       map[schema.GroupKind]uint64 // see bit
	round      int64                       // of reconciliations of all parents; incremented with each generation and added kind
}

// childScope contains the namespaces that children may be in.
type childScope struct {
	namespaces map[string]bool // nil = all
	everywhere bool            // children were read in all namespaces when this operator started to serve the TemplateController
	// recordedNamespaces is namespaces without those that the current spec has added: see limitWatches.
	recordedNamespaces map[string]bool
}

// execution is the running controller.
type execution struct {
	current     *controller.Controller // nil = not running
	state       *controller.State      // when the parents were last enqueued
	gone        bool                   // the API server does not serve the watched kind
	reconciling sync.WaitGroup         // running reconciliations
	inProgress  atomic.Int32           // number of running reconciliations
}

// ending is the progress of the removal of finalizers from parents, and of the deletion of the TemplateController.
type ending struct {
	deletion.Progress

	sought int64                  // generation for which seekStrays was done
	last   *controller.Controller // controller that ran when the TemplateController was deleted: see reportDeleted
}

// confirmation records what was confirmed by the API server.
type confirmation struct {
	confirmed        bool                               // the TemplateController is up to date: see checks.MayPrune
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

// learn adds the child kinds in a status. The installation that served the TemplateController before may have added
// some that the watch delivers after this operator took over. Once this operator has written the status, its own record
// is used instead: see dropIdleKinds.
func (e *tracked) learn(kinds []v1.ChildKind) {
	for _, k := range kinds {
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		if k.Custom {
			e.custom[gk] = true // an administrator may have set it; assemble corrects it while the kind is served
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

// widenScope adds namespaces in which children are read; an empty scope means all namespaces. Children are read in all
// namespaces while some may be in another namespace than their parent.
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
		e.current.EachChild(func(_ controller.Source, o *object.Object) { next[o.Namespace()] = true })
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

// mayNarrow reports whether children no longer need to be read in all namespaces.
func (e *tracked) mayNarrow() bool {
	if e.current == nil {
		return !e.everywhere
	}
	return e.current.MayNarrow()
}

// closeIndexes releases the memory of the selections of parents.
func (e *tracked) closeIndexes() {
	for _, index := range e.indexes {
		index.Close()
	}
	e.indexes = nil
}
