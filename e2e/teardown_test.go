package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// manyTexts is a TemplateController with a finalizer, whose children all change with spec.text. There are so many that
// the operator writes some while the garbage collector orphans others. One of them is in namespace @id-far.
const manyTexts = `
watch: {apiVersion: "@group/v1", kind: Thing}
whenDeleted: DeleteChildren
finalize: {order: Reverse}
children:
- name: many
  template: |
    {{- range $i := until 20 }}
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ $.metadata.name }}-{{ $i }}"}
    data: {text: {{ $.spec.text | quote }}}
    {{- end }}
- name: far
  dependsOn: [many]
  scope: Cluster
  template: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "{{ .metadata.name }}-far", namespace: "@id-far"}
    data: {text: {{ .spec.text | quote }}}
`

// held waits until a parent is ready and has the finalizer, and returns it.
func (s *scope) held(name string) *unstructured.Unstructured {
	s.t.Helper()
	return waitFor(s.t, s.things(), name, func(o *unstructured.Unstructured) error {
		return errors.Join(ready(o), same("finalizers", []string{s.finalizerOf()}, o.GetFinalizers()))
	})
}

// orphanWhileEdited edits spec.text of a parent several times, and deletes it with --cascade=orphan after that many of
// the edits, while the others are made.
func (s *scope) orphanWhileEdited(name string, after int) {
	const edits = 10
	var deleting sync.WaitGroup
	defer deleting.Wait()
	for i := range edits {
		if i == after {
			deleting.Go(func() {
				orphan := metav1.DeletePropagationOrphan
				if err := s.things().Delete(s.t.Context(), name, metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
					s.t.Errorf("delete %s: %v", name, err)
				}
			})
		}
		edit := fmt.Appendf(nil, `{"spec":{"text":"%d"}}`, i)
		_, err := s.things().Patch(s.t.Context(), name, types.MergePatchType, edit, metav1.PatchOptions{FieldManager: "somebody"})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Errorf("edit %s: %v", name, err)
		}
	}
}

func TestOrphansSurviveConcurrentEdits(t *testing.T) {
	parallel(t)
	const parents, each = 5, 21
	s := newCollectedScope(t)
	s.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: "@id-far"}}`)
	startOperator(t)
	s.controller(manyTexts)
	children := func() []unstructured.Unstructured {
		return slices.Concat(s.list(s.in(configMaps), "templater.dev/controller=@id"), s.list(s.far(), "templater.dev/controller=@id"))
	}
	for i := range parents {
		s.thing(fmt.Sprintf("p-%d", i), "{text: first}")
	}
	for i := range parents {
		s.held(fmt.Sprintf("p-%d", i))
	}
	s.waitCollectorKnows()
	before := uids(children())
	if len(before) != parents*each {
		t.Fatalf("there are %d children, want %d", len(before), parents*each)
	}

	var all sync.WaitGroup
	for i := range parents {
		all.Go(func() { s.orphanWhileEdited(fmt.Sprintf("p-%d", i), 2*i) })
	}
	all.Wait()
	for i := range parents {
		waitGone(t, s.things(), fmt.Sprintf("p-%d", i))
	}
	s.waitCollectorKnows()
	after := children()
	if diff := cmp.Diff(before, uids(after)); diff != "" {
		t.Errorf("UIDs of the children (-before +after):\n%s", diff)
	}
	for i := range after {
		o := &after[i]
		if err := errors.Join(going(false)(o), same("owners", 0, len(o.GetOwnerReferences()))); err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
	}
	s.delete(env.client.Resource(controllers), "@id")
	waitGone(t, env.client.Resource(controllers), s.expand("@id"))
	if diff := cmp.Diff(before, uids(children())); diff != "" {
		t.Errorf("UIDs of the children after the TemplateController was deleted (-before +after):\n%s", diff)
	}
}

func TestSkipFinalizeReleasesBlockedParent(t *testing.T) {
	parallel(t)
	s := newScope(t)
	s.defineThing()
	op := startOperator(t)
	s.controller(strings.Replace(twoLevels, "  timeout: 1h\n", "", 1))
	// "never" waits for never-last to become ready, and "held" for held-top, which has a finalizer.
	parents := []string{"never", "held"}
	for _, name := range parents {
		s.thing(name, "{}")
		s.held(name)
	}
	stay := s.stay("never-base", "never-top", "held-base", "held-top")
	for _, name := range parents {
		s.delete(s.things(), name)
	}
	waitFor(t, s.in(configMaps), "held-last", nil)
	s.patch(s.in(configMaps), "held-last", `{"data":{"done":"yes"}}`)
	wait := func() {
		t.Helper()
		s.waitsFor("never", "Finalizing", "waiting for spec.finalize.children: 0 of 1 children are ready: ConfigMap @ns/never-last")
		s.waitsFor("held", "Finalizing", "waiting for its children to be deleted: ConfigMap @ns/held-top")
		for child, is := range map[string]bool{"never-base": false, "never-top": false, "held-base": false, "held-top": true} {
			waitFor(t, s.in(configMaps), child, going(is))
		}
		stay()
	}
	wait()
	op.Kill()
	startOperator(t)
	s.thing("later", "{}")
	s.held("later")
	wait()
	s.delete(s.things(), "later")
	for _, name := range append(parents, "later") {
		s.patch(s.things(), name, `{"metadata":{"annotations":{"templater.dev/skip-finalize":"true"}}}`)
		waitGone(t, s.things(), name)
		s.letGo(name + "-top")
	}
}

func TestSuspensionDoesNotUseUpFinalizeTimeout(t *testing.T) {
	parallel(t)
	const own, timeout = "example.org/keep", time.Second
	s := newScope(t)
	s.defineThing()
	startOperator(t)
	s.controller(strings.Replace(twoLevels, "timeout: 1h", "timeout: "+timeout.String(), 1))
	s.thing("one", "{}")
	uid := s.held("one").GetUID()
	s.patch(s.things(), "one", `{"metadata":{"finalizers":["`+s.finalizerOf()+`","`+own+`"]}}`)
	begun := s.expand("cleanup-since.templater.dev/@id") // the annotation with the time from which the timeout counts
	s.patchController(`{"spec":{"suspend":true}}`)
	s.waitController("@id", func(o *unstructured.Unstructured) error { return condition(o, "Ready", "False", "Suspended") })
	s.delete(s.things(), "one")
	one := waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		if since := o.GetDeletionTimestamp(); time.Since(since.Time) < 3*timeout {
			return fmt.Errorf("is being deleted since %v", since)
		}
		return nil
	})
	if err := errors.Join(same("finalizers", []string{s.finalizerOf(), own}, one.GetFinalizers()), same(begun, "", one.GetAnnotations()[begun])); err != nil {
		t.Errorf("while its TemplateController is suspended: %v", err)
	}
	s.patchController(`{"spec":{"suspend":false}}`)
	waitFor(t, s.things(), "one", func(o *unstructured.Unstructured) error {
		return errors.Join(same("UID", uid, o.GetUID()), same("finalizers", []string{own}, o.GetFinalizers()))
	})
	// one-last is not ready, so the timeout has released the parent. It began when the TemplateController was resumed.
	one = waitFor(t, s.things(), "one", nil)
	if !strings.HasSuffix(one.GetAnnotations()[begun], "/"+string(uid)) {
		t.Errorf("the parent was released, but its cleanup was not attempted for the whole timeout: annotations %v", one.GetAnnotations())
	}
	last, err := s.in(configMaps).Get(t.Context(), "one-last", getOptions)
	if err != nil {
		t.Fatalf("the parent was released without the object of spec.finalize.children: %v", err)
	}
	if of := last.GetLabels()["templater.dev/parent-uid"]; of != string(uid) {
		t.Errorf("one-last is of the parent with UID %q, want %q", of, uid)
	}
	s.patch(s.things(), "one", `{"metadata":{"finalizers":null}}`)
	waitGone(t, s.things(), "one")
	s.letGo("one-top")
}
