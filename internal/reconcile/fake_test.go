package reconcile

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/watch"
)

// cluster is a small API server: it has the kinds of fakeKinds, keeps objects, feeds the watches that
// are set, and writes down every request.
type cluster struct {
	t        testing.TB
	clock    *clocktesting.FakePassiveClock
	version  int
	objects  map[kube.Location]*unstructured.Unstructured
	caches   map[watch.Want]*watch.Cache
	owners   map[string][]watch.Want
	silent   map[watch.Want]bool // wants whose cache is not synced
	refuse   map[string]error    // by request
	requests []string
	events   []string

	user   string          // whom the request under way is made as
	strict bool            // whether a service account is required
	lacks  map[string]bool // "USER VERB RESOURCE NAMESPACE", of the rights that the server is asked for
	asked  []string        // the same, in order

	controllers *Controllers
	reconciler  *Reconciler
}

var fakeKinds = map[schema.GroupKind]kube.Kind{
	{Kind: "ConfigMap"}:                        {Kind: "ConfigMap", Namespaced: true, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}},
	{Kind: "Namespace"}:                        {Kind: "Namespace", Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}},
	{Group: "example.org", Kind: "App"}:        {Kind: "App", Namespaced: true, Custom: true, Status: &kube.StatusSchema{ObservedGeneration: true}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "apps"}},
	{Group: "example.org", Kind: "Cluster"}:    {Kind: "Cluster", Custom: true, Status: &kube.StatusSchema{Conditions: "no room"}, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "clusters"}},
	{Group: "example.org", Kind: "Statusless"}: {Kind: "Statusless", Namespaced: true, Custom: true, Resource: schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "statuslesses"}},
}

// newCluster returns a cluster with an operator on it.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{
		t: t, version: 100, clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		objects: map[kube.Location]*unstructured.Unstructured{}, caches: map[watch.Want]*watch.Cache{},
		owners: map[string][]watch.Want{}, silent: map[watch.Want]bool{}, refuse: map[string]error{}, lacks: map[string]bool{},
	}
	c.start()
	return c
}

// start begins with a fresh operator, as after a restart.
func (c *cluster) start() { c.startWith(Options{}) }

// standby begins with a fresh operator that does not lead.
func (c *cluster) standby() { c.startWith(Options{Standby: true}) }

func (c *cluster) startWith(o Options) {
	c.caches, c.owners = map[watch.Want]*watch.Cache{}, map[string][]watch.Want{}
	o.Cluster, o.Events, o.Clock, o.RequireServiceAccount = c.as, c, c.clock, c.strict
	c.controllers, c.reconciler = New(o)
	c.controllers.patience = 0
	want := watch.Want{Resource: v1.Resource, Role: watch.Controller}
	caches, err := c.Set("", []watch.Want{want})
	if err != nil {
		c.t.Fatal(err)
	}
	c.controllers.Attach(c, caches[want], c)
}

func (c *cluster) Resolve(gvk schema.GroupVersionKind) (kube.Kind, error) {
	kind, ok := fakeKinds[gvk.GroupKind()]
	if !ok {
		return kube.Kind{}, &kube.NotFoundError{GVK: gvk}
	}
	if err := c.refuse["kind "+gvk.Kind]; err != nil {
		return kube.Kind{}, err
	}
	kind.Resource.Version = gvk.Version
	return kind, nil
}

func (c *cluster) Announce(parent *object.Object, eventType, reason, message string) {
	c.events = append(c.events, fmt.Sprintf("%s %s %s: %s", parent.Name(), eventType, reason, message))
}

func (c *cluster) Set(owner string, wants []watch.Want) (map[watch.Want]*watch.Cache, error) {
	out := map[watch.Want]*watch.Cache{}
	for _, want := range wants {
		if c.caches[want] == nil {
			cache, err := watch.NewCache(want, func(e watch.Event) { c.controllers.Changed(want, e) }, func() { c.controllers.StateChanged(want) })
			if err != nil {
				return nil, err
			}
			c.caches[want] = cache
		}
		out[want] = c.caches[want]
	}
	c.owners[owner] = wants
	for _, want := range wants {
		if !c.caches[want].Synced() && !c.silent[want] {
			c.sync(want)
		}
	}
	return out, nil
}

// sync gives a cache its first list.
func (c *cluster) sync(want watch.Want) {
	var list []any
	for at, o := range c.objects {
		if at.Resource == want.Resource && matches(want, o) {
			list = append(list, packed(c.t, o))
		}
	}
	if err := c.caches[want].Replace(list, strconv.Itoa(c.version)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) Owners(want watch.Want) []string {
	var out []string
	for _, owner := range slices.Sorted(maps.Keys(c.owners)) {
		if slices.Contains(c.owners[owner], want) {
			out = append(out, owner)
		}
	}
	return out
}

func matches(want watch.Want, o *unstructured.Unstructured) bool {
	selector, err := metav1.ParseToLabelSelector(want.Labels)
	if err != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labelSet(o.GetLabels())) && (want.Namespace == "" || want.Namespace == o.GetNamespace())
}

type labelSet map[string]string

func (l labelSet) Has(k string) bool              { _, ok := l[k]; return ok }
func (l labelSet) Get(k string) string            { return l[k] }
func (l labelSet) Lookup(k string) (string, bool) { v, ok := l[k]; return v, ok }

// note writes a request down and returns the error that it is to have.
func (c *cluster) note(verb string, at kube.Location) error {
	text := verb + " " + at.Resource.Resource + " " + at.Name
	if at.Resource == v1.Resource && verb == "status" {
		return nil // debounced, and not the subject here
	}
	if c.user != "" {
		text = c.user + ": " + text
	}
	c.requests = append(c.requests, text)
	return c.refuse[text]
}

func (c *cluster) Get(_ context.Context, at kube.Location) (*object.Object, error) {
	if err := c.note("get", at); err != nil {
		return nil, err
	}
	if o := c.objects[at]; o != nil {
		return packed(c.t, o), nil
	}
	return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

func (c *cluster) Selected(_ context.Context, at kube.Location, _, _ string) (bool, error) {
	return false, c.note("list", at)
}

func (c *cluster) Apply(_ context.Context, at kube.Location, body []byte, manager string) (*object.Object, error) {
	o, content := c.objects[at], unpacked(c.t, body)
	metadata, _ := content["metadata"].(map[string]any)
	verb := "update"
	if metadata["resourceVersion"] == "1" {
		verb = "create"
	}
	if err := c.note(verb, at); err != nil {
		return nil, err
	}
	if verb == "create" && o != nil {
		return nil, apierrors.NewConflict(at.Resource.GroupResource(), at.Name, nil)
	}
	if uid, ok := metadata["uid"].(string); ok && (o == nil || string(o.GetUID()) != uid) {
		return nil, apierrors.NewConflict(at.Resource.GroupResource(), at.Name, nil)
	}
	next := plainCopy(c.t, content)
	if o != nil {
		next.SetUID(o.GetUID())
	} else {
		next.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", at.Name, c.version)))
	}
	unstructured.RemoveNestedField(next.Object, "metadata", "managedFields")
	own(next, manager, "", fieldsOf(content))
	return packed(c.t, c.store(at, next)), nil
}

func (c *cluster) ApplyStatus(_ context.Context, at kube.Location, body []byte, manager string) (*object.Object, error) {
	content := unpacked(c.t, body)
	if err := c.note("status", at); err != nil {
		return nil, err
	}
	o := c.objects[at]
	if o == nil {
		return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
	}
	if rv, _, _ := unstructured.NestedString(content, "metadata", "resourceVersion"); rv != "" && rv != o.GetResourceVersion() {
		return nil, apierrors.NewConflict(at.Resource.GroupResource(), at.Name, nil)
	}
	next := o.DeepCopy()
	next.Object["status"] = plainCopy(c.t, content).Object["status"]
	own(next, manager, "status", map[string]any{"f:status": fieldsOf(map[string]any{"status": content["status"]})["f:status"]})
	return packed(c.t, c.store(at, next)), nil
}

func (c *cluster) Delete(_ context.Context, at kube.Location, uid types.UID, propagation metav1.DeletionPropagation) error {
	verb := "delete"
	if propagation == metav1.DeletePropagationForeground {
		verb = "delete-foreground"
	}
	if err := c.note(verb, at); err != nil {
		return err
	}
	o := c.objects[at]
	if o != nil && o.GetUID() != uid {
		return apierrors.NewConflict(at.Resource.GroupResource(), at.Name, nil)
	}
	return nil // it goes when the test says so: see gone
}

func (c *cluster) SetFinalizers(_ context.Context, at kube.Location, _ *object.Object, finalizers []string) (*object.Object, error) {
	if err := c.note(fmt.Sprint("finalizers", finalizers), at); err != nil {
		return nil, err
	}
	next := c.objects[at].DeepCopy()
	next.SetFinalizers(finalizers)
	return packed(c.t, c.store(at, next)), nil
}

func (c *cluster) SetLabels(_ context.Context, at kube.Location, uid types.UID, labels map[string]string, _ string) (*object.Object, error) {
	if err := c.note("label", at); err != nil {
		return nil, err
	}
	o := c.objects[at]
	if o == nil {
		return nil, apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
	}
	if o.GetUID() != uid {
		return nil, apierrors.NewConflict(at.Resource.GroupResource(), at.Name, nil)
	}
	next := o.DeepCopy()
	all := next.GetLabels()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	next.SetLabels(all)
	return packed(c.t, c.store(at, next)), nil
}

// store keeps an object in a new version and returns a copy. The watches do not
// bring it until deliver.
func (c *cluster) store(at kube.Location, o *unstructured.Unstructured) *unstructured.Unstructured {
	c.version++
	o.SetResourceVersion(strconv.Itoa(c.version))
	c.objects[at] = o
	return o.DeepCopy()
}

// deliver has the watches bring everything that is new.
func (c *cluster) deliver() {
	for want, cache := range c.caches {
		if c.silent[want] {
			continue
		}
		for at, o := range c.objects {
			if at.Resource == want.Resource && matches(want, o) {
				if err := cache.Update(packed(c.t, o)); err != nil {
					c.t.Fatal(err)
				}
			}
		}
		var left []*object.Object
		cache.Each(func(o *object.Object) bool {
			at := kube.Location{Resource: want.Resource, Namespace: o.Namespace(), Name: o.Name()}
			if now := c.objects[at]; now == nil || now.GetUID() != o.UID() || !matches(want, now) {
				left = append(left, o)
			}
			return true
		})
		for _, o := range left {
			c.version++
			gone := &unstructured.Unstructured{Object: o.Content()}
			gone.SetResourceVersion(strconv.Itoa(c.version))
			if err := cache.Delete(packed(c.t, gone)); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// apply puts an object there, as a user would, and lets the watches bring it.
func (c *cluster) apply(text string) *unstructured.Unstructured {
	c.t.Helper()
	o := parse(c.t, text)
	gvk := o.GroupVersionKind()
	kind, ok := fakeKinds[gvk.GroupKind()]
	if gvk.Kind == v1.KindTemplateController {
		kind, ok = kube.Kind{Resource: v1.Resource}, true
	}
	if !ok {
		c.t.Fatalf("the fake cluster has no %s", gvk)
	}
	at := place(kind, o)
	generation := int64(1)
	if before := c.objects[at]; before != nil {
		generation = before.GetGeneration() + 1
		o.SetUID(before.GetUID())
		for _, field := range []string{"status"} {
			if value, ok := before.Object[field]; ok {
				o.Object[field] = value
			}
		}
		o.SetManagedFields(before.GetManagedFields())
	} else {
		o.SetUID(types.UID("uid-" + o.GetName()))
	}
	o.SetGeneration(generation)
	c.store(at, o)
	c.deliver()
	return o
}

// gone takes an object away and lets the watches tell.
func (c *cluster) gone(at kube.Location) {
	delete(c.objects, at)
	c.deliver()
}

// goes marks the TemplateController as one that is being deleted.
func (c *cluster) goes() {
	going := c.get("templatecontrollers", "apps").DeepCopy()
	now := metav1.NewTime(c.clock.Now())
	going.SetDeletionTimestamp(&now)
	c.store(kube.Location{Resource: v1.Resource, Name: "apps"}, going)
	c.deliver()
}

// run works until both queues are empty and returns the requests that it took.
func (c *cluster) run() []string {
	c.t.Helper()
	before := len(c.requests)
	for range 1000 {
		progress := false
		for c.controllers.queue.Len() > 0 {
			name, _ := c.controllers.queue.Get()
			if err := c.controllers.Sync(c.t.Context(), name); err != nil {
				c.t.Fatal(err)
			}
			c.controllers.queue.Done(name)
			progress = true
		}
		for c.reconciler.queue.Len() > 0 {
			key, _ := c.reconciler.queue.Get()
			c.reconciler.Reconcile(c.t.Context(), key)
			c.reconciler.queue.Done(key)
			progress = true
		}
		for c.controllers.rights.queue.Len() > 0 {
			c.controllers.rights.next(c.t.Context())
			progress = true
		}
		if !progress {
			return append([]string{}, c.requests[before:]...)
		}
	}
	c.t.Fatal("the queues do not get empty")
	return nil
}

// pass makes one pass over a parent that everything has been said about.
func (c *cluster) pass(controller, parent string) (Result, []string) {
	c.t.Helper()
	before := len(c.requests)
	result := c.reconciler.Reconcile(c.t.Context(), Key{controller, types.NamespacedName{Namespace: "ns", Name: parent}})
	return result, append([]string{}, c.requests[before:]...)
}

func (c *cluster) get(resource, name string) *unstructured.Unstructured {
	for at, o := range c.objects {
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
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, each := range conditions {
		if m, ok := each.(map[string]any); ok && m["type"] == kind {
			return fmt.Sprintf("%s %s: %s", m["status"], m["reason"], m["message"])
		}
	}
	return "no condition " + kind
}

// place is where the cluster keeps an object.
func place(kind kube.Kind, o *unstructured.Unstructured) kube.Location {
	return locate(kind, types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
}

// locationOf is place for a kind that the cluster has.
func locationOf(o *unstructured.Unstructured) kube.Location {
	return place(fakeKinds[o.GroupVersionKind().GroupKind()], o)
}

func configMap(name string) kube.Location {
	return kube.Location{Resource: fakeKinds[schema.GroupKind{Kind: "ConfigMap"}].Resource, Namespace: "ns", Name: name}
}

// packed is the object as the operator reads it.
func packed(t testing.TB, o *unstructured.Unstructured) *object.Object {
	t.Helper()
	p, err := object.From(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func unpacked(t testing.TB, body []byte) map[string]any {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(body); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return u.Object
}

func plainCopy(t testing.TB, content map[string]any) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return u
}

// fieldsOf is the set of all leaves, with lists as atoms.
func fieldsOf(content map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range content {
		if m, ok := v.(map[string]any); ok && len(m) > 0 {
			out["f:"+k] = fieldsOf(m)
		} else {
			out["f:"+k] = map[string]any{}
		}
	}
	return out
}

func own(o *unstructured.Unstructured, manager, subresource string, set map[string]any) {
	entries, _, _ := unstructured.NestedSlice(o.Object, "metadata", "managedFields")
	entries = slices.DeleteFunc(entries, func(e any) bool {
		entry, _ := e.(map[string]any)
		sub, _ := entry["subresource"].(string)
		return entry["manager"] == manager && sub == subresource
	})
	entries = append(entries, map[string]any{"manager": manager, "operation": "Apply", "subresource": subresource, "fieldsType": "FieldsV1", "fieldsV1": set})
	metadata, _ := o.Object["metadata"].(map[string]any)
	metadata["managedFields"] = entries
}

// parse reads one YAML document.
func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(content); err != nil {
		t.Fatal(err)
	}
	return u
}

func configMapName(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}
