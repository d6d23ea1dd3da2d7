package reconcile_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/kube/watch"
	"github.com/templater-dev/templater/internal/reconcile/problem"
)

// ordered returns apps with spec.finalize and more of its fields, such as ", timeout: 5m".
func ordered(t *testing.T, more ...string) string {
	t.Helper()
	return with(t, apps, "spec:\n", "spec:\n  finalize: {order: Reverse"+strings.Join(more, "")+"}\n")
}

// selective returns a TemplateController that has parents with the label tier=front.
func selective(t *testing.T, manifest string) string {
	t.Helper()
	return with(t, manifest, "kind: App}", "kind: App, labelSelector: {matchLabels: {tier: front}}}")
}

var one = request.Location{Resource: fakeKinds[schema.GroupKind{Group: "example.org", Kind: "App"}].Resource, Namespace: "ns", Name: "one"}

// deletes does what a user does with kubectl delete.
func (c *cluster) deletes(at request.Location, propagation metav1.DeletionPropagation) {
	c.t.Helper()
	c.End(at, propagation)
	if propagation == metav1.DeletePropagationOrphan {
		c.edit(at, func(o *unstructured.Unstructured) { o.SetFinalizers(append(o.GetFinalizers(), "orphan")) })
	}
	c.deliver()
}

// finalizes is a cluster where apps finalizes its parent one, which has been looked at.
func finalizes(t *testing.T, manifest string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.apply(manifest)
	c.apply(with(t, app, "name: one", "name: one, labels: {tier: front}"))
	c.settle()
	return c
}

const parentHolds = "finalizers[finalize.templater.dev/apps] apps one"

const parentRelease = "finalizers[] apps one"

func TestNothingIsDoneAboutFinalizersWhereNoneIsNeeded(t *testing.T) {
	c := newCluster(t)
	c.apply(apps)
	c.apply(app)
	c.settle()
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "a deletion", c.settle())
	if c.get("apps", "one") != nil {
		t.Error("the parent is there still")
	}
}

func TestChildrenGoBeforeTheirParent(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			c := finalizes(t, ordered(t, ", timeout: 0s"))
			for _, name := range []string{"a", "b"} {
				c.edit(configMap(name), func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.org/slow"}) })
			}
			c.settle()
			c.edit(configMap("a"), func(o *unstructured.Unstructured) {
				o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationOrder, "1"))
				c.seal(o)
			})
			c.deletes(one, metav1.DeletePropagationBackground)
			wantRequests(t, "the last ones in the order first", c.settle(), "delete-foreground configmaps a", "status apps one")
			const first = "False Finalizing: being deleted: waiting for its children to be deleted: ConfigMap ns/a; if one is stuck, check its metadata.finalizers"
			if got := c.condition("apps", "one", "Ready"); got != first {
				t.Errorf("ready condition %q, want %q", got, first)
			}
			if restart {
				c.start()
				wantRequests(t, "after a restart", c.settle())
			}
			c.edit(configMap("a"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
			wantRequests(t, "when they are gone, the others", c.settle(), "delete-foreground configmaps b", "status apps one")
			c.edit(configMap("b"), func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
			wantRequests(t, "then the parent", c.settle(), parentRelease)
			if c.get("apps", "one") != nil {
				t.Error("the parent is there still")
			}
		})
	}
}

func TestParentThatGoesAtOnce(t *testing.T) {
	for why, row := range map[string]struct {
		edit func(o *unstructured.Unstructured)
		how  metav1.DeletionPropagation
	}{
		"an annotation says so": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{v1.AnnotationSkipFinalize: "true"})
		}, metav1.DeletePropagationBackground},
		"its children are to stay": {func(*unstructured.Unstructured) {}, metav1.DeletePropagationOrphan},
	} {
		t.Run(why, func(t *testing.T) {
			c := finalizes(t, ordered(t))
			c.edit(one, row.edit)
			c.settle()
			c.deletes(one, row.how)
			if row.how == metav1.DeletePropagationOrphan {
				wantRequests(t, why, c.run(), noteDone)
				c.letsGo()
				c.deliver()
			}
			wantRequests(t, why, c.run(), parentRelease)
		})
	}
}

// An object that somebody else owns, too, is of use still: the garbage collector leaves it alone as well.
func TestChildrenOfAnotherOwnerToo(t *testing.T) {
	c := finalizes(t, ordered(t))
	c.edit(configMap("a"), func(o *unstructured.Unstructured) {
		o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "uid-other"}))
	})
	c.settle()
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "deletion", c.writes(), "delete-foreground configmaps b", "status apps one", parentRelease)
}

func TestBrokenTemplateControllerLetsParentsGo(t *testing.T) {
	reported := func(why string) []string {
		if why == "the selector" {
			return nil // it is not known which objects are the parents
		}
		return []string{"status apps one"}
	}
	for why, broken := range map[string]string{
		"a template":   with(t, ordered(t), "{{ end }}", ""),
		"the selector": with(t, selective(t, ordered(t)), "tier: front", "tier: '?'"),
		"the period":   with(t, ordered(t), "spec:\n", "spec:\n  resyncPeriod: never\n"),
		"the timeout":  ordered(t, ", timeout: soon"),
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", restart ", restart), func(t *testing.T) {
				c := finalizes(t, selective(t, ordered(t)))
				c.apply(broken)
				c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
				wantRequests(t, "the edit", c.settle(), reported(why)...)
				if restart {
					c.start()
				}
				c.deletes(one, metav1.DeletePropagationBackground)
				wantRequests(t, "the parent goes", c.settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", parentRelease)
			})
		}
	}
}

func TestParentsGoWithTheirDefinition(t *testing.T) {
	for _, restart := range []bool{false, true} {
		c := finalizes(t, ordered(t))
		of := fakeKinds[schema.GroupKind{Group: "example.org", Kind: "App"}]
		c.refuse["kind App"] = &kind.NotFoundError{Definition: "apps.example.org", Going: true, Ending: &of}
		if restart {
			c.start()
		}
		c.controllers.kindChanged(of.GroupKind())
		wantRequests(t, "the definition goes", c.settle())
		c.deletes(one, metav1.DeletePropagationBackground)
		wantRequests(t, "its objects go", c.settle(), "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", parentRelease)
		c.refuse["kind App"] = &kind.NotFoundError{}
		c.controllers.kindChanged(of.GroupKind())
		wantRequests(t, "it is gone", c.settle())
	}
}

// What spec.related shows is known to the end: a backup of none of the objects would be taken for one of all.
func TestParentsThatGoWithTheirDefinitionSeeRelatedObjects(t *testing.T) {
	for _, restart := range []bool{false, true} {
		c := newCluster(t)
		c.apply(with(t, backedUp(t, "timeout: 0s"), "{{ eq (len .children.maps) 0 }}", "{{ eq (len .related.jobs) 0 }}",
			"  watch:", "  related: [{name: jobs, apiVersion: batch/v1, kind: Job, select: '{name: seen}'}]\n  watch:",
			"{{ len .children.maps }}", "{{ len .related.jobs }}"))
		c.apply(job("ns", "seen", "{a: b}", "{}"))
		c.apply(app)
		c.settle()
		of := fakeKinds[schema.GroupKind{Group: "example.org", Kind: "App"}]
		c.refuse["kind App"] = &kind.NotFoundError{Definition: "apps.example.org", Going: true, Ending: &of}
		if restart {
			c.start()
		}
		c.controllers.kindChanged(of.GroupKind())
		wantRequests(t, "the definition goes", c.settle())
		c.deletes(one, metav1.DeletePropagationBackground)
		wantRequests(t, "its objects go", c.settle(), "create jobs backup", "status apps one")
		wantRequests(t, "once more", c.settle())
		if none, _, _ := unstructured.NestedBool(c.get("jobs", "backup").Object, "spec", "suspend"); none {
			t.Error("the backup sees no related object")
		}
		if n, _, _ := unstructured.NestedInt64(c.get("apps", "one").Object, "status", "count"); n != 1 {
			t.Errorf("the status sees %d related objects", n)
		}
		c.jobEnds("Complete")
		wantRequests(t, "it is done", c.settle(), noteDone, "delete-foreground configmaps a", "delete-foreground configmaps b", "status apps one", parentRelease)
	}
}

// hidesConfigMaps takes the right to read children of that kind from the controller, which has noticed.
func (c *cluster) hidesConfigMaps(t *testing.T) {
	t.Helper()
	for want := range c.caches {
		if want.Role == watch.Child && want.Resource.Resource == "configmaps" {
			c.caches[want] = failing(t, want, denial("", "list", "configmaps", "at the cluster scope"))
			c.silent[want] = true
		}
	}
	c.lacks[" list configmaps "] = true
	c.controllers.queue.Add("apps")
	c.run()
}

func TestParentThatGoesWhileItsChildrenCannotBeRead(t *testing.T) {
	c := finalizes(t, ordered(t, ", timeout: 5m"))
	c.hidesConfigMaps(t)
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "nothing is known", c.run(), "status apps one")
	const want = "False Finalizing: being deleted: waiting until its children can be read: templater is not allowed to list configmaps in all namespaces: "
	if got := c.condition("apps", "one", "Ready"); !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.clock.SetTime(c.clock.Now().Add(time.Hour))
	wantRequests(t, "nothing was attempted, so that the timeout has not begun", c.run())
}

func TestFinalizerThatMayNotBeRemovedFreezesNothing(t *testing.T) {
	c := finalizes(t, ordered(t))
	c.refuse[parentRelease] = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "x" cannot patch resource "apps" in API group "example.org" in the namespace "ns"`)
	c.lacks[" patch apps ns"] = true
	c.apply(apps)
	c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.settle()
	if got, want := c.condition("apps", "one", "Ready"), "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "; !strings.HasPrefix(got, want) {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.edit(one, func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedStringSlice(o.Object, []string{"a", "c"}, "spec", "names")
	})
	got := c.settle()
	if c.Objects[configMap("c")] == nil || c.Objects[configMap("b")] != nil {
		t.Errorf("the children are not as the parent says: %q", got)
	}
}

// An API that is away keeps its objects, with their finalizers.
func TestAParentWhoseKindIsNotServedIsNotReleased(t *testing.T) {
	c := finalizes(t, ordered(t))
	for _, name := range []string{"a", "b"} {
		c.gone(configMap(name))
	}
	c.refuse[parentRelease] = unserved(one)
	c.End(one, metav1.DeletePropagationBackground)
	c.deliver()
	result, _ := c.pass("apps", "one")
	if result.Retry != problem.RetryBackoff {
		t.Errorf("retry %v, want %v", result.Retry, problem.RetryBackoff)
	}
	c.wantReady("False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: the API server does not serve this kind at the moment")
	clear(c.refuse)
	c.settle()
	if c.get("apps", "one") != nil {
		t.Error("the parent is not released once its kind is served")
	}
}

// A write of the finalizers that is refused while the parent is as it was read is no edit in between.
func TestARefusedReleaseIsReported(t *testing.T) {
	const text = "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"a webhook answers 404":             {answer(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"a webhook answers 409":             {answer(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"the server answers 409 every time": {conflict(one), text + "the API server returned 409 Conflict"},
	} {
		t.Run(why, func(t *testing.T) {
			c := finalizes(t, ordered(t))
			for _, name := range []string{"a", "b"} {
				c.gone(configMap(name))
			}
			c.refuse[parentRelease] = row.err
			c.End(one, metav1.DeletePropagationBackground)
			c.deliver()
			for range 600 {
				c.run()
				c.deliver()
				c.clock.SetTime(c.clock.Now().Add(100 * time.Millisecond))
			}
			c.wantReady(row.want)
			clear(c.refuse)
			c.settle()
			if c.get("apps", "one") != nil {
				t.Error("the parent is not released once the server accepts the write")
			}
		})
	}
}
