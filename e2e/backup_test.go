package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/templater-dev/templater/e2e/cluster/audit"
)

// backedUp creates a child that is updated, one that is replaced, and two in another namespace, one of which outlives
// its parent.
const backedUp = `
watch: {apiVersion: "@group/v1", kind: Thing, namespaces: ["@ns"]}
children:
- name: updated
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-updated"}, data: {text: {{ .spec.text }}}}
- name: replaced
  updateStrategy: {type: Recreate}
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-replaced"}, data: {text: {{ .spec.text }}}}
- name: far
  scope: Cluster
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-far", namespace: "@id-far"}, data: {text: {{ .spec.text }}}}
- name: kept
  scope: Cluster
  deletionPolicy: Orphan
  template: |
    {apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .metadata.name }}-kept", namespace: "@id-far"}, data: {text: {{ .spec.text }}}}
`

// backup holds earlier versions of a parent and its children.
type backup struct {
	near, far *scope // the namespace of the parent, and the other namespace
	parent    *unstructured.Unstructured
	children  map[string]*unstructured.Unstructured // by child template
}

// backUp waits until the children of a parent have that text.
func backUp(near, far *scope, name, text string) *backup {
	near.t.Helper()
	b := &backup{near: near, far: far, children: map[string]*unstructured.Unstructured{}}
	b.parent = waitFor(near.t, near.things(), name, ready)
	for _, entry := range []string{"updated", "replaced", "far", "kept"} {
		b.children[entry] = waitFor(near.t, b.in(entry), name+"-"+entry, func(o *unstructured.Unstructured) error {
			return same("data", map[string]any{"text": text}, o.Object["data"])
		})
	}
	return b
}

// in returns the ConfigMaps of the namespace for the children of a child template.
func (b *backup) in(entry string) dynamic.ResourceInterface {
	if entry == "far" || entry == "kept" {
		return b.far.in(configMaps)
	}
	return b.near.in(configMaps)
}

// uids are the UIDs of the children, by child template.
func (b *backup) uids() map[string]types.UID {
	uids := map[string]types.UID{}
	for entry, o := range b.children {
		uids[entry] = o.GetUID()
	}
	return uids
}

// over restores everything in place, without any status. It calls between after the children and before the parent.
func (b *backup) over(between func()) {
	t := b.near.t
	t.Helper()
	put := func(in dynamic.ResourceInterface, o *unstructured.Unstructured) {
		t.Helper()
		o = o.DeepCopy()
		o.SetManagedFields(nil)
		delete(o.Object, "status")
		eventually(t, soon, func() error { // templater may write concurrently
			there, err := in.Get(t.Context(), o.GetName(), getOptions)
			if err != nil {
				return err
			}
			o.SetResourceVersion(there.GetResourceVersion())
			_, err = in.Update(t.Context(), o, metav1.UpdateOptions{FieldManager: "restore"})
			return err
		})
	}
	for entry, o := range b.children {
		put(b.in(entry), o)
	}
	between()
	put(b.near.things(), b.parent)
	for in, name := range map[dynamic.ResourceInterface]string{b.near.things(): b.parent.GetName(), env.client.Resource(controllers): b.near.id} {
		if _, err := in.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":null}`), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoringBackupInPlaceReplacesNothing restores an earlier version of a parent and its children, with the seals of
// that time and without any status, while templater is running, and while it is not.
func TestRestoringBackupInPlaceReplacesNothing(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	s.untie(s.resource("things"))
	far := s.beside("far")
	op := startOperator(t)
	s.controller(backedUp)
	for _, running := range []bool{true, false} {
		name := fmt.Sprint("running-", running)
		s.thing(name, `{text: hello}`)
		b := backUp(s, far, name, "hello")
		s.patch(s.things(), name, `{"spec":{"text":"bye"}}`)
		b.children["replaced"].SetUID(backUp(s, far, name, "bye").children["replaced"].GetUID()) // the current UID, because it was replaced
		op.quiet(time.Second)

		since := mark(t)
		if running {
			b.over(func() { // the condition shows that it has observed the restored children
				waitFor(t, s.things(), name, func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Outdated") })
			})
		} else {
			op.Stop()
			b.over(func() {})
			op = startOperator(t)
		}
		after := backUp(s, far, name, "hello")
		s.waitController("@id", ready)
		op.quiet(time.Second)
		if err := same("UIDs of the children", b.uids(), after.uids()); err != nil {
			t.Errorf("running %v: %v", running, err)
		}
		requests := op.requests(since)
		t.Logf("running %v: requests %v", running, tally(requests))
		expectNoDeletion(t, requests)
	}
	again := mark(t)
	op.Stop()
	op = startOperator(t)
	s.waitController("@id", ready)
	op.quiet(2 * time.Second)
	if writes := op.writes(again); len(writes) > 0 {
		t.Errorf("a restart has made writes: %v", tally(writes))
	}
}

// expectNoDeletion expects that no request has deleted anything. Deletions with an outdated precondition are rejected.
func expectNoDeletion(t *testing.T, requests []audit.Event) {
	t.Helper()
	for _, e := range requests {
		if strings.HasPrefix(e.Verb, "delete") && e.ResponseStatus.Code < http.StatusMultipleChoices {
			t.Error(e)
		}
	}
}

// anew recreates everything in a cluster without it, without any status. The children have no owner references, because
// the garbage collector deletes those whose owner is missing. edit changes a child first.
func (b *backup) anew(edit func(*unstructured.Unstructured)) {
	t := b.near.t
	t.Helper()
	create := func(in dynamic.ResourceInterface, o *unstructured.Unstructured) *unstructured.Unstructured {
		t.Helper()
		o = o.DeepCopy()
		delete(o.Object, "status")
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetManagedFields(nil)
		o.SetOwnerReferences(nil)
		edit(o)
		created, err := in.Create(t.Context(), o, metav1.CreateOptions{FieldManager: "restore"})
		if err != nil {
			t.Fatal(err)
		}
		return created
	}
	for entry, o := range b.children {
		b.children[entry] = create(b.in(entry), o)
	}
	b.parent = create(b.near.things(), b.parent)
}

// vanish deletes everything while templater is stopped.
func (b *backup) vanish() {
	t := b.near.t
	t.Helper()
	none := int64(0)
	remove := func(in dynamic.ResourceInterface, name string) {
		t.Helper()
		if _, err := in.Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := in.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
			t.Fatal(err)
		}
		waitGone(t, in, name)
	}
	for entry, o := range b.children {
		remove(b.in(entry), o.GetName())
	}
	remove(b.near.things(), b.parent.GetName())
}

// TestRestoringBackupFromAnotherCluster restores two parents and their children with new UIDs: with the same seal keys,
// and as in a cluster with other keys. Only a seal by a known key proves that templater created an object for a missing
// parent.
func TestRestoringBackupFromAnotherCluster(t *testing.T) {
	parallel(t)
	needsAudit(t)
	s := newScope(t)
	s.defineThing()
	s.untie(s.resource("things"))
	far := s.beside("far")
	op := startOperator(t)
	s.controller(backedUp)
	backups := map[string]*backup{}
	for _, name := range []string{"same", "other"} {
		s.thing(name, `{text: hello}`)
		backups[name] = backUp(s, far, name, "hello")
	}
	op.quiet(time.Second)
	op.Stop()
	before := map[string]map[string]types.UID{}
	for name, b := range backups {
		b.vanish()
		b.anew(func(o *unstructured.Unstructured) {
			if annotations := o.GetAnnotations(); name == "other" && annotations["templater.dev/seal"] != "" {
				_, rest, _ := strings.Cut(annotations["templater.dev/seal"], ":")
				annotations["templater.dev/seal"] = "1:" + rest
				o.SetAnnotations(annotations)
			}
		})
		before[name] = b.uids()
	}
	since, began := mark(t), time.Now()
	op = startOperator(t)
	for name := range backups {
		waitFor(t, s.things(), name, func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "ChildConflict") })
	}
	// The deletion of this child shows that templater has decided about all of them.
	gone := before["same"]["far"]
	waitFor(t, far.in(configMaps), "same-far", func(o *unstructured.Unstructured) error {
		if o.GetUID() == gone {
			return errors.New("the child of an earlier parent is still there")
		}
		return nil
	})
	op.quiet(2 * time.Second)
	requests := op.requests(since)
	t.Logf("requests %v", tally(requests))
	for _, e := range requests {
		if after := e.Received.Sub(began); strings.HasPrefix(e.Verb, "delete") && (e.ObjectRef.Name != "same-far" || after < collectorTime) {
			t.Errorf("after %s: %v", after, e)
		}
	}
	for name, b := range backups {
		for entry, uid := range before[name] {
			if name == "same" && entry == "far" {
				continue
			}
			o := waitFor(t, b.in(entry), name+"-"+entry, nil)
			if o.GetUID() != uid || o.GetDeletionTimestamp() != nil {
				t.Errorf("the child %s-%s of a deleted parent was deleted", name, entry)
			}
			if err := same("data", map[string]any{"text": "hello"}, o.Object["data"]); err != nil {
				t.Error(err)
			}
		}
	}
}
