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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/templater-dev/templater/api/v1"
	"github.com/templater-dev/templater/internal/kube/kind"
	"github.com/templater-dev/templater/internal/kube/request"
	"github.com/templater-dev/templater/internal/reconcile/problem"
	"github.com/templater-dev/templater/internal/reconcile/queue"
)

// tenants makes a ClusterRole, and ConfigMaps in the namespace that an App names.
const tenants = `
apiVersion: templater.dev/v1
kind: TemplateController
metadata: {name: apps}
spec:
  watch: {apiVersion: example.org/v1, kind: App}
  children:
  - name: role
    scope: Cluster
    template: |
      {{ with .spec.role }}
      apiVersion: rbac.authorization.k8s.io/v1
      kind: ClusterRole
      metadata: {name: {{ . }}}
      {{ end }}
  - name: maps
    scope: Cluster
    template: |
      {{ range .spec.names }}
      ---
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: {{ . }}, namespace: {{ $.spec.space }}}
      data: {text: {{ $.spec.text }}}
      {{ end }}
`

const tenant = `
apiVersion: example.org/v1
kind: App
metadata: {namespace: ns, name: one, labels: {tier: front}}
spec: {names: [a], space: far, role: r, text: hello}
`

// farMap is where a ConfigMap of the namespace far is.
func farMap(name string) request.Location {
	at := configMap(name)
	at.Namespace = "far"
	return at
}

var clusterRole = request.Location{Resource: fakeKinds[schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}].Resource, Name: "r"}

// applyAs is apply for an object that is not there yet, and that gets this UID.
func (c *cluster) applyAs(text string, uid types.UID) {
	c.t.Helper()
	o := parse(c.t, text)
	o.SetUID(uid)
	c.Store(locationOf(o), o)
	c.deliver()
}

// writes settles, and returns the writes alone.
func (c *cluster) writes() []string {
	c.t.Helper()
	return slices.DeleteFunc(c.settle(), func(request string) bool {
		return strings.Contains(request, "get ") || strings.Contains(request, "list ")
	})
}

func TestChildrenInOtherNamespacesAndInNone(t *testing.T) {
	c := newCluster(t)
	c.apply(tenants)
	c.apply(tenant)
	wantRequests(t, "first pass", c.run(), parentHolds, "create clusterroles r", "create configmaps a", "status apps one")
	c.quiet("first pass")
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
			c.edit(farMap("a"), func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"text": "x"} })
		}, []string{"update configmaps a"}},
		{"somebody takes away whose child it is", func() {
			c.edit(clusterRole, func(o *unstructured.Unstructured) { delete(o.Object["metadata"].(map[string]any), "annotations") })
		}, []string{"update clusterroles r"}},
		{"somebody says that it is another parent's", func() {
			c.edit(clusterRole, func(o *unstructured.Unstructured) {
				annotations := o.GetAnnotations()
				annotations[v1.AnnotationParent] = "ns/two"
				o.SetAnnotations(annotations)
			})
		}, []string{"update clusterroles r"}},
		{"somebody takes all labels away", func() { c.edit(farMap("a"), func(o *unstructured.Unstructured) { o.SetLabels(nil) }) }, []string{"create configmaps a", "get configmaps a", "update configmaps a"}},
		{"somebody deletes a child", func() { c.gone(clusterRole) }, []string{"create clusterroles r"}},
		{"the operator begins anew", c.start, nil},
		{"it is to be in another namespace", func() { c.apply(with(t, tenant, "space: far", "space: further")) }, []string{"create configmaps a", "delete configmaps a", "status apps one"}},
		{"neither is wanted any more", func() { c.apply(with(t, tenant, "[a]", "[]", "role: r", "role: ''")) }, []string{"delete configmaps a", "delete clusterroles r", "status apps one"}},
	} {
		row.change()
		wantRequests(t, row.why, c.run(), row.want...)
		c.quiet(row.why)
	}
}

func TestTwoParentsThatWantTheSameObject(t *testing.T) {
	two := with(t, tenant, "ns, name: one", "other, name: one")
	c := begun(t, tenants, tenant)
	c.applyAs(two, "uid-other") // of the same name in another namespace
	wantRequests(t, "the second", c.run(), parentHolds, "create clusterroles r", "get clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
	const want = "False ChildConflict: ClusterRole r already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: templater does not adopt it; " +
		"delete it, or choose another name in the template; ConfigMap far/a already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: " +
		"templater does not adopt it; delete it, or choose another name in the template"
	second := locationOf(parse(t, two))
	if got := conditionOf(c.Objects[second], "Ready"); got != want {
		t.Errorf("ready condition of the second %q, want %q", got, want)
	}
	c.quiet("the second")
	c.apply(with(t, tenant, "role: r", "role: ''"))
	wantRequests(t, "the first lets go of one", c.run(), "delete clusterroles r", "status apps one")
	c.deliver()
	c.clock.SetTime(c.clock.Now().Add(2 * problem.SlowRetry))
	wantRequests(t, "then", c.run(), "create clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
	if got := c.Objects[clusterRole].GetAnnotations()[v1.AnnotationParent]; got != "other/one" {
		t.Errorf("it is of %s now", got)
	}
	c.quiet("it has changed hands")
}

func TestParentThatStopsMatchingLosesItsChildrenInOtherNamespaces(t *testing.T) {
	some := selective(t, tenants)
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, some, tenant)
			c.apply(with(t, tenant, "tier: front", "tier: back"))
			want := []string{"get apps one", "delete configmaps a", "delete clusterroles r", parentRelease}
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.run(), want...)
			c.deliver()
			wantRequests(t, "when they are gone", c.run(), "get apps one")
			c.quiet("label gone")
		})
	}
	for why, restart := range map[string]bool{"while the operator runs": false, "while it is down": true} {
		t.Run("Orphan keeps them for good, "+why, func(t *testing.T) {
			c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
			c.apply(with(t, tenant, "tier: front", "tier: back"))
			want := []string{"get apps one", "delete configmaps a", "mark clusterroles r", parentRelease}
			if restart {
				c.start()
			}
			wantRequests(t, "label gone", c.run(), want...)
			c.settle()
			c.deletes(one, metav1.DeletePropagationBackground)
			wantRequests(t, "the parent is deleted", c.writes())
			c.start()
			wantRequests(t, "after a restart, and a long time", c.writes())
			if c.Objects[clusterRole] == nil {
				t.Error("it is gone")
			}
		})
	}
	t.Run("they go with it where it matches again", func(t *testing.T) {
		c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
		c.apply(with(t, tenant, "tier: front", "tier: back"))
		c.settle()
		c.apply(tenant)
		wantRequests(t, "it matches", c.writes(), parentHolds, "update clusterroles r", "mark clusterroles r", "create configmaps a")
		c.deletes(one, metav1.DeletePropagationBackground)
		wantRequests(t, "the parent is deleted", c.writes(), "delete configmaps a", "delete clusterroles r", "status apps one", parentRelease)
	})
	t.Run("one that may not be marked is told", func(t *testing.T) {
		c := begun(t, with(t, some, "- name: role\n", "- name: role\n    prunePolicy: Orphan\n"), tenant)
		c.refuse["mark clusterroles r"] = answer(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "no.example.org" denied the request`)
		c.apply(with(t, tenant, "tier: front", "tier: back"))
		wantRequests(t, "label gone", c.run(), "get apps one", "delete configmaps a", "mark clusterroles r")
		const want = `one Warning ChildRejected: cannot mark ClusterRole r: denied by admission webhook "no.example.org"`
		if n := len(c.events); n == 0 || c.events[n-1] != want {
			t.Errorf("Events %q, want %q", c.events, want)
		}
		delete(c.refuse, "mark clusterroles r")
		wantRequests(t, "it may again", c.writes(), "mark clusterroles r", parentRelease)
	})
}

// Somebody has taken the finalizer away, so that templater did not see the parent go.
func TestChildrenInOtherNamespacesThatAreLeftBehind(t *testing.T) {
	t.Run("the parent is gone", func(t *testing.T) {
		c := begun(t, with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), tenant)
		c.gone(locationOf(parse(t, tenant)))
		wantRequests(t, "at once", c.run())
		c.start()
		wantRequests(t, "after a restart", c.run())
		c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
		wantRequests(t, "after a minute", c.run(), "get apps one", "delete configmaps a")
		c.quiet("they are gone")
	})
	t.Run("there is another parent of that name", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.Remove(locationOf(parse(t, tenant)))
		c.applyAs(tenant, "uid-next")
		wantRequests(t, "at once", c.run(), parentHolds, "create clusterroles r", "get clusterroles r", "create configmaps a", "get configmaps a", "status apps one")
		const want = "False Progressing: ClusterRole r belongs to an earlier parent of the same name; it is recreated once garbage collection has deleted it; ConfigMap far/a belongs to an earlier parent of the same name; it is recreated once garbage collection has deleted it"
		if got := c.condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
		c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
		got := c.run()
		for _, at := range []string{"delete clusterroles r", "delete configmaps a"} {
			if !slices.Contains(got, at) {
				t.Errorf("after a minute: %v, want %s among it", got, at)
			}
		}
		c.deliver()
		c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
		got = c.run()
		for _, at := range []string{"create clusterroles r", "create configmaps a"} {
			if !slices.Contains(got, at) {
				t.Errorf("then: %v, want %s among it", got, at)
			}
		}
		c.quiet("they are made anew")
	})
	t.Run("there is another parent of that name, and they were to stay", func(t *testing.T) {
		c := begun(t, with(t, tenants, "- name: role\n", "- name: role\n    deletionPolicy: Orphan\n"), with(t, tenant, "[a]", "[]"))
		c.Remove(locationOf(parse(t, tenant)))
		c.applyAs(with(t, tenant, "[a]", "[]"), "uid-next")
		c.run()
		const want = "False ChildConflict: ClusterRole r already exists and belongs to TemplateController apps for another parent, named in its annotation templater.dev/parent: templater does not adopt it; delete it, or choose another name in the template"
		if got := c.condition("apps", "one", "Ready"); got != want {
			t.Errorf("ready condition %q, want %q", got, want)
		}
	})
	t.Run("the kind is gone", func(t *testing.T) {
		c := begun(t, tenants, tenant)
		c.kindGone(tenant)
		c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
		c.controllers.enqueueAll(c.controllers.get("apps"))
		wantRequests(t, "after a minute", c.run())
	})
}

// A backup was restored: the objects have new UIDs, the keys of the seals are new, and the TemplateController has no status.
func TestChildrenOfARestoredBackupAreKept(t *testing.T) {
	for why, parent := range map[string]func(c *cluster){
		"the parent is restored":     func(c *cluster) { c.applyAs(tenant, "uid-restored") },
		"the parent is not restored": func(*cluster) {},
	} {
		t.Run(why, func(t *testing.T) {
			c := begun(t, tenants, tenant)
			c.Remove(one)
			c.older("9")
			c.edit(appsController, func(o *unstructured.Unstructured) {
				unstructured.RemoveNestedField(o.Object, "status", "sealedSince")
			})
			parent(c)
			c.start()
			requests := c.settle()
			c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
			if requests = append(requests, c.settle()...); slices.ContainsFunc(requests, func(r string) bool { return strings.HasPrefix(r, "delete") }) {
				t.Errorf("requests %q", requests)
			}
		})
	}
}

// kindGone takes the parents' kind away, and the parent with it.
func (c *cluster) kindGone(parent string) {
	c.t.Helper()
	o := parse(c.t, parent)
	c.refuse["kind "+o.GetKind()] = &kind.NotFoundError{GVK: o.GroupVersionKind()}
	delete(c.Objects, locationOf(o))
	c.controllers.queue.Add("apps")
	c.run()
}

func TestScopeIsEdited(t *testing.T) {
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
			c.apply(by(tenants))
			wantRequests(t, "Namespaced → Cluster", c.run(), verb+" configmaps a")
			now := c.Objects[configMap("a")]
			if now.GetUID() != made.GetUID() || len(now.GetOwnerReferences()) > 0 || now.GetAnnotations()[v1.AnnotationParent] != "ns/one" {
				t.Errorf("the object is %s, with owners %v and annotations %v", now.GetUID(), now.GetOwnerReferences(), now.GetAnnotations())
			}
			c.quiet("Namespaced → Cluster")
			c.apply(by(namespaced))
			wantRequests(t, "Cluster → Namespaced", c.run(), "get apps one", verb+" configmaps a")
			now = c.Objects[configMap("a")]
			if diff := cmp.Diff(made.GetOwnerReferences(), now.GetOwnerReferences()); diff != "" || now.GetUID() != made.GetUID() || now.GetAnnotations()[v1.AnnotationParent] != "" {
				t.Errorf("the object is %s, with annotations %v and owners (-before +now):\n%s", now.GetUID(), now.GetAnnotations(), diff)
			}
			c.quiet("Cluster → Namespaced")
		})
	}
}

// An owner reference to another namespace has the garbage collector take the object.
func TestObjectElsewhereNeverGetsAnOwner(t *testing.T) {
	keep := with(t, tenants, "- name: maps\n", "- name: maps\n    prunePolicy: Orphan\n")
	c := begun(t, keep, with(t, tenant, ", role: r", ""))
	c.apply(with(t, keep, "prunePolicy: Orphan\n    scope: Cluster", "prunePolicy: Orphan"))
	wantRequests(t, "the entry is edited", c.run(), "status apps one")
	const want = "False InvalidChild: children[maps]:3: the child must be in its parent's namespace, because owner references do not cross namespaces: remove metadata.namespace, or set scope: Cluster in this entry"
	if got := c.condition("apps", "one", "Ready"); got != want {
		t.Errorf("ready condition %q, want %q", got, want)
	}
	c.apply(with(t, tenant, ", role: r", "", "space: far", "space: ns"))
	wantRequests(t, "the template follows", c.run(), "create configmaps a", "status apps one")
	left := c.Objects[farMap("a")]
	if left == nil || len(left.GetOwnerReferences()) > 0 || left.GetAnnotations()[v1.AnnotationParent] != "ns/one" {
		t.Errorf("what stays is %v", left)
	}
	c.quiet("one stays")
}

func TestPoliciesOfObjectsWithoutOwner(t *testing.T) {
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
	c.apply(with(t, spec, "    deletionPolicy: Orphan\n", ""))
	wantRequests(t, "it is to go with its parent", c.run(), "update clusterroles r")
	if _, has := c.Objects[clusterRole].GetAnnotations()[v1.AnnotationDeletion]; has {
		t.Error("it says still that it is to stay")
	}
}

// TestStrangersSayTheyAreChildren puts objects into other namespaces that say all that children say but for the seal.
func TestStrangersSayTheyAreChildren(t *testing.T) {
	c := begun(t, tenants, tenant)
	copied := c.Objects[farMap("a")].DeepCopy()
	copied.SetNamespace("theirs")
	copied.SetUID(types.UID("theirs"))
	copied.SetResourceVersion("")
	at := farMap("a")
	at.Namespace = "theirs"
	c.Store(at, copied)
	c.quiet("a copy of a child, seal and all, in another namespace")
	c.apply(with(t, tenant, "[a]", "[]"))
	wantRequests(t, "the child is pruned", c.run(), "delete configmaps a", "status apps one")
	if c.Objects[at] == nil || c.Objects[farMap("a")] != nil {
		t.Error("the copy is gone, or the child is not")
	}
	c.gone(locationOf(parse(t, tenant)))
	c.clock.SetTime(c.clock.Now().Add(queue.CollectorTime))
	c.run()
	if c.Objects[at] == nil {
		t.Error("the copy is collected")
	}
}
