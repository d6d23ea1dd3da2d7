package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kind"
	"github.com/templater-dev/templater/internal/kube"
	"github.com/templater-dev/templater/internal/object"
	"github.com/templater-dev/templater/internal/reconcile/running"
)

// The requests that the operator makes, answered as an API server does.

// note writes a request down and returns the error that it is to have.
func (c *cluster) note(verb string, at kube.Location) error {
	text := verb + " " + at.Resource.Resource + " " + at.Name
	if at.Resource == v1.Resource && verb == "status" {
		return c.refuse[text] // debounced, and not the subject here
	}
	if c.user != "" {
		text = c.user + ": " + text
	}
	c.requests = append(c.requests, text)
	if c.during != nil {
		c.during()
	}
	return c.refuse[text]
}

func notFound(at kube.Location) error {
	return apierrors.NewNotFound(at.Resource.GroupResource(), at.Name)
}

// unserved is the answer where the server does not serve the resource, as after the removal of its API service.
func unserved(at kube.Location) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", at.Resource.GroupResource(), at.Name, "404 page not found", 0, true)
}

func conflict(at kube.Location) error {
	return apierrors.NewConflict(at.Resource.GroupResource(), at.Name, errors.New("the object has been modified"))
}

// otherUID is the answer to a patch of an object that has another UID by now.
func otherUID(at kube.Location, uid string) error {
	faults := field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable")}
	return apierrors.NewInvalid(schema.GroupKind{Group: at.Resource.Group, Kind: at.Resource.Resource}, at.Name, faults)
}

func (c *cluster) Get(_ context.Context, at kube.Location) (*object.Object, error) {
	if at.Resource == accounts || at.Resource == running.Namespaces {
		return nil, c.named(at)
	}
	if err := c.note("get", at); err != nil {
		return nil, err
	}
	if o := c.objects[at]; o != nil {
		return packed(c.t, o), nil
	}
	return nil, notFound(at)
}

// GetDated is Get with the Date of the answer, which has no fractions.
func (c *cluster) GetDated(ctx context.Context, at kube.Location) (*object.Object, time.Time, error) {
	o, err := c.Get(ctx, at)
	if c.dateless {
		return o, time.Time{}, err
	}
	return o, c.clock.Now().Add(c.ahead).Truncate(time.Second), err
}

// accounts are ServiceAccounts.
var accounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// named answers whether what a spec names is there: all is but what the server is said to lack. What it was asked is not
// among the requests.
func (c *cluster) named(at kube.Location) error {
	what := strings.Join(strings.Fields(at.Resource.Resource+" "+at.Namespace+" "+at.Name), " ")
	c.sought = append(c.sought, what)
	if c.lacks[what] {
		return notFound(at)
	}
	return c.refuse["ask "+what]
}

func (c *cluster) Selected(_ context.Context, at kube.Location, labels, fields string) (bool, error) {
	if err := c.note("list", at); err != nil {
		return false, err
	}
	o := c.objects[at]
	return o != nil && selected(o, labels, fields), nil
}

// selected reports whether an object matches both selectors.
func selected(o *unstructured.Unstructured, labelSelector, fieldSelector string) bool {
	byLabel, err := labels.Parse(labelSelector)
	if err != nil {
		return false
	}
	byField, err := fields.ParseSelector(fieldSelector)
	return err == nil && byLabel.Matches(labels.Set(o.GetLabels())) && byField.Matches(fieldValues(o.Object))
}

// fieldValues finds a field by its path.
type fieldValues map[string]any

func (f fieldValues) Has(path string) bool { return f.Get(path) != "" }

func (f fieldValues) Get(path string) string {
	value, ok, err := unstructured.NestedFieldNoCopy(f, strings.Split(path, ".")...)
	if !ok || err != nil {
		return ""
	}
	return fmt.Sprint(value)
}

// Apply is a server-side apply, with force.
func (c *cluster) Apply(_ context.Context, at kube.Location, body []byte, manager string) (*object.Object, error) {
	there, content := c.objects[at], unpacked(c.t, body)
	metadata, _ := content["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	uid, _ := metadata["uid"].(string)
	verb := "update"
	if version == "1" {
		verb = "create"
	}
	if err := c.note(verb, at); err != nil {
		return nil, err
	}
	switch {
	case there == nil && uid != "", there != nil && version != "" && version != there.GetResourceVersion():
		return nil, conflict(at)
	case there != nil && uid != "" && uid != string(there.GetUID()):
		return nil, otherUID(at, uid)
	case there == nil:
		there = c.born(at, content)
	}
	delete(metadata, "resourceVersion")
	delete(metadata, "uid")
	if kindAt(at).Status != nil {
		delete(content, "status")
	}
	after := applied(there, content, manager, "")
	c.stamp(after, manager)
	if c.admit != nil {
		c.admit(after)
	}
	return packed(c.t, c.store(at, after)), nil
}

// stamp notes when a manager has applied an object, where the server's clock is another one.
func (c *cluster) stamp(o *unstructured.Unstructured, manager string) {
	if c.ahead == 0 {
		return
	}
	now, all := metav1.NewTime(c.clock.Now().Add(c.ahead)), o.GetManagedFields()
	for i := range all {
		if all[i].Manager == manager {
			all[i].Time = &now
		}
	}
	o.SetManagedFields(all)
}

// born is an object of which nothing is known but its name.
func (c *cluster) born(at kube.Location, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}}
	o.SetNamespace(at.Namespace)
	o.SetName(at.Name)
	o.SetUID(types.UID(fmt.Sprintf("uid-%s-%d", at.Name, c.version)))
	return o
}

// kindAt is the kind of what is kept there; that of TemplateControllers has a status, too.
func kindAt(at kube.Location) kind.Kind {
	for _, kind := range fakeKinds {
		if kind.Resource.GroupResource() == at.Resource.GroupResource() {
			return kind
		}
	}
	return kind.Kind{Resource: at.Resource, Custom: true, Status: &kind.StatusSchema{}}
}

// ApplyStatus is a server-side apply of the status, with force.
func (c *cluster) ApplyStatus(_ context.Context, at kube.Location, body []byte, manager string) (*object.Object, error) {
	if err := c.note("status", at); err != nil {
		return nil, err
	}
	there, content := c.objects[at], unpacked(c.t, body)
	if there == nil || kindAt(at).Status == nil {
		return nil, notFound(at)
	}
	if version, _, _ := unstructured.NestedString(content, "metadata", "resourceVersion"); version != "" && version != there.GetResourceVersion() {
		return nil, conflict(at)
	}
	status := map[string]any{"status": content["status"]}
	state, _ := content["status"].(map[string]any)
	conditions, _ := state["conditions"].([]any)
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		if manager == ownWriter || condition["type"] == v1.ConditionReady {
			c.wantTold(fmt.Sprintf("condition %s of %s", condition["type"], at.Name), text(condition, "message"))
		}
		if most, bounded := c.longest[at.Resource.Resource]; bounded && len(text(condition, "message")) > most {
			return nil, answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "status.conditions[0].message: Too long")
		}
	}
	if before, _ := holdings(there, manager, "status"); emptied(content["status"], before["f:status"]) {
		return nil, answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "status: Invalid value: \"null\": status in body must be of type object: \"null\"")
	}
	if content["status"] == nil {
		status = map[string]any{}
	}
	return packed(c.t, c.store(at, applied(there, status, manager, "status"))), nil
}

// emptied reports whether an apply has an empty mapping in place of one of which the manager holds fields. Server-side apply makes null
// of it, which a schema refuses.
func emptied(applied, before any) bool {
	content, isMap := applied.(map[string]any)
	set, _ := before.(map[string]any)
	if !isMap {
		return false
	}
	for name, value := range content {
		if emptied(value, set["f:"+name]) {
			return true
		}
	}
	return len(content) == 0 && len(set) > 0
}

// Delete takes an object away at once, unless it has finalizers, or its own dependents are to
// go first: see collectGarbage.
func (c *cluster) Delete(_ context.Context, at kube.Location, uid types.UID, propagation metav1.DeletionPropagation) error {
	verb := "delete"
	if propagation == metav1.DeletePropagationForeground {
		verb = "delete-foreground"
	}
	if err := c.note(verb, at); err != nil {
		return err
	}
	o := c.objects[at]
	if o == nil {
		return nil
	}
	if o.GetUID() != uid {
		return conflict(at)
	}
	c.end(at, propagation)
	return nil
}

// end deletes what is there.
func (c *cluster) end(at kube.Location, propagation metav1.DeletionPropagation) {
	next := c.objects[at].DeepCopy()
	if propagation == metav1.DeletePropagationForeground && !slices.Contains(next.GetFinalizers(), metav1.FinalizerDeleteDependents) {
		next.SetFinalizers(append(next.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if next.GetDeletionTimestamp() == nil {
		now := metav1.NewTime(c.clock.Now())
		next.SetDeletionTimestamp(&now)
	}
	c.store(at, next)
}

func (c *cluster) SetFinalizers(_ context.Context, at kube.Location, version string, finalizers []string) (*object.Object, error) {
	if err := c.note(fmt.Sprint("finalizers", finalizers), at); err != nil {
		return nil, err
	}
	o := c.objects[at]
	if o == nil {
		return nil, notFound(at)
	}
	if o.GetResourceVersion() != version {
		return nil, conflict(at)
	}
	next := o.DeepCopy()
	next.SetFinalizers(finalizers)
	return packed(c.t, c.store(at, next)), nil
}

// Holders lists objects.
func (c *cluster) Holders(_ context.Context, resource schema.GroupVersionResource, namespace, finalizer string) ([]kube.Holder, error) {
	if err := c.note("list", kube.Location{Resource: resource, Name: cmp.Or(namespace, "everywhere")}); err != nil {
		return nil, err
	}
	var out []kube.Holder
	for at, o := range c.objects {
		if at.Resource != resource || namespace != "" && at.Namespace != namespace {
			continue
		}
		if h, holds := kube.HolderOf(packed(c.t, o), finalizer); holds {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b kube.Holder) int { return strings.Compare(a.Name.String(), b.Name.String()) })
	return out, nil
}

// SetMetadata is a merge patch.
func (c *cluster) SetMetadata(_ context.Context, at kube.Location, m kube.Metadata, manager string) (*object.Object, error) {
	if err := c.note("mark", at); err != nil {
		return nil, err
	}
	o := c.objects[at]
	switch {
	case o == nil:
		return nil, notFound(at)
	case o.GetUID() != m.UID:
		return nil, otherUID(at, string(m.UID))
	case m.Version != "" && m.Version != o.GetResourceVersion():
		return nil, conflict(at)
	}
	next := o.DeepCopy()
	next.SetLabels(patched(next.GetLabels(), m.Labels))
	next.SetAnnotations(patched(next.GetAnnotations(), m.Annotations))
	metadata := map[string]any{"labels": m.Labels, "annotations": m.Annotations}
	if m.Owners != nil {
		next.Object["metadata"].(map[string]any)["ownerReferences"] = m.Owners
		metadata["ownerReferences"] = m.Owners
	}
	updated(next, manager, differing(o.Object, next.Object, held(map[string]any{"metadata": metadata}, "")))
	return packed(c.t, c.store(at, next)), nil
}

// patched is what a merge patch makes of labels or annotations.
func patched(now map[string]string, change map[string]any) map[string]string {
	out := map[string]string{}
	maps.Copy(out, now)
	for key, value := range change {
		if text, ok := value.(string); ok {
			out[key] = text
		} else {
			delete(out, key)
		}
	}
	return out
}

// store keeps an object in a new version, where it is another one, and returns a copy. What is being deleted
// and has no finalizers is gone then. The watches do not bring it until deliver.
func (c *cluster) store(at kube.Location, o *unstructured.Unstructured) *unstructured.Unstructured {
	before := c.objects[at]
	if before != nil && before != o {
		if kindAt(at).Custom && !reflect.DeepEqual(specOf(before), specOf(o)) {
			o.SetGeneration(before.GetGeneration() + 1)
		}
		o.SetResourceVersion(before.GetResourceVersion())
		if reflect.DeepEqual(before.Object, o.Object) {
			return o.DeepCopy()
		}
	} else if kindAt(at).Custom && o.GetGeneration() == 0 {
		o.SetGeneration(1)
	}
	c.version++
	o.SetResourceVersion(strconv.Itoa(c.version))
	c.objects[at] = o
	if before != nil && o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(c.objects, at)
		c.log = append(c.log, change{at: at, before: before, version: c.version})
	} else {
		c.log = append(c.log, change{at: at, before: before, after: o, version: c.version})
	}
	return o.DeepCopy()
}

// specOf is that part of an object whose changes make a new generation.
func specOf(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// remove takes an object away, whatever it has of finalizers.
func (c *cluster) remove(at kube.Location) {
	if before := c.objects[at]; before != nil {
		delete(c.objects, at)
		c.version++
		c.log = append(c.log, change{at: at, before: before, version: c.version})
	}
}

// collectGarbage does what the garbage collector does: what had owners goes when none is left,
// and what is deleted in the foreground goes when its dependents are gone. It reports whether there was something to do.
func (c *cluster) collectGarbage() bool {
	before := c.version
	there := map[types.UID]bool{}
	for _, o := range c.objects {
		there[o.GetUID()] = true
	}
	for at, o := range maps.Clone(c.objects) {
		owners := o.GetOwnerReferences()
		orphaned := len(owners) > 0 && !slices.ContainsFunc(owners, func(r metav1.OwnerReference) bool { return there[r.UID] })
		if orphaned && o.GetDeletionTimestamp() == nil {
			c.end(at, metav1.DeletePropagationBackground)
		}
		if slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents) && !c.ends(o.GetUID()) {
			next := o.DeepCopy()
			next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			c.store(at, next)
		}
	}
	return c.version != before
}

// ends has the dependents of an object go that block its deletion, and reports whether there are any.
func (c *cluster) ends(owner types.UID) bool {
	blocked := false
	for at, o := range maps.Clone(c.objects) {
		for _, r := range o.GetOwnerReferences() {
			if r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion {
				blocked = true
				if o.GetDeletionTimestamp() == nil {
					c.end(at, metav1.DeletePropagationForeground)
				}
			}
		}
	}
	return blocked
}

// text returns the text under a key, or "".
func text(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}
