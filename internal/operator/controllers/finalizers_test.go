package controllers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/request"
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

const ownFinalizer = "finalizers[templater.dev/children] templatecontrollers apps"

const givenUp = "finalizers[] templatecontrollers apps"

const parentHolds = "finalizers[finalize.templater.dev/apps] apps one"

const parentRelease = "finalizers[] apps one"

func TestFinalizersComeBeforeTheFirstChild(t *testing.T) {
	c := newCluster(t)
	c.apply(ordered(t))
	c.apply(app)
	wantRequests(t, "a new parent", c.settle(), ownFinalizer, parentHolds, "create configmaps a", "create configmaps b", "status apps one")
	if finalizes, _, _ := unstructured.NestedBool(c.Objects[appsController].Object, "status", "finalizes"); !finalizes {
		t.Error("status.finalizes is not true")
	}
	c.start()
	wantRequests(t, "after a restart", c.settle())
}

// Children that an earlier edit has kept from going are gone all at once where the next one wants no order.
func TestAnEditThatDropsTheOrder(t *testing.T) {
	for why, row := range map[string]struct {
		manifest string
		want     []string
	}{
		"None":              {with(t, ordered(t), "order: Reverse", "order: None"), []string{"delete configmaps b", "status apps one", "status apps one"}},
		"no finalize":       {apps, []string{parentRelease, givenUp}},
		"a broken template": {with(t, ordered(t), "{{ end }}", ""), nil},
	} {
		t.Run(why, func(t *testing.T) {
			c := finalizes(t, ordered(t))
			c.edit(configMap("a"), func(o *unstructured.Unstructured) {
				o.SetFinalizers([]string{"example.org/slow"})
				o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationOrder, "1"))
				c.seal(o)
			})
			c.deletes(one, metav1.DeletePropagationBackground)
			wantRequests(t, "in order", c.settle(), "delete-foreground configmaps a", "status apps one")
			c.apply(row.manifest)
			c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
			wantRequests(t, "the edit", c.writes(), row.want...)
		})
	}
}

func TestFinalizersGoWithWhatNeedsThem(t *testing.T) {
	c := finalizes(t, ordered(t))
	c.apply(apps)
	c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	wantRequests(t, "an edit", c.settle(), parentRelease, "list apps everywhere", givenUp)
	status := c.Objects[appsController].Object["status"].(map[string]any)
	if status["finalizes"] != false {
		t.Errorf("status.finalizes is %v, want false", status["finalizes"])
	}
	c.start()
	wantRequests(t, "after a restart", c.settle())
}

func TestTemplateControllerThatGoesStrandsNoParent(t *testing.T) {
	for why, row := range map[string]struct {
		manifest string
		prepare  func(c *cluster)
		want     []string
	}{
		"a parent":                  {ordered(t), func(*cluster) {}, []string{"status apps one", "list apps everywhere", parentRelease, "list apps everywhere", givenUp}},
		"one that is being deleted": {ordered(t), func(c *cluster) { c.deletes(one, metav1.DeletePropagationBackground) }, []string{"list apps everywhere", parentRelease, "list apps everywhere", givenUp}},
		"one that does not match any more, which nobody has seen": {selective(t, ordered(t)), func(c *cluster) {
			o := c.Objects[one].DeepCopy()
			o.SetLabels(nil)
			c.Store(one, o)
		}, []string{"list apps everywhere", parentRelease, "list apps everywhere", givenUp}},
		"a broken spec": {ordered(t), func(c *cluster) {
			c.apply(with(t, ordered(t), "{{ end }}", ""))
			c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		}, []string{"status apps one", "list apps everywhere", parentRelease, "list apps everywhere", givenUp}},
		"children that go": {with(t, ordered(t), "spec:\n", "spec:\n  whenDeleted: DeleteChildren\n"), func(*cluster) {}, []string{
			"status apps one", "list apps everywhere", parentRelease, "list apps everywhere", "delete configmaps a", "delete configmaps b", givenUp,
		}},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", restart ", restart), func(t *testing.T) {
				c := finalizes(t, row.manifest)
				row.prepare(c)
				c.goes()
				if restart {
					c.start()
				}
				wantRequests(t, why, c.settle(), row.want...)
				if o := c.get("apps", "one"); o != nil && len(o.GetFinalizers()) > 0 || c.Objects[appsController] != nil {
					t.Error("a finalizer is left")
				}
			})
		}
	}
}

func TestSuspendedTemplateControllerKeepsItsFinalizers(t *testing.T) {
	c := finalizes(t, ordered(t))
	suspended := with(t, ordered(t), "spec:\n", "spec:\n  suspend: true\n")
	c.apply(suspended)
	c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.deletes(one, metav1.DeletePropagationBackground)
	wantRequests(t, "a parent goes", c.settle())
	const waiting = "False Suspended: spec.suspend is true: nothing is created, changed or deleted, and parents that are being deleted are not finalized"
	if got := c.condition("templatecontrollers", "apps", "Ready"); got != waiting {
		t.Errorf("ready condition %q, want %q", got, waiting)
	}
	c.edit(one, func(o *unstructured.Unstructured) {
		o.SetAnnotations(plus(o.GetAnnotations(), v1.AnnotationSkipFinalize, "true"))
	})
	wantRequests(t, "it is to go at once", c.settle())
	c.edit(one, func(o *unstructured.Unstructured) { o.SetAnnotations(nil) })
	c.goes()
	wantRequests(t, "the TemplateController goes", c.settle(), "list apps everywhere")
	const text = "False Suspended: being deleted: spec.suspend is true, so parents keep the finalizer finalize.templater.dev/apps: set it to false, or remove the finalizer from the parents"
	if got := c.condition("templatecontrollers", "apps", "Ready"); got != text {
		t.Errorf("ready condition %q, want %q", got, text)
	}
	c.edit(appsController, func(o *unstructured.Unstructured) { unstructured.RemoveNestedField(o.Object, "spec", "suspend") })
	wantRequests(t, "it goes on", c.settle(), "list apps everywhere", parentRelease, "list apps everywhere", givenUp)
}

// A spec that is rejected for the kind of its parents gives them no finalizer, and so needs none itself.
func TestTemplateControllerWhoseKindDoesNotFitHasNoFinalizer(t *testing.T) {
	c := newCluster(t)
	c.apply(with(t, ordered(t), "kind: App}", "kind: Statusless}"))
	c.settle()
	if finalizers := c.get("templatecontrollers", "apps").GetFinalizers(); len(finalizers) > 0 {
		t.Errorf("finalizers %q", finalizers)
	}
	if got := c.condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, "False NoStatusSubresource") {
		t.Errorf("condition %q", got)
	}
}

// The kind has changed since, so that the spec does not fit any more.
func TestTemplateControllerWhoseKindFitsNoMoreStrandsNoParent(t *testing.T) {
	gk := schema.GroupKind{Group: "example.org", Kind: "App"}
	saved := fakeKinds[gk]
	t.Cleanup(func() { fakeKinds[gk] = saved })
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			fakeKinds[gk] = saved
			c := finalizes(t, ordered(t))
			changed := saved
			changed.Status = nil
			fakeKinds[gk] = changed
			c.controllers.kindChanged(gk)
			wantRequests(t, "it is rejected", c.settle())
			if got := c.condition("templatecontrollers", "apps", "Accepted"); !strings.HasPrefix(got, "False NoStatusSubresource") {
				t.Errorf("condition %q", got)
			}
			if restart {
				c.start()
			}
			c.goes()
			wantRequests(t, "it goes", c.settle(), "list apps everywhere", parentRelease, "list apps everywhere", givenUp)
		})
	}
	t.Run("from the beginning", func(t *testing.T) {
		c := newCluster(t)
		c.apply(with(t, ordered(t), "name: apps", "name: apps, finalizers: [example.org/x]", "kind: App}", "kind: Statusless}"))
		c.settle()
		c.goes()
		wantRequests(t, "it goes", c.settle())
	})
}

// Nobody but the TemplateController tells why it does not go on.
func TestRefusalsToFinalizersOfTheTemplateControllerAreTold(t *testing.T) {
	refused := answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request: s3cr3t`)
	const want = `False FinalizerRejected: cannot set or remove the finalizer templater.dev/children of this TemplateController: denied by admission webhook "no.example.org"`
	told := func(c *cluster, want string) {
		t.Helper()
		if got := c.condition("templatecontrollers", "apps", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
	}
	t.Run("set", func(t *testing.T) {
		c := newCluster(t)
		c.refuse[ownFinalizer] = refused
		c.apply(ordered(t))
		c.apply(app)
		wantRequests(t, "no parent is touched", slices.Compact(c.run()), ownFinalizer)
		told(c, want)
		delete(c.refuse, ownFinalizer)
		wantRequests(t, "it may again", c.settle(), ownFinalizer, parentHolds, "create configmaps a", "create configmaps b", "status apps one")
		told(c, "True Ready: accepted and watching")
	})
	t.Run("removed", func(t *testing.T) {
		c := finalizes(t, ordered(t))
		c.refuse[givenUp] = refused
		c.goes()
		wantRequests(t, "parents go free", c.run(), "status apps one", "list apps everywhere", parentRelease, "list apps everywhere", givenUp)
		told(c, want)
	})
	t.Run("of parents that cannot be listed", func(t *testing.T) {
		c := finalizes(t, ordered(t))
		c.refuse["list apps everywhere"] = answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "s3cr3t")
		c.goes()
		wantRequests(t, "it goes", c.run(), "status apps one", "list apps everywhere")
		told(c, "False ListFailed: being deleted: waiting until it can read the parents that have the finalizer finalize.templater.dev/apps: the API server returned 500 InternalError")
	})
}

// Where a parent in the cache has the finalizer, the pass that takes it tells: looking again and again is of no use.
func TestNobodyLooksAgainWhileAParentKeepsTheFinalizer(t *testing.T) {
	c := finalizes(t, ordered(t))
	c.refuse[parentRelease] = answer(http.StatusInternalServerError, metav1.StatusReasonInternalError, "no")
	c.apply(apps)
	c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
	c.run()
	_, leave := c.controllers.Enter("apps")
	defer leave()
	clear(c.controllersDue.due)
	c.controllers.queue.Add("apps")
	c.run()
	if due, again := c.controllersDue.due["apps"]; again && due.Sub(c.clock.Now()) <= countsDelay {
		t.Errorf("looked at again in %v", due.Sub(c.clock.Now()))
	}
}

func TestParentThatMatchesNoMoreLosesItsFinalizer(t *testing.T) {
	unlabel := func(o *unstructured.Unstructured) { o.SetLabels(nil) }
	t.Run("while the operator looks", func(t *testing.T) {
		c := finalizes(t, selective(t, ordered(t)))
		c.edit(one, unlabel)
		wantRequests(t, "it leaves", c.settle(), "get apps one", "delete configmaps a", "delete configmaps b", parentRelease, "get apps one")
	})
	t.Run("without children", func(t *testing.T) {
		c := finalizes(t, selective(t, ordered(t)))
		c.edit(one, func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, nil, "spec", "names")
		})
		c.settle()
		c.edit(one, unlabel)
		wantRequests(t, "it leaves", c.settle(), "get apps one", parentRelease)
	})
	t.Run("while the operator is away", func(t *testing.T) {
		c := finalizes(t, selective(t, ordered(t)))
		for _, name := range []string{"a", "b"} {
			c.Remove(configMap(name)) // so that nothing but the list tells
		}
		o := c.Objects[one].DeepCopy()
		unlabel(o)
		c.Store(one, o)
		c.start()
		wantRequests(t, "it has left", c.settle(), "list apps everywhere", "get apps one", parentRelease)
		c.start()
		wantRequests(t, "once more", c.settle(), "list apps everywhere")
	})
	t.Run("by an edit of the selector", func(t *testing.T) {
		c := finalizes(t, selective(t, ordered(t)))
		c.apply(with(t, selective(t, ordered(t)), "tier: front", "tier: back"))
		c.edit(appsController, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{v1.FinalizerChildren}) })
		got := c.settle()
		wantRequests(t, "it leaves", got, "list apps everywhere", "get apps one", "delete configmaps a", "delete configmaps b", parentRelease, "get apps one")
	})
}

func TestFinalizerThatMayNotBeSetOrRemoved(t *testing.T) {
	denied := answer(http.StatusForbidden, metav1.StatusReasonForbidden, `apps.example.org "one" is forbidden: User "x" cannot patch resource "apps" in API group "example.org" in the namespace "ns"`)
	const rule = `templater is not allowed to patch apps.example.org in namespace ns: add {apiGroups: [example.org], resources: [apps], verbs: [patch]} to a ClusterRole labelled rbac.templater.dev/aggregate-to-templater: "true"`
	t.Run("set", func(t *testing.T) {
		c := newCluster(t)
		c.refuse[parentHolds] = denied
		c.lacks[" patch apps ns"] = true
		c.apply(ordered(t))
		c.apply(app)
		got := c.run()
		c.clock.SetTime(c.clock.Now().Add(time.Second))
		wantRequests(t, "no child is made", append(got, c.run()...), ownFinalizer, parentHolds, parentHolds, "status apps one")
		if got, want := c.condition("apps", "one", "Ready"), "False FinalizerRejected: cannot set the finalizer finalize.templater.dev/apps: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		delete(c.refuse, parentHolds)
		wantRequests(t, "it may again", c.settle(), parentHolds, "create configmaps a", "create configmaps b", "status apps one")
	})
	t.Run("removed", func(t *testing.T) {
		c := finalizes(t, ordered(t, ", timeout: 0s"))
		c.refuse[parentRelease] = denied
		c.lacks[" patch apps ns"] = true
		c.deletes(one, metav1.DeletePropagationBackground)
		c.settle()
		if got, want := c.condition("apps", "one", "Ready"), "False FinalizerRejected: cannot remove the finalizer finalize.templater.dev/apps: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.goes()
		c.run()
		if got, want := c.condition("templatecontrollers", "apps", "Ready"), "False Forbidden: being deleted: cannot remove the finalizer finalize.templater.dev/apps from App ns/one: "+rule; got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		delete(c.refuse, parentRelease)
		c.settle()
		if c.get("apps", "one") != nil || c.Objects[appsController] != nil {
			t.Error("something is left")
		}
	})
}

func TestTemplateControllerThatNeedsAnAccountTouchesNoParentAsItGoes(t *testing.T) {
	for why, before := range map[string]bool{"it has never run": false, "it ran before accounts were required": true} {
		t.Run(why, func(t *testing.T) {
			c := newCluster(t)
			c.strict = !before
			c.start()
			c.apply(ordered(t))
			c.apply(app)
			c.settle()
			c.strict = true
			c.start()
			c.settle()
			c.goes()
			c.deliver()
			wantRequests(t, "it goes", c.settle())
			if !before {
				if f := c.Objects[appsController]; f != nil && len(f.GetFinalizers()) > 0 {
					t.Errorf("finalizers %v", f.GetFinalizers())
				}
				return
			}
			const want = "False ServiceAccountRequired: being deleted: cannot remove the finalizer finalize.templater.dev/apps from parents: name a ServiceAccount in spec.serviceAccountRef that may patch them, " +
				"or remove it from their metadata.finalizers, and then templater.dev/children from that of this TemplateController"
			if got := c.condition("templatecontrollers", "apps", "Ready"); got != want {
				t.Errorf("ready condition %q, want %q", got, want)
			}
		})
	}
}

// Such answers are about no parent, so that listing the parents again shows the same.
func TestRefusedReleaseOfAParentBacksOff(t *testing.T) {
	const text = "False Deleting: being deleted: cannot remove the finalizer finalize.templater.dev/apps from App ns/one: "
	for why, row := range map[string]struct {
		err  error
		want string
	}{
		"its kind is not served":      {unserved(one), text + "the API server does not serve this kind at the moment"},
		"a webhook answers 409":       {answer(http.StatusConflict, metav1.StatusReasonConflict, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"a webhook answers 404":       {answer(http.StatusNotFound, metav1.StatusReasonNotFound, `admission webhook "no.example.org" denied the request: no`), text + `denied by admission webhook "no.example.org"`},
		"it changes again and again":  {conflict(one), "False Deleting: being deleted: removing the finalizer finalize.templater.dev/apps from its parents"},
		"the server denies it itself": {answer(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "no"), text + "the API server returned 422 Invalid"},
	} {
		t.Run(why, func(t *testing.T) {
			c := finalizes(t, ordered(t))
			c.refuse[parentRelease] = row.err
			c.goes()
			wantRequests(t, "it goes", c.run(), "status apps one", "list apps everywhere", parentRelease)
			if got := c.condition("templatecontrollers", "apps", "Ready"); got != row.want {
				t.Errorf("ready condition %q, want %q", got, row.want)
			}
			wantRequests(t, "at once", c.run())
			clear(c.refuse)
			c.settle()
			if c.Objects[appsController] != nil {
				t.Error("the TemplateController is not gone once the server accepts the write")
			}
		})
	}
}
