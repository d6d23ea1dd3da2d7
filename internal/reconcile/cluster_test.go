package reconcile_test

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/memserver"
	"github.com/templater-dev/templater/internal/kube/object"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/seal"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// cluster is an API server in memory with the kinds of fakeKinds. It fills the caches of watches and records every request. The
// TemplateControllers in it run: see controllers. At the end of a test, another reconciliation of each parent must change nothing.
type cluster struct {
	*memserver.Server
	t        testing.TB
	clock    *clocktesting.FakePassiveClock
	brought  map[watch.Want]int // how many writes the cache has seen
	caches   map[watch.Want]*watch.Cache
	owners   map[string][]watch.Want
	silent   map[watch.Want]bool // watches that are not synced
	refuse   map[string]error    // by request
	during   func()              // called during each request
	applied  func()              // called after each apply, before its answer arrives
	requests []string
	events   []string
	logs     reconciletest.Logs               // of Pods
	eventsAs []string                         // the users that publish them
	ahead    time.Duration                    // how far the clock of the server is ahead: in the time of managedFields, and in the Date of answers
	dateless bool                             // whether answers have no Date
	longest  map[string]int                   // the maximum length of a condition's message, by resource
	admit    func(*unstructured.Unstructured) // a mutating webhook, which does not change managedFields

	keys  *seal.Keys      // of the seals
	user  string          // of the request in progress
	lacks map[string]bool // missing permissions, "USER VERB RESOURCE NAMESPACE", and missing objects that specs name, "RESOURCE NAMESPACE NAME"
	asked []string        // the permissions that the server was asked for, in order

	controllers *controllers
	reconciler  *reconcile.Reconciler
	shared      *shared
	parentsDue  *timed[queue.Key]
	unasked     bool     // whether no missing permission is looked up anymore
	ends        []func() // what ends the queues
	restless    bool     // whether the end of the test leaves something to do
	greedy      bool     // whether only one reconciliation at a time may hold memory
}

var fakeKinds = map[schema.GroupKind]kind.Kind{
	{Kind: "ConfigMap"}:           {Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	{Kind: "Pod"}:                 {Kind: "Pod", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}},
	{Group: "batch", Kind: "Job"}: {Kind: "Job", Namespaced: true, Resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}},
	{Kind: "Namespace"}:           {Kind: "Namespace", Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}},
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: {Kind: "ClusterRole", Resource: schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}},
	{Group: "example.org", Kind: "App"}:                       {Kind: "App", Namespaced: true, Custom: true, Status: &kind.StatusSchema{ObservedGeneration: true}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}},
	{Group: "example.org", Kind: "Cluster"}:                   {Kind: "Cluster", Custom: true, Status: &kind.StatusSchema{Conditions: "no room"}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "clusters"}},
	{Group: "example.org", Kind: "Gadget"}:                    {Kind: "Gadget", Namespaced: true, Custom: true, Status: &kind.StatusSchema{}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gadgets"}},
	{Group: "example.org", Kind: "Statusless"}:                {Kind: "Statusless", Namespaced: true, Custom: true, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "statuslesses"}},
}

// newCluster returns a cluster without TemplateControllers.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		caches: map[watch.Want]*watch.Cache{},
		owners: map[string][]watch.Want{}, silent: map[watch.Want]bool{}, refuse: map[string]error{}, lacks: map[string]bool{}, keys: keysOf(t, "1"),
	}
	c.Server = c.newServer()
	c.start()
	t.Cleanup(c.end)
	return c
}

// start makes a new Reconciler, as after a restart. The kinds of children stay known: the status of a TemplateController has them.
func (c *cluster) start() {
	c.caches, c.owners, c.brought = map[watch.Want]*watch.Cache{}, map[string][]watch.Want{}, map[watch.Want]int{}
	c.startControllers()
}

// keysOf returns keys with these numbers, which are the same in each test.
func keysOf(t testing.TB, ids ...string) *seal.Keys {
	t.Helper()
	data := map[string]any{}
	for _, id := range ids {
		data[id] = base64.StdEncoding.EncodeToString([]byte(strings.Repeat(id[:1], 32)))
	}
	keys, err := seal.Parse(data, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// ring has one key, the same each time.
func ring(t testing.TB) *seal.Ring {
	t.Helper()
	r := &seal.Ring{}
	r.Set(keysOf(t, "1"))
	return r
}

// definition is the TemplateController of that name, as seals know it.
func definition(name string) seal.Definition {
	return seal.Definition{Kind: v1.KindTemplateController, Name: types.NamespacedName{Name: name}}
}

// seal gives an object the seal of a child with its labels and annotations.
func (c *cluster) seal(o *unstructured.Unstructured) {
	ring, labels := &seal.Ring{}, o.GetLabels()
	ring.Set(c.keys)
	namespace, name := packed(c.t, o).ParentName()
	kind := schema.GroupKind{Group: "example.org", Kind: "App"}
	if tc := c.get(v1.Resource.Resource, labels[v1.LabelController]); tc != nil {
		kind.Kind, _, _ = unstructured.NestedString(tc.Object, "spec", "watch", "kind")
	}
	parent := seal.Parent{UID: types.UID(labels[v1.LabelParentUID]), Kind: kind, Name: types.NamespacedName{Namespace: namespace, Name: name}}
	order, _ := strconv.Atoi(o.GetAnnotations()[v1.AnnotationOrder])
	text := ring.Seal(seal.Subject{
		Definition: definition(labels[v1.LabelController]), Parent: parent, Kind: o.GroupVersionKind().GroupKind(),
		Name: types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()},
	}, seal.Note{Entry: labels[v1.LabelChild], Hash: o.GetAnnotations()[v1.AnnotationHash], Policies: seal.Policies{
		PruneOrphan: o.GetAnnotations()[v1.AnnotationPrune] == "Orphan", DeletionOrphan: o.GetAnnotations()[v1.AnnotationDeletion] == "Orphan", Order: order,
	}, Serial: seal.Read(o.GetAnnotations()[v1.AnnotationSeal]).Serial + 1})
	annotations := o.GetAnnotations()
	delete(annotations, v1.AnnotationSeal)
	o.SetAnnotations(plus(annotations, v1.AnnotationSeal, text))
}

func (c *cluster) Resolve(gvk schema.GroupVersionKind) (kind.Kind, error) {
	found, ok := fakeKinds[gvk.GroupKind()]
	if !ok {
		return kind.Kind{}, &kind.NotFoundError{GVK: gvk}
	}
	if err := c.refuse["kind "+gvk.Kind]; err != nil {
		return kind.Kind{}, err
	}
	found.Resource.Version = gvk.Version
	return found, nil
}

// Announce publishes an Event at once. The server refuses it where refuse has "create events NAMESPACE".
func (c *cluster) Announce(what request.Announcement) {
	if !what.Wanted() {
		return
	}
	c.wantTold("an Event", what.Message)
	c.eventsAs = append(c.eventsAs, what.As)
	err := c.refuse["create events "+request.EventNamespace(what.About)]
	if err == nil {
		c.events = append(c.events, fmt.Sprintf("%s %s %s: %s", what.About.Name(), what.Type, what.Reason, what.Message))
	}
	what.Answered(err)
}

// wantTold checks that a message is one line of text and not too long.
func (c *cluster) wantTold(where, message string) {
	if message != object.Line(message, problem.LongestMessage) {
		c.t.Errorf("%s: the message is no line of text, or too long: %.300q", where, message)
	}
}

// apply applies an object as a user does with kubectl, and updates the caches. The status and the deletion timestamp of the text count only
// if there is no such object yet.
func (c *cluster) apply(text string) *unstructured.Unstructured {
	c.t.Helper()
	o := parse(c.t, text)
	gvk := o.GroupVersionKind()
	of, ok := fakeKinds[gvk.GroupKind()]
	if gvk.Kind == v1.KindTemplateController {
		of, ok = kind.Kind{Resource: v1.Resource}, true
	}
	if !ok {
		c.t.Fatalf("the fake cluster has no %s", gvk)
	}
	at := place(of, o)
	there := c.Objects[at]
	if there == nil {
		there = c.NewObject(at, o.Object)
		there.SetUID(types.UID("uid-" + o.GetName()))
	} else {
		delete(o.Object, "status")
	}
	c.Store(at, applied(there, o.Object, "kubectl", ""))
	c.deliver()
	return c.Objects[at]
}

// edit changes an object as a user does with kubectl edit, who then owns the changed fields, and updates the caches.
func (c *cluster) edit(at request.Location, change func(o *unstructured.Unstructured)) {
	c.t.Helper()
	next := c.Objects[at].DeepCopy()
	change(next)
	deprive(next, differing(c.Objects[at].Object, next.Object, fieldsOf(c.Objects[at].Object)))
	deprive(next, differing(c.Objects[at].Object, next.Object, fieldsOf(next.Object)))
	c.Store(at, next)
	c.deliver()
}

// gone removes an object and updates the caches.
func (c *cluster) gone(at request.Location) {
	c.Remove(at)
	c.deliver()
}

func (c *cluster) get(resource, name string) *unstructured.Unstructured {
	for at, o := range c.Objects {
		if at.Resource.Resource == resource && at.Name == name {
			return o
		}
	}
	return nil
}

// condition returns "STATUS REASON: MESSAGE" of an object's condition.
func (c *cluster) condition(resource, name, kind string) string {
	o := c.get(resource, name)
	if o == nil {
		return "no " + name
	}
	return conditionOf(o, kind)
}

// conditionOf is condition for an object.
func conditionOf(o *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			return fmt.Sprintf("%s %s: %s", m["status"], m["reason"], m["message"])
		}
	}
	return "no condition " + kind
}

// place returns where the cluster has an object.
func place(kind kind.Kind, o *unstructured.Unstructured) request.Location {
	return running.Locate(kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
}

// locationOf is place for a kind that the cluster has.
func locationOf(o *unstructured.Unstructured) request.Location {
	return place(fakeKinds[o.GroupVersionKind().GroupKind()], o)
}

func configMap(name string) request.Location {
	return request.Location{Resource: fakeKinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Namespace: "ns", Name: name}
}

// Short names for what makes objects for tests.
var (
	parse  = memserver.Parse
	packed = memserver.Pack
	with   = memserver.With
)

func configMapName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}
