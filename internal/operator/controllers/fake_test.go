package controllers

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// cluster is an API server with the kinds of fakeKinds, which feeds the watches that are set and records every request, and an operator on it.
type cluster struct {
	*memserver.Server
	t        testing.TB
	clock    *clocktesting.FakePassiveClock
	brought  map[watch.Want]int // how many writes the watch has brought
	caches   map[watch.Want]*watch.Cache
	owners   map[string][]watch.Want
	silent   map[watch.Want]bool // wants whose cache is not synced
	refuse   map[string]error    // by request
	during   func()              // called in each request
	requests []string
	events   []string
	logs     reconciletest.Logs               // of Pods
	eventsAs []string                         // by whom they were to be written
	ahead    time.Duration                    // of the operator's clock is the server's, where it notes when something was applied, and in the Date of answers
	dateless bool                             // whether answers have no Date
	longest  map[string]int                   // how many characters a message of a condition may have, by resource
	admit    func(*unstructured.Unstructured) // what a mutating webhook does to what is applied; it keeps fields and their managers

	keys   *seal.Keys      // of the seals
	user   string          // whom the request under way is made as
	strict bool            // whether a service account is required
	lacks  map[string]bool // "USER VERB RESOURCE NAMESPACE", of the rights that the server is asked for
	asked  []string        // the same, in order
	sought []string        // "RESOURCE NAMESPACE NAME", of what specs name; lacks has what is not there

	controllers    *Controllers
	reconciler     *reconcile.Reconciler
	shared         *shared
	unasked        bool // whether nobody answers any more which permissions are missing
	hasty          bool // whether no pass may go on when it is to stop
	greedy         bool // whether passes may hold no memory, but for one of them
	room           int  // what compiled specs may take, in bytes; 0 = as much as of the test
	parentsDue     *timed[queue.Key]
	controllersDue *timed[string]
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

// newCluster returns a cluster with an operator on it.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{
		t: t, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		caches: map[watch.Want]*watch.Cache{},
		owners: map[string][]watch.Want{}, silent: map[watch.Want]bool{}, refuse: map[string]error{}, lacks: map[string]bool{}, keys: keysOf(t, "1"),
	}
	c.Server = c.newServer()
	c.start()
	return c
}

// start begins with a fresh operator, as after a restart.
func (c *cluster) start() { c.startWith(Options{}) }

// standby begins with a fresh operator that does not lead.
func (c *cluster) standby() { c.startWith(Options{Standby: true}) }

func (c *cluster) startWith(o Options) {
	c.caches, c.owners, c.brought = map[watch.Want]*watch.Cache{}, map[string][]watch.Want{}, map[watch.Want]int{}
	o.Logs = c.readLogs
	o.Cluster, o.Clock, o.RequireServiceAccount, o.Seals = c.as, c.clock, c.strict, &seal.Ring{}
	if o.Events == nil {
		o.Events = c
	}
	o.Seals.Set(c.keys)
	c.controllers, c.reconciler = c.operator(o)
	c.controllers.patience = 0
	if c.room > 0 {
		c.controllers.memory.limit = c.room
	}
	want := watch.Want{Resource: v1.Resource, Role: watch.Controller}
	caches, err := c.Set("", []watch.Want{want})
	if err != nil {
		c.t.Fatal(err)
	}
	c.controllers.Attach(c, caches[want], c)
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

// seal gives an object the seal that it has when templater makes it, as it says itself.
func (c *cluster) seal(o *unstructured.Unstructured) {
	ring, labels := &seal.Ring{}, o.GetLabels()
	ring.Set(c.keys)
	namespace, name := packed(c.t, o).ParentName()
	kind := schema.GroupKind{Group: "example.org", Kind: "App"}
	if c.Server != nil {
		if tc := c.get(v1.Resource.Resource, labels[v1.LabelController]); tc != nil {
			kind.Kind, _, _ = unstructured.NestedString(tc.Object, "spec", "watch", "kind")
		}
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

// Announce does at once what is done in the background. The Event is refused where refuse has "create events NAMESPACE".
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

// wantTold sees to it, in all tests, that messages are what people can be shown.
func (c *cluster) wantTold(where, message string) {
	if message != object.Line(message, problem.LongestMessage) {
		c.t.Errorf("%s: the message is no line of text, or too long: %.300q", where, message)
	}
}

// apply puts an object there, as a user would, and lets the watches bring it. A status, and that it is being
// deleted, is taken from the text only where there is no such object yet.
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

// edit changes what is there as a user does with kubectl edit, who takes the fields that change, and
// lets the watches bring it.
func (c *cluster) edit(at request.Location, change func(o *unstructured.Unstructured)) {
	c.t.Helper()
	next := c.Objects[at].DeepCopy()
	change(next)
	deprive(next, differing(c.Objects[at].Object, next.Object, fieldsOf(c.Objects[at].Object)))
	deprive(next, differing(c.Objects[at].Object, next.Object, fieldsOf(next.Object)))
	c.Store(at, next)
	c.deliver()
}

// gone takes an object away and lets the watches tell.
func (c *cluster) gone(at request.Location) {
	c.Remove(at)
	c.deliver()
}

// goes marks the TemplateController as one that is being deleted.
func (c *cluster) goes() {
	going := c.get("templatecontrollers", "apps").DeepCopy()
	now := metav1.NewTime(c.clock.Now())
	going.SetDeletionTimestamp(&now)
	c.Store(request.Location{Resource: v1.Resource, Name: "apps"}, going)
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

// conditionOf returns the same of an object.
func conditionOf(o *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			return fmt.Sprintf("%s %s: %s", m["status"], m["reason"], m["message"])
		}
	}
	return "no condition " + kind
}

// place is where the cluster keeps an object.
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

// These are short for what makes objects for tests.
var (
	parse  = memserver.Parse
	packed = memserver.Pack
	with   = memserver.With
)

func configMapName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}
