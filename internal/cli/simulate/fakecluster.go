package simulate

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/child"
	"github.com/templater-dev/templater/internal/reconcile/controller"
	"github.com/templater-dev/templater/internal/reconcile/permissions"
	"github.com/templater-dev/templater/internal/reconcile/podlogs"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/record"
	"github.com/templater-dev/templater/internal/reconcile/spec"
	"github.com/templater-dev/templater/internal/reconcile/status"
)

// fakeCluster is a cluster for one reconciliation: an in-memory API server with the objects of a State, its caches, and the
// running TemplateController.
type fakeCluster struct {
	*Simulator
	state      State
	clock      *still
	server     *memserver.Server
	served     map[schema.GroupResource]kind.Kind
	order      []request.Location // of the Objects of the State
	key        queue.Key
	parent     request.Location
	controller *controller.Controller
	attempts   *queue.Attempts
	unread     []schema.GroupVersionKind // child kinds that are not read yet
	report     status.Report
	began      int // resourceVersion of the server before the reconciliation
}

// still is a stopped clock.
type still struct{ now time.Time }

// Now returns the time of the State.
func (c *still) Now() time.Time { return c.now }

// Since returns the time since t.
func (c *still) Since(then time.Time) time.Duration { return c.now.Sub(then) }

// open returns the fakeCluster of a placed State. It also reads children of the kinds in read.
func (s *Simulator) open(in State, read []schema.GroupVersionKind) (*fakeCluster, error) {
	w := &fakeCluster{Simulator: s, state: in, clock: &still{now: in.Now}, served: map[schema.GroupResource]kind.Kind{}, attempts: queue.NewAttempts()}
	w.server = memserver.New(w.clock, func(resource schema.GroupResource) kind.Kind { return w.served[resource] })
	w.server.Version, w.server.Born = max(in.version, 1), w.born
	if s.Validates {
		w.server.Accept, w.server.Before = s.accept, w.checkNamespace
	}
	for _, content := range in.Objects {
		w.order = append(w.order, w.load(content))
	}
	w.parent = w.load(in.Parent)
	w.key = queue.Key{Controller: s.name, Parent: types.NamespacedName{Namespace: w.parent.Namespace, Name: w.parent.Name}}
	if in.attempt != nil {
		w.attempts.Begin(w.key, *in.attempt)
	}
	return w, w.run(read)
}

// load adds an object to the server.
func (w *fakeCluster) load(content map[string]any) request.Location {
	k, metadata := w.know(child.GVKOf(content)), Map(content["metadata"])
	at := request.Location{Resource: k.Resource, Namespace: Text(metadata["namespace"]), Name: Text(metadata["name"])}
	missing := map[string]any{}
	if metadata["uid"] == nil {
		missing["uid"] = uid("given "+child.IDOf(content).String(), 0)
	}
	if version, err := strconv.Atoi(Text(metadata["resourceVersion"])); err == nil {
		w.server.Version = max(w.server.Version, version)
	} else {
		w.server.Version++
		missing["resourceVersion"] = strconv.Itoa(w.server.Version)
	}
	if len(missing) > 0 {
		content = memserver.Patch(content, map[string]any{"metadata": missing})
	}
	w.server.Objects[at] = &unstructured.Unstructured{Object: content}
	return at
}

// know resolves a kind, and makes the server serve it. All objects have generations.
func (w *fakeCluster) know(gvk schema.GroupVersionKind) kind.Kind {
	k := w.kinds.find(gvk)
	served := k
	served.Custom = true
	w.served[k.Resource.GroupResource()] = served
	return k
}

// born sets the server's fields of a created object.
func (w *fakeCluster) born(o *unstructured.Unstructured) {
	w.state.made++
	id := child.IDOf(o.Object)
	o.SetUID(types.UID(uid(id.String(), w.state.made)))
	metadata := Map(o.Object["metadata"])
	metadata["creationTimestamp"], metadata["generation"] = w.clock.now.UTC().Format(time.RFC3339), int64(1)
	w.order = append(w.order, request.Location{Resource: w.know(child.GVKOf(o.Object)).Resource, Namespace: id.Name.Namespace, Name: id.Name.Name})
}

// run creates the running TemplateController.
func (w *fakeCluster) run(read []schema.GroupVersionKind) error {
	c := &controller.Controller{
		Definition: controller.Definition{
			Name: w.name, Manager: v1.FieldManager(w.name), Spec: w.spec, Program: w.compiled.Program, Order: w.compiled.Order, FinalOrder: w.compiled.FinalOrder, Resync: w.compiled.Resync, GVK: w.compiled.GVK, Generation: 1, Labels: w.compiled.Labels, ReadyCondition: w.compiled.ReadyCondition,
		},
		Access: controller.Access{Cluster: w.server, Meter: record.Discard{}},
		Mode: controller.Mode{
			Finalizer: v1.ParentFinalizer(w.name), NeedsFinalizer: spec.NeedsFinalizer(w.spec), MayHold: true,
		},
		Caches: controller.Caches{
			Kinds: w, Kind: w.parents, Parents: map[string]*watch.Cache{}, Sources: map[schema.GroupKind]controller.Source{}, Settled: map[schema.GroupKind]bool{},
		},
		Factory: w.factory(w.clock),
		MayHave: w.mayHave,
	}
	c.Rights = permissions.NewTracker(func(string) permissions.Reviewer { return w.server }, w.clock, nil, func(string) {}).For(w.name, "", w.parents)
	c.Factory.Cluster, w.controller = c, c
	parents := watch.Want{Resource: w.parents.Resource, Labels: w.compiled.Labels.String(), Fields: w.compiled.Fields, Role: watch.Parent}
	namespaces := w.spec.Watch.Namespaces
	if len(namespaces) == 0 || !w.parents.Namespaced {
		namespaces = []string{""}
	}
	for _, parents.Namespace = range namespaces {
		var err error
		if c.Parents[parents.Namespace], err = w.fill(parents); err != nil {
			return err
		}
	}
	gvks := slices.Clone(read)
	for _, content := range w.state.Objects {
		gvks = append(gvks, child.GVKOf(content))
	}
	for _, gvk := range gvks {
		if err := w.readChildren(w.know(gvk)); err != nil {
			return err
		}
	}
	return w.readRelated()
}

// readChildren makes the controller read children of a kind.
func (w *fakeCluster) readChildren(k kind.Kind) error {
	gk := k.GroupKind()
	if w.controller.Sources[gk].There() {
		return nil
	}
	label, _ := v1.ControllerLabel(w.name)
	cache, err := w.fill(watch.Want{Resource: k.Resource, Labels: label, Role: watch.Child})
	if err != nil {
		return err
	}
	cache.Each(func(o *object.Object) bool {
		if o.Applied(w.controller.Manager, "") == nil { // an object from the user without managedFields
			o.Note(object.Covered)
		}
		return true
	})
	w.controller.Settled[gk] = true
	w.controller.Sources[gk] = controller.Source{Kind: k, Caches: map[string]*watch.Cache{"": cache}}
	return nil
}

// fill returns a cache with the objects of the server.
func (w *fakeCluster) fill(want watch.Want) (*watch.Cache, error) {
	cache, err := watch.NewCache(want, func(watch.Event) {}, func() {})
	if err == nil {
		_, err = w.server.Fill(want, cache)
	}
	return cache, err
}

// reconcile reconciles the parent once.
func (w *fakeCluster) reconcile() {
	now := w.clock.now
	w.clock.now = now.Add(-time.Hour) // so that earlier changes do not count as recent
	history := queue.NewHistory(w.clock)
	history.Attempts = w.attempts
	detached := &reconcile.Detached{Controller: w.controller}
	r := detached.New(reconcile.Options{Clock: w.clock, History: history, Logs: podlogs.Fixed(w.state.Logs), Memory: queue.NewMemory(math.MaxInt64, queue.NewTenants())})
	w.clock.now = now
	w.began, w.report.Assume = w.server.Version, w.state.isAssumed
	r.ReconcileAndReport(klog.NewContext(context.Background(), klog.Logger{}), w.key, &w.report)
	w.unread = detached.Unread
}

// Resolve resolves a kind.
func (w *fakeCluster) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	k, err := w.kinds.resolve(gvk)
	if err == nil {
		w.know(gvk)
	}
	return k, err
}

// observed returns the current children.
func (w *fakeCluster) observed(parent *object.Object) ([]*child.Live, error) {
	for gk, s := range w.controller.Sources {
		delete(w.controller.Sources, gk)
		if err := w.readChildren(s.Kind); err != nil {
			return nil, err
		}
	}
	return w.controller.ChildrenOf(parent), nil
}

// close returns the State afterwards.
func (w *fakeCluster) close() State {
	out := w.state
	out.Objects = nil
	before := map[child.ID]bool{}
	for _, content := range w.state.Objects {
		before[child.IDOf(content)] = !IsDeleting(content)
	}
	for _, at := range w.order {
		if o := w.server.Objects[at]; o != nil {
			out.Objects = append(out.Objects, o.Object)
			before[child.IDOf(o.Object)] = before[child.IDOf(o.Object)] && IsDeleting(o.Object)
		}
	}
	out.guessed = out.guessed || w.report.Assumed
	if out.guessed {
		out.unsure = maps.Clone(out.unsure)
		for id, deleted := range before {
			if deleted {
				out.unsure[id] = true
			}
		}
	}
	if parent := w.server.Objects[w.parent]; parent != nil {
		out.Parent = parent.Object
	}
	out.checked, out.version = out.Parent, w.server.Version
	attempt, has := w.attempts.Of(w.key, types.UID(Text(Map(out.Parent["metadata"])["uid"])), w.controller.Generation)
	if out.attempt = nil; has {
		out.attempt = &attempt
	}
	return out
}
