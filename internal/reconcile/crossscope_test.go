package reconcile_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
	"github.com/templater-dev/templater/internal/reconcile/reconciletest"
)

func TestCrossNamespaceAndClusterScopedChildren(t *testing.T) {
	c := newCluster(t)
	c.KubectlApply(tenants)
	c.KubectlApply(tenant)
	wantRequests(t, "first reconciliation", c.Run(), reconciletest.HoldParent, "create clusterroles r", "create configmaps a", "status apps one")
	c.WantQuiet("first reconciliation")
	for _, at := range []request.Location{clusterRole, farMap("a")} {
		o := c.Objects[at]
		if o == nil {
			t.Fatalf("no %s %s in %q", at.Resource.Resource, at.Name, at.Namespace)
		}
		if got := o.GetAnnotations()[v1.AnnotationParent]; got != "ns/one" || len(o.GetOwnerReferences()) > 0 {
			t.Errorf("%s has parent %q and owners %v, want ns/one and none", at.Name, got, o.GetOwnerReferences())
		}
	}
	for _, row := range []struct {
		why    string
		change func()
		want   []string
	}{
		{"somebody edits a child", func() {
			c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "x"} })
		}, []string{"update configmaps a"}},
		{"somebody takes away whose child it is", func() {
			c.KubectlEdit(clusterRole, func(o *unstructured.Unstructured) { delete(o.Object["metadata"].(map[string]any), "annotations") })
		}, []string{"update clusterroles r"}},
		{"somebody says that it is another parent's", func() {
			c.KubectlEdit(clusterRole, func(o *unstructured.Unstructured) {
				annotations := o.GetAnnotations()
				annotations[v1.AnnotationParent] = "ns/two"
				o.SetAnnotations(annotations)
			})
		}, []string{"update clusterroles r"}},
		{"somebody takes all labels away", func() { c.KubectlEdit(farMap("a"), func(o *unstructured.Unstructured) { o.SetLabels(nil) }) }, []string{"create configmaps a", "get configmaps a", "update configmaps a"}},
		{"somebody deletes a child", func() { c.RemoveNow(clusterRole) }, []string{"create clusterroles r"}},
		{"the operator begins anew", c.start, nil},
		{"it is to be in another namespace", func() { c.KubectlApply(newTenant(reconciletest.WithSpace("further"))) }, []string{"create configmaps a", "delete configmaps a", "status apps one"}},
		{"neither is wanted any more", func() { c.KubectlApply(with(t, tenant, "[a]", "[]", "role: r", "role: ''")) }, []string{"delete configmaps a", "delete clusterroles r", "status apps one"}},
	} {
		row.change()
		wantRequests(t, row.why, c.Run(), row.want...)
		c.WantQuiet(row.why)
	}
}

func TestParentsWithSameChildConflict(t *testing.T) {
	two := with(t, tenant, "ns, name: one", "other, name: one")
	c := begun(t, tenants, tenant)
	c.PutWithUID(two, "uid-other") // with the same name in another namespace
	wantRequests(t, "the second", c.Run(), reconciletest.HoldParent, "create clusterroles r", "get clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
	const want = "False ChildConflict: ClusterRole r already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: templater does not adopt it; " +
		"delete it, or choose another name in the template; ConfigMap far/a already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: " +
		"templater does not adopt it; delete it, or choose another name in the template"
	second := locationOf(parse(t, two))
	if got := reconciletest.ConditionOf(c.Objects[second], "Ready"); got != want {
		t.Errorf("ready condition of the second %q, want %q", got, want)
	}
	c.WantQuiet("the second")
	c.KubectlApply(with(t, tenant, "role: r", "role: ''"))
	wantRequests(t, "the first lets go of one", c.Run(), "delete clusterroles r", "status apps one")
	c.Deliver()
	c.Clock.SetTime(c.Clock.Now().Add(2 * problem.SlowRetry))
	wantRequests(t, "then", c.Run(), "create clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
	if got := c.Objects[clusterRole].GetAnnotations()[v1.AnnotationParent]; got != "other/one" {
		t.Errorf("it is of %s now", got)
	}
	c.WantQuiet("it has changed hands")
}

func TestUnmatchedParentLosesCrossNamespaceChildren(t *testing.T) {
	some := frontOnly(t, tenants)
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, some, tenant)
			c.KubectlApply(newTenant(withTier("back")))
			want := []string{"get apps one", "delete configmaps a", "delete clusterroles r", releaseParent}
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.Run(), want...)
			c.Deliver()
			wantRequests(t, "when they are gone", c.Run(), "get apps one")
			c.WantQuiet("label gone")
		})
	}
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run("Orphan keeps them for good, "+why, func(t *testing.T) {
			c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
			c.KubectlApply(newTenant(withTier("back")))
			want := []string{"get apps one", "delete configmaps a", "mark clusterroles r", releaseParent}
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.Run(), want...)
			c.Settle()
			c.KubectlDelete(one, metav1.DeletePropagationBackground)
			wantRequests(t, "the parent is deleted", c.SettleWrites())
			c.start()
			wantRequests(t, "after a restart, and a long time", c.SettleWrites())
			if c.Objects[clusterRole] == nil {
				t.Error("it is gone")
			}
		})
	}
	t.Run("they go with it where it matches again", func(t *testing.T) {
		c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
		c.KubectlApply(newTenant(withTier("back")))
		c.Settle()
		c.KubectlApply(tenant)
		wantRequests(t, "it matches", c.SettleWrites(), reconciletest.HoldParent, "update clusterroles r", "mark clusterroles r", "create configmaps a")
		c.KubectlDelete(one, metav1.DeletePropagationBackground)
		wantRequests(t, "the parent is deleted", c.SettleWrites(), "delete configmaps a", "delete clusterroles r", "status apps one", releaseParent)
	})
	t.Run("one that may not be marked is told", func(t *testing.T) {
		c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
		c.Refuse["mark clusterroles r"] = refusal(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
		c.KubectlApply(newTenant(withTier("back")))
		wantRequests(t, "label gone", c.Run(), "get apps one", "delete configmaps a", "mark clusterroles r")
		const want = `one Warning ChildRejected: cannot mark ClusterRole r: denied by admission webhook "no.example.org"`
		if n := len(c.Events); n == 0 || c.Events[n-1] != want {
			t.Errorf("Events %q, want %q", c.Events, want)
		}
		delete(c.Refuse, "mark clusterroles r")
		wantRequests(t, "it may again", c.SettleWrites(), "mark clusterroles r", releaseParent)
	})
}

// Another client has removed the finalizer, so that templater did not notice the deletion of the parent.
func TestOrphansInOtherNamespacesAreCollected(t *testing.T) {
	t.Run("the parent is gone", func(t *testing.T) {
		c := begun(t, with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), tenant)
		c.RemoveNow(locationOf(parse(t, tenant)))
		wantRequests(t, "at once", c.Run())
		c.start()
		wantRequests(t, "after a restart", c.Run())
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
		wantRequests(t, "after a minute", c.Run(), "get apps one", "delete configmaps a")
		c.WantQuiet("they are gone")
	})
	t.Run("there is another parent of that name", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.Remove(locationOf(parse(t, tenant)))
		c.PutWithUID(tenant, "uid-next")
		wantRequests(t, "at once", c.Run(), reconciletest.HoldParent, "create clusterroles r", "get clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
		const want = "False Progressing: ClusterRole r belongs to an earlier parent of the same name; it will be recreated once garbage collection has deleted it; ConfigMap far/a belongs to an earlier parent of the same name; it will be recreated once garbage collection has deleted it"
		if got := c.Condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
		got := c.Run()
		for _, at := range []string{"delete clusterroles r", "delete configmaps a"} {
			if !slices.Contains(got, at) {
				t.Errorf("after a minute: %v, want %s among it", got, at)
			}
		}
		c.Deliver()
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
		got = c.Run()
		for _, at := range []string{"create clusterroles r", "create configmaps a"} {
			if !slices.Contains(got, at) {
				t.Errorf("then: %v, want %s among it", got, at)
			}
		}
		c.WantQuiet("they are made anew")
	})
	t.Run("there is another parent of that name, and they were to stay", func(t *testing.T) {
		c := begun(t, with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), newTenant(withChildren()))
		c.Remove(locationOf(parse(t, tenant)))
		c.PutWithUID(newTenant(withChildren()), "uid-next")
		c.Run()
		const want = "False ChildConflict: ClusterRole r already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: templater does not adopt it; delete it, or choose another name in the template"
		if got := c.Condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
	})
	t.Run("the kind is gone", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.kindGone(tenant)
		c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
		c.controllers.enqueueAll(c.controllers.get("apps"))
		wantRequests(t, "after a minute", c.Run())
	})
}

// A backup was restored: the objects have new UIDs, the keys for seals are new, and the TemplateController has no status.
func TestChildrenOfARestoredBackupAreKept(t *testing.T) {
	for why, parent := range map[string]func(c *cluster){
		"the parent is restored":     func(c *cluster) { c.PutWithUID(tenant, "uid-restored") },
		"the parent is not restored": func(*cluster) {},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			c.Remove(one)
			c.RenewKeys("9")
			c.KubectlEdit(appsController, func(o *unstructured.Unstructured) {
				unstructured.RemoveNestedField(o.Object, "status", "sealedSince")
			})
			parent(c)
			c.start()
			requests := c.Settle()
			c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
			if requests = append(requests, c.Settle()...); slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "delete") }) {
				t.Errorf("requests %q", requests)
			}
		})
	}
}

// kindGone makes the parents' kind unserved, and deletes the parent.
func (c *cluster) kindGone(parent string) {
	c.T.Helper()
	o := parse(c.T, parent)
	c.Refuse["kind "+o.GetKind()] = &kind.NotFoundError{GVK: o.GroupVersionKind()}
	delete(c.Objects, locationOf(o))
	c.ControllerQueue.Add("apps")
	c.Run()
}

func TestScopeChangeKeepsChildren(t *testing.T) {
	near := with(t, tenant, "space: far, role: r", "space: ns")
	namespaced := with(t, tenants, "name: maps\n    scope: Cluster", "name: maps")
	for strategy, verb := range map[string]string{"Apply": "update", "Recreate": "mark", "CreateOnly": "mark", "OnDelete": "mark"} {
		t.Run(strategy, func(t *testing.T) {
			by := func(spec string) string {
				return with(t, spec, "- name: maps\n", "- name: maps\n    updateStrategy: {type: "+strategy+"}\n")
			}
			c := begun(t, by(namespaced), near)
			made := c.Objects[configMap("a")]
			if ref := metav1.GetControllerOf(made); ref == nil || ref.UID != "uid-one" {
				t.Fatalf("owner reference %v", ref)
			}
			c.KubectlApply(by(tenants))
			wantRequests(t, "Namespaced → Cluster", c.Run(), verb+" configmaps a")
			now := c.Objects[configMap("a")]
			if now.GetUID() != made.GetUID() || len(now.GetOwnerReferences()) > 0 || now.GetAnnotations()[v1.AnnotationParent] != "ns/one" {
				t.Errorf("the object is %s, with owners %v and annotations %v", now.GetUID(), now.GetOwnerReferences(), now.GetAnnotations())
			}
			c.WantQuiet("Namespaced → Cluster")
			c.KubectlApply(by(namespaced))
			wantRequests(t, "Cluster → Namespaced", c.Run(), "get apps one", verb+" configmaps a")
			now = c.Objects[configMap("a")]
			if diff := cmp.Diff(made.GetOwnerReferences(), now.GetOwnerReferences()); diff != "" || now.GetUID() != made.GetUID() || now.GetAnnotations()[v1.AnnotationParent] != "" {
				t.Errorf("the object is %s, with annotations %v and owners (-before +now):\n%s", now.GetUID(), now.GetAnnotations(), diff)
			}
			c.WantQuiet("Cluster → Namespaced")
		})
	}
}

// The garbage collector would delete a child with an owner reference to another namespace.
func TestCrossNamespaceChildHasNoOwnerReference(t *testing.T) {
	keep := withTemplate(t, tenants, "prunePolicy: Orphan")
	c := begun(t, keep, with(t, tenant, ", role: r", ""))
	c.KubectlApply(with(t, keep, "prunePolicy: Orphan\n    scope: Cluster", "prunePolicy: Orphan"))
	wantRequests(t, "the entry is edited", c.Run(), "status apps one")
	const want = "False InvalidChild: children[maps]:3: the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace, or set scope: Cluster in this child template"
	if got := c.Condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.KubectlApply(with(t, tenant, ", role: r", "", "space: far", "space: ns"))
	wantRequests(t, "the template follows", c.Run(), "create configmaps a", "status apps one")
	left := c.Objects[farMap("a")]
	if left == nil || len(left.GetOwnerReferences()) > 0 || left.GetAnnotations()[v1.AnnotationParent] != "ns/one" {
		t.Errorf("what stays is %v", left)
	}
	c.WantQuiet("one stays")
}

func TestPoliciesOfChildrenWithoutOwnerReference(t *testing.T) {
	spec := with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n    prunePolicy: Orphan\n")
	c := begun(t, spec, tenant)
	role := c.Objects[clusterRole]
	got := maps.Clone(role.GetAnnotations())
	maps.DeleteFunc(got, func(key, _ string) bool {
		return key == v1.AnnotationHash || key == v1.AnnotationSeal || key == v1.AnnotationDepth
	})
	want := map[string]string{v1.AnnotationParent: "ns/one", v1.AnnotationDeletion: "Orphan", v1.AnnotationPrune: "Orphan"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	c.KubectlApply(with(t, spec, "    deletionPolicy: Orphan\n", ""))
	wantRequests(t, "it is to go with its parent", c.Run(), "update clusterroles r")
	if _, has := c.Objects[clusterRole].GetAnnotations()[v1.AnnotationDeletion]; has {
		t.Error("it says still that it is to stay")
	}
}

// TestCopiedChildInOtherNamespaceIsIgnored copies a child with all its metadata to another namespace: its seal is not valid there.
func TestCopiedChildInOtherNamespaceIsIgnored(t *testing.T) {
	c := begun(t, tenants, tenant)
	copied := c.Objects[farMap("a")].DeepCopy()
	copied.SetNamespace("theirs")
	copied.SetUID(types.UID("theirs"))
	copied.SetResourceVersion("")
	at := farMap("a")
	at.Namespace = "theirs"
	c.Store(at, copied)
	c.WantQuiet("a copy of a child, seal and all, in another namespace")
	c.KubectlApply(newTenant(withChildren()))
	wantRequests(t, "the child is pruned", c.Run(), "delete configmaps a", "status apps one")
	if c.Objects[at] == nil || c.Objects[farMap("a")] != nil {
		t.Error("the copy is gone, or the child is not")
	}
	c.RemoveNow(locationOf(parse(t, tenant)))
	c.Clock.SetTime(c.Clock.Now().Add(queue.CollectorTime))
	c.Run()
	if c.Objects[at] == nil {
		t.Error("the copy is collected")
	}
}
